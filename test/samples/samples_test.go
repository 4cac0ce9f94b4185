package samples

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFolder(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for value, want := range map[string]string{
		"": filepath.Join(root, "../shared/samples"), "real": filepath.Join(root, "real"), "/nonexistent": "/nonexistent",
	} {
		t.Setenv(Variable, value)
		require.Equal(t, want, Folder())
	}
}

func TestRecordings(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(Variable, folder)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a.bag"), []byte("a"), 0o666))
	require.Equal(t, filepath.Join(folder, "a.bag"), Path(t, "a.bag"))
	require.Equal(t, [][]byte{[]byte("a")}, Seeds(t, "*.bag", "b.bag", "*.log"))
	_, ok := Find("b.bag")
	require.False(t, ok)
	var skipped bool
	t.Run("missing", func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		Path(t, "b.bag")
	})
	require.True(t, skipped)
}
