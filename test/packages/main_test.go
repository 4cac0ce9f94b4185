// Package packages installs the packages of make dist on minimal Debian systems, and uses them there. make test-dist
// runs it as root.
package packages

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/test/internal/process"
)

var dist = flag.String("dist", "", "folder of the packages, relative to the checkout: dist")

func TestMain(m *testing.M) { os.Exit(process.Main(m, nil)) }

// needDist skips the test if it does not know a folder of packages.
func needDist(t *testing.T) {
	t.Helper()
	if *dist == "" {
		t.Skip("make test-dist runs it, on the packages of make dist")
	}
}

// distPath returns a path in the folder of the packages.
func distPath(name string) string {
	if filepath.IsAbs(*dist) {
		return filepath.Join(*dist, name)
	}
	return filepath.Join(process.Root(), *dist, name)
}

// packaged returns the path of the file of dist that matches a pattern. It skips the test if there is none.
func packaged(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(distPath(pattern))
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skipf("%s is missing: make dist writes it", distPath(pattern))
	}
	require.Len(t, found, 1)
	return found[0]
}
