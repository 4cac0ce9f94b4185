package disktest

import (
	"io"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/store"
)

// disks returns the operating system's disk and a simulated one.
func disks() map[string]codec.Disk {
	return map[string]codec.Disk{"system": codec.OS{}, "memory": &Disk{}}
}

func read(t *testing.T, file store.File, err error) string {
	require.NoError(t, err)
	defer file.Close()
	text, err := io.ReadAll(file)
	require.NoError(t, err)
	return string(text)
}

// The simulated disk behaves like the operating system's.
func TestDisks(t *testing.T) {
	for name, d := range disks() {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			require.NoError(t, d.MkdirAll(top))
			folder := filepath.Join(top, "drive")
			a, b := filepath.Join(folder, "a"), filepath.Join(folder, "b")
			_, err := d.Open(a)
			require.ErrorIs(t, err, fs.ErrNotExist)
			for _, missing := range []error{d.Rename(a, b), d.Remove(a), d.Remove(folder)} {
				require.ErrorIs(t, missing, fs.ErrNotExist)
			}
			_, err = d.ReadDir(folder)
			require.ErrorIs(t, err, fs.ErrNotExist)
			require.NoError(t, codec.Vacant(d, folder, false))
			require.NoError(t, d.RemoveAll(folder))
			require.NoError(t, d.Mkdir(folder))
			require.ErrorIs(t, d.Mkdir(folder), fs.ErrExist)
			require.NoError(t, d.MkdirAll(folder))
			require.ErrorIs(t, codec.Vacant(d, folder, false), fs.ErrExist)
			require.ErrorIs(t, codec.Vacant(d, folder, true), syscall.EISDIR)

			file, err := d.Create(a, false)
			require.NoError(t, err)
			_, err = file.WriteAt([]byte("text"), 0)
			require.NoError(t, err)
			require.True(t, codec.BeingWritten(d, a))
			_, err = d.Create(a, true)
			require.ErrorIs(t, err, codec.ErrLocked)
			_, err = d.Lock(a, false)
			require.ErrorIs(t, err, codec.ErrLocked)
			require.NoError(t, d.Rename(a, b))
			require.True(t, codec.BeingWritten(d, b))
			require.NoError(t, file.Close())
			require.False(t, codec.BeingWritten(d, b))
			require.False(t, codec.BeingWritten(d, a), "there is none")
			opened, err := d.Open(b)
			require.Equal(t, "text", read(t, opened, err))

			locked, err := d.Lock(b, false)
			require.NoError(t, err)
			require.True(t, codec.BeingWritten(d, b))
			_, err = d.Create(b, false)
			require.ErrorIs(t, err, fs.ErrExist)
			require.Equal(t, "text", read(t, locked, nil))
			shared, err := d.Lock(b, true)
			require.NoError(t, err)
			require.NoError(t, shared.Close())

			stat, err := d.Stat(b)
			require.NoError(t, err)
			require.EqualValues(t, 4, stat.Size())
			require.True(t, stat.Mode().IsRegular())
			require.Equal(t, "b", stat.Name())
			entries, err := d.ReadDir(folder)
			require.NoError(t, err)
			require.Len(t, entries, 1)
			require.Equal(t, "b", entries[0].Name())
			stat, err = d.Lstat(folder)
			require.NoError(t, err)
			require.True(t, stat.IsDir())
			opened, err = d.Open(folder)
			require.NoError(t, err)
			stat, err = opened.Stat()
			require.NoError(t, err)
			require.True(t, stat.IsDir())
			require.NoError(t, opened.Close())

			root, err := d.OpenRoot(folder)
			require.NoError(t, err)
			opened, err = root.Open("b")
			require.Equal(t, "text", read(t, opened, err))
			_, err = root.Lstat("a")
			require.ErrorIs(t, err, fs.ErrNotExist)
			_, err = root.Open("../drive/b")
			require.Error(t, err)
			require.Error(t, d.Remove(folder), "it is not empty")
			require.NoError(t, root.Remove("b"))
			require.NoError(t, root.Close())
			require.NoError(t, d.Remove(folder))
			_, err = d.OpenRoot(folder)
			require.ErrorIs(t, err, fs.ErrNotExist)

			require.NoError(t, d.MkdirAll(filepath.Join(folder, "deep", "er")))
			file, err = d.Create(filepath.Join(folder, "deep", "er", "c"), true)
			require.NoError(t, err)
			require.NoError(t, file.Close())
			syncer, err := d.Syncer(folder)
			require.NoError(t, err)
			require.NoError(t, syncer.Sync())
			require.NoError(t, syncer.Close())
			require.NoError(t, d.RemoveAll(folder))
			_, err = d.Stat(filepath.Join(folder, "deep", "er", "c"))
			require.ErrorIs(t, err, fs.ErrNotExist)
			_, err = d.Stat(folder)
			require.ErrorIs(t, err, fs.ErrNotExist)
		})
	}
}
