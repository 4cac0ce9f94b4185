package lerobot

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/store"
)

// TestImagesOnce writes images and checks by the size of the file that the table holds each image once: statistics of
// pages must not repeat them.
func TestImagesOnce(t *testing.T) {
	const size, count = 200_000, 10
	path := filepath.Join(t.TempDir(), "images.parquet")
	table, err := createTable(path, []column{imageColumn("image")}, nil)
	require.NoError(t, err)
	for i := range count {
		require.NoError(t, table.image("image", bytes.Repeat([]byte{byte(i)}, size), ""))
	}
	require.NoError(t, table.flush())
	require.NoError(t, table.close())
	stat, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, stat.Size(), int64(size*count+10_000))
}

// TestPagesOnce opens the images of a table twice. Only the first reader must check the pages.
func TestPagesOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "images.parquet")
	table, err := createTable(path, []column{imageColumn("image")}, nil)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, table.image("image", jpegFrame(t, 4, 4).Data, ""))
		require.NoError(t, table.flush())
	}
	require.NoError(t, table.close())
	var checked sync.Map
	for _, want := range []bool{true, false} {
		f, err := openImages(nil, path, &feature{key: "image"}, 0, 2, &checked)
		require.NoError(t, err)
		counted := &countedFile{File: f.table.file}
		f.table.file = counted
		for _, i := range []int{0, 1, 0} {
			_, err := f.Frame(i)
			require.NoError(t, err)
		}
		require.Equal(t, want, counted.reads > 0)
		require.NoError(t, f.Close())
	}
}

// countedFile counts the reads of a file.
type countedFile struct {
	store.File
	reads int
}

func (f *countedFile) ReadAt(b []byte, off int64) (int, error) {
	f.reads++
	return f.File.ReadAt(b, off)
}
