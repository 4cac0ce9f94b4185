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

// Modules returns a folder with the modules of Node.js that package-lock.json in the current folder names. The folder
// is build/test-NAME, where NAME is the name of the current folder. The first run installs the modules. Without
// Node.js, Modules skips the test; consequence is the end of the message, such as "bags are not compared".
func Modules(t *testing.T, consequence string) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("Node.js is not installed (Debian: nodejs and npm); " + consequence)
	}
	current, err := os.Getwd()
	require.NoError(t, err)
	dir := filepath.Join(Root(), "build", "test-"+filepath.Base(current))
	lock, err := os.ReadFile("package-lock.json")
	require.NoError(t, err)
	stamp := filepath.Join(dir, "node_modules", "package-lock.json")
	if installed, err := os.ReadFile(stamp); err == nil && bytes.Equal(installed, lock) {
		return dir
	}
	// MkdirAll would stat build, which other tests change: the go tool would not cache the result of this test.
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
	require.NoError(t, err, "npm ci in %s (Debian: npm; needs the network once): %s", dir, output)
	require.NoError(t, os.WriteFile(stamp, lock, 0o644))
	return dir
}
