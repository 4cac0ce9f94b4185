package codec

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpenPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := Formats{}.Open(path)
	require.EqualError(t, err, "open "+path+": neither a file nor a folder")
}

// Folders that hold anything else than outputs of a format are not taken for one, so that nothing else is replaced.
func TestCheckFiles(t *testing.T) {
	f := Format{Files: []string{".jpg", ".csv", ".yaml"}}
	for _, c := range []struct {
		files []string
		ok    bool
	}{
		{[]string{"a.csv", "b.csv"}, true},
		{[]string{"cam/1.jpg", "cam/index.csv", "other/camera_info.yaml"}, true},
		{[]string{"a.txt"}, false},
		{[]string{"photos/1.jpg"}, false},
		{[]string{"a.csv", "cam/index.csv"}, false},
		{[]string{"cam/index.csv", "cam/more/index.csv"}, false},
	} {
		folder := t.TempDir()
		for _, name := range c.files {
			path := filepath.Join(folder, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
			require.NoError(t, os.WriteFile(path, nil, 0o666))
		}
		require.Equal(t, c.ok, f.CheckFiles(folder, nil) == nil, c.files)
	}
}
