//go:build !cgo

package all

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/store"
)

// Main does nothing without HDF5.
func Main() {}

// errBuiltWithout is the reason why HDF5 files cannot be read and written.
var errBuiltWithout = errors.New("this converter was built without HDF5, which needs cgo; use one that was built by " +
	"'make build'")

// LacksHDF5 returns the reason why HDF5 files cannot be read and written.
func LacksHDF5() error { return errBuiltWithout }

// hdf5Format recognises HDF5 files by their signature.
func hdf5Format() codec.Format {
	const signature = "\x89HDF\r\n\x1a\n"
	return codec.Format{
		Name: "hdf5",
		Sniff: func(_ *store.Files, _ string, head []byte) bool {
			return slices.ContainsFunc([]int{0, 512, 1024, 2048}, func(at int) bool {
				return len(head) > at && bytes.HasPrefix(head[at:], []byte(signature))
			})
		},
		Named: func(path string) bool {
			return slices.Contains([]string{".hdf5", ".h5"}, strings.ToLower(filepath.Ext(path)))
		},
		Extension: ".hdf5",
		OpenFrom: func(_ *store.Files, path string) (codec.Reader, error) {
			return nil, fmt.Errorf("open %s: %w", path, errBuiltWithout)
		},
	}
}
