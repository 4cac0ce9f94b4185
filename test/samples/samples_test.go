package samples

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFolder checks the folder for values of the environment variable.
func TestFolder(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for value, want := range map[string]string{
		"": filepath.Join(root, "../shared/samples"), "real": filepath.Join(root, "real"),
		"/nonexistent": "/nonexistent",
	} {
		t.Setenv(Variable, value)
		require.Equal(t, want, Folder())
	}
}

// skipped is a test that keeps its skip message.
type skipped struct {
	testing.TB
	message string
}

func (s *skipped) Skipf(format string, args ...any) { s.message = fmt.Sprintf(format, args...) }

// TestRecordings checks Path and Seeds with one recording in the folder.
func TestRecordings(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(Variable, folder)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a.bag"), []byte("a"), 0o666))
	s := &skipped{TB: t}
	require.Equal(t, filepath.Join(folder, "a.bag"), Path(s, "a.bag"))
	require.Empty(t, s.message)
	Path(s, "b.bag")
	want := "sample recordings are not here: no " + folder + "/b.bag (TAPEDECK_SAMPLES names their folder)"
	require.Equal(t, want, s.message)
	require.Equal(t, [][]byte{[]byte("a")}, Seeds(t, "*.bag", "b.bag", "*.log"))
}
