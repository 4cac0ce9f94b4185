// Package sqlitetest runs SQLite's own program for tests.
package sqlitetest

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Run makes SQLite execute statements, or commands of its program, on the database at path, and returns the lines that
// it prints. The test is skipped if the program is not installed.
func Run(t testing.TB, path string, statements ...string) []string {
	t.Helper()
	lines, err := Try(t, path, statements...)
	require.NoError(t, err)
	return lines
}

// Try is Run, but returns the error of a statement that fails.
func Try(t testing.TB, path string, statements ...string) ([]string, error) {
	t.Helper()
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("SQLite's program is not installed (Debian: sqlite3)")
	}
	var script strings.Builder
	for _, s := range statements {
		script.WriteString(s)
		if !strings.HasPrefix(s, ".") {
			script.WriteString(";")
		}
		script.WriteString("\n")
	}
	cmd := exec.Command(program, "-batch", "-bail", "-init", "/dev/null", path)
	cmd.Stdin = strings.NewReader(script.String())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		return nil, fmt.Errorf("%s: %w: %s", path, err, &stderr)
	}
	text := strings.TrimSuffix(stdout.String(), "\n")
	if text == "" {
		return nil, nil
	}
	return strings.Split(text, "\n"), nil
}

// Check requires that SQLite finds no fault in the database at path.
func Check(t testing.TB, path string) {
	t.Helper()
	require.Equal(t, []string{"ok"}, Run(t, path, "PRAGMA integrity_check"))
}
