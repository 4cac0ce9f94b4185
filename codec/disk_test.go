package codec

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A new file is locked even if BeingWritten checks it at that moment, and a writer's file is not overwritten.
func TestCreateLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in which the probe ends in time
		path := filepath.Join(t.TempDir(), "a")
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o666))
		probe, err := OS{}.Lock(path, true)
		require.NoError(t, err)
		time.AfterFunc(10*time.Millisecond, func() { probe.Close() })
		file, err := OS{}.Create(path, true)
		require.NoError(t, err)
		require.True(t, BeingWritten(OS{}, path))
		_, err = file.WriteAt([]byte("new"), 0)
		require.NoError(t, err)

		_, err = OS{}.Create(path, true)
		require.ErrorIs(t, err, ErrLocked)
		require.NoError(t, file.Close())
		require.False(t, BeingWritten(OS{}, path))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "new", string(text))
	})
}

func TestExchange(t *testing.T) {
	dir := t.TempDir()
	folder, file := filepath.Join(dir, "folder"), filepath.Join(dir, "file")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "x"), 0o777))
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	err := Exchange(folder, file)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.FileExists(t, folder)
	require.DirExists(t, filepath.Join(file, "x"))
	require.ErrorIs(t, Exchange(folder, filepath.Join(dir, "none")), fs.ErrNotExist)
}

func TestLockFolder(t *testing.T) {
	dir := t.TempDir()
	lock, err := LockFolder(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	_, err = LockFolder(dir)
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, lock.Close())
	lock, err = LockFolder(dir)
	require.NoError(t, err)
	require.NoError(t, lock.Close())
	_, err = LockFolder(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}
