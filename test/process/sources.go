package process

import (
	"io/fs"
	"path/filepath"
	"sync"
)

var looked sync.Once

// LookAtSources looks at the sources of the programs: the go tool keeps the result of tests until something changes that they have looked
// at. Start does it; tests that run programs otherwise do it themselves. In TestMain it is of no use, which the go tool does not watch.
func LookAtSources() {
	looked.Do(func() {
		for _, sources := range []string{"bridge", "codec", "config", "msgs", "nodes"} {
			_ = filepath.WalkDir("../../"+sources, func(string, fs.DirEntry, error) error { return nil })
		}
	})
}
