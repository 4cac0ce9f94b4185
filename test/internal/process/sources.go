package process

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

var looked sync.Once

// LookAtSources looks at the sources of the programs: the go tool keeps the result of tests until something changes
// that they have looked at. Start does it; tests that run programs otherwise do it themselves. In TestMain it is of no
// use, which the go tool does not watch.
func LookAtSources() {
	looked.Do(func() {
		for _, sources := range []string{"bridge", "codec", "config", "msgs", "nodes"} {
			_ = filepath.WalkDir(filepath.Join(Root(), sources), func(string, fs.DirEntry, error) error { return nil })
		}
	})
}

// Root returns the folder that holds go.mod: the folder of the test's package, or the nearest one above it.
func Root() string {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		break
	}
	panic("the test does not run in a folder of the module")
}
