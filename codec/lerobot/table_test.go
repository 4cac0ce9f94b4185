package lerobot

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestImagesOnce looks whether a table has each image once.
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
