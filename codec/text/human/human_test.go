package human

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNothingElseWritesToTheTerminal checks that only Stdout, Stderr, the log of a node, the status line and progress
// bars write to the terminal. These escape characters that control it.
func TestNothingElseWritesToTheTerminal(t *testing.T) {
	direct := regexp.MustCompile(`os\.Std(out|err)|\bfmt\.Print|\bprintln?\(`)
	allowed := regexp.MustCompile(`progress\.(NewLine|Bytes|Seconds)\(os\.Stderr|graph\.Open\(.*os\.Stderr|` +
		`serve\(.*os\.Stderr`)
	err := filepath.WalkDir("../../../nodes", func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			require.False(t, direct.MatchString(line) && !allowed.MatchString(line), "%s: %s", path, line)
		}
		return err
	})
	require.NoError(t, err)
}

func TestHostileTable(t *testing.T) {
	long := strings.Repeat("x", 64<<10)
	var b strings.Builder
	Table(&b, [][]string{{"Topic", "Count"}, {Printable(long), "1"}, {Printable("/a\n\x1b[2J"), "2"}},
		map[int]bool{1: true})
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	require.Len(t, lines, 3)
	require.Less(t, len(lines[0]), 140)
	require.Less(t, len(lines[1]), 1100)
	require.Contains(t, lines[2], `"/a\n\x1b[2J"`)
	require.Equal(t, `/b, "\u202e"`, List([]string{"/b", "\u202e"}))
}

// TestData checks that file contents reach standard output unchanged unless it is a terminal.
func TestData(t *testing.T) {
	var b strings.Builder
	require.Equal(t, io.Writer(&b), Data(&b))
	was := os.Stdout
	t.Cleanup(func() { os.Stdout = was })
	for path, want := range map[string]bool{filepath.Join(t.TempDir(), "a.csv"): true, os.DevNull: false} {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		os.Stdout = file
		require.Equal(t, want, Data(Stdout) == io.Writer(file), path)
		require.NoError(t, file.Close())
	}
}
