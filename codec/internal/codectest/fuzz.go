package codectest

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// FuzzFolders replaces the content of a file in recordings that are folders, and reads the result. The recordings must
// be small.
func FuzzFolders(f *testing.F, format codec.Format, folders ...string) {
	var names [][]string
	for i, folder := range folders {
		var list []string
		require.NoError(f, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			f.Add(uint8(i), uint8(len(list)), b)
			name, _ := filepath.Rel(folder, path)
			list = append(list, name)
			return err
		}))
		names = append(names, list)
	}
	f.Fuzz(func(t *testing.T, folder, file uint8, b []byte) {
		i := int(folder) % len(folders)
		path := filepath.Join(t.TempDir(), "x")
		require.NoError(t, os.CopyFS(path, os.DirFS(folders[i])))
		require.NoError(t, os.WriteFile(filepath.Join(path, names[i][int(file)%len(names[i])]), b, 0o666))
		ReadAll(t, path, format, uint64(len(b)))
	})
}

// ReadAll opens the file or folder at path, and reads all messages with and without Query.Damaged. size is the number
// of bytes that may be damaged. ReadAll requires that the memory in use is in proportion to it.
func ReadAll(t *testing.T, path string, format codec.Format, size uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := codec.Formats{format}.Open(path)
	if err != nil {
		return
	}
	defer r.Close()
	if _, err := r.Info(); err == nil {
		for _, damaged := range []func(error){nil, func(err error) { require.Error(t, err) }} {
			it, err := r.Read(codec.Query{Damaged: damaged})
			if err != nil {
				continue
			}
			for err == nil {
				_, err = it.Next()
			}
			require.True(t, damaged == nil || errors.Is(err, io.EOF), "%v", err)
			require.NoError(t, it.Close())
		}
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, 256<<20+1000*size)
}
