package table

import (
	"os"
	"testing"

	"tapedeck/test/internal/process"
)

// bin is the folder of the executables.
var bin string

func TestMain(m *testing.M) { os.Exit(process.Main(m, &bin, "converter")) }
