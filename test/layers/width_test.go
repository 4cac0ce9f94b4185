package layers

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// TestWidth checks that lines of source files have at most 120 columns, with tabs of 4. It leaves out generated files,
// and tests, whose tables may be wider.
func TestWidth(t *testing.T) {
	checked := 0
	for _, folder := range []string{"bridge", "codec", "config", "launch", "msgs", "nodes", "test"} {
		err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() && slices.Contains([]string{"node_modules", "testdata"}, e.Name()) {
				return fs.SkipDir
			}
			if err != nil || e.IsDir() || !isWidthChecked(path) {
				return err
			}
			text, err := os.ReadFile(path)
			number := 0
			for line := range strings.Lines(string(text)) {
				number++
				columns := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) + 3*strings.Count(line, "\t")
				if columns > 120 && !strings.HasPrefix(line, "//go:") {
					t.Errorf("%s:%d: the line is longer than 120 columns", path, number)
				}
			}
			checked++
			return err
		})
		require.NoError(t, err)
	}
	require.Greater(t, checked, 500)
}

// isWidthChecked reports whether a file is a source file that is neither generated nor a test.
func isWidthChecked(path string) bool {
	for _, suffix := range []string{".gen.go", ".pb.go", "_test.go"} {
		if strings.HasSuffix(path, suffix) {
			return false
		}
	}
	return slices.Contains([]string{".c", ".css", ".go", ".h", ".js", ".py", ".sh", ".yaml"}, filepath.Ext(path))
}
