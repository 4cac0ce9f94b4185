package process

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

var sourcesOpened sync.Once

// LookAtSources opens the folders of the programs' sources. The go tool caches the result of a test until a file or
// folder changes that the test has opened. Start calls LookAtSources, and so must tests that run programs without
// Start. The go tool does not watch TestMain: a call there has no effect.
func LookAtSources() {
	sourcesOpened.Do(func() {
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
