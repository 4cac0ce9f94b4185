package process

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Modules returns the folder with the modules of Node.js that package-lock.json in the current folder names, and
// installs them there on the first run: build/test-NAME, where NAME is the current folder. Without Node.js the test is
// skipped; unless names the skipped check.
func Modules(t *testing.T, unless string) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("Node.js is not installed (Debian: nodejs and npm); " + unless)
	}
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := filepath.Join(Root(), "build", "test-"+filepath.Base(here))
	lock, err := os.ReadFile("package-lock.json")
	require.NoError(t, err)
	stamp := filepath.Join(dir, "node_modules", "package-lock.json")
	if installed, err := os.ReadFile(stamp); err == nil && bytes.Equal(installed, lock) {
		return dir
	}
	// MkdirAll would look at build, in which other tests work, and the go tool would not keep the result of this one.
	for _, folder := range []string{filepath.Dir(dir), dir} {
		if err := os.Mkdir(folder, 0o755); !errors.Is(err, fs.ErrExist) {
			require.NoError(t, err)
		}
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
	}
	npm := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	npm.Dir = dir
	output, err := npm.CombinedOutput()
	require.NoError(t, err, "npm ci in %s (Debian: npm; it needs the network once): %s", dir, output)
	require.NoError(t, os.WriteFile(stamp, lock, 0o644))
	return dir
}
