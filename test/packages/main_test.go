// Package packages installs the packages of make dist on minimal Debian systems, and uses them there. make test-dist
// runs it as root.
package packages

import (
	"os"
	"testing"

	"tapedeck/test/internal/process"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m, nil)) }
