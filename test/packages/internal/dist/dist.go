// Package dist finds the files of make dist for tests.
package dist

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/test/internal/process"
)

var folder = flag.String("dist", "", "folder of the packages, relative to the checkout: dist")

// Folder returns the folder of the files. It skips the test if no folder is given.
func Folder(t *testing.T) string {
	t.Helper()
	if *folder == "" {
		t.Skip("make test-dist runs it, on the packages of make dist")
	}
	if filepath.IsAbs(*folder) {
		return *folder
	}
	return filepath.Join(process.Root(), *folder)
}

// File returns the path of the file that matches a pattern. It skips the test if there is none.
func File(t *testing.T, pattern string) string {
	t.Helper()
	path := filepath.Join(Folder(t), pattern)
	found, err := filepath.Glob(path)
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skipf("%s is missing: make dist writes it", path)
	}
	require.Len(t, found, 1)
	return found[0]
}
