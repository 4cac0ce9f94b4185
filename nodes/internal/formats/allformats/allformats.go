// Package allformats lists the formats of all recordings with what nodes need to know of them. HDF5 is here and not in
// package formats because it needs a C library, which the recorder does without. An executable that was built without
// cgo knows HDF5 files and says that it cannot read them.
package allformats

import (
	"tapedeck/bridge/recordings/all"
	"tapedeck/nodes/internal/formats"
)

// Main must be called before anything else in main of an executable that uses this package, and in TestMain. It does
// not return in a process that was started to read an HDF5 file.
func Main() { all.Main() }

// List returns the formats of all recordings.
func List() formats.List {
	list := formats.Of(all.Formats())
	for i := range list {
		if list[i].Name == "hdf5" {
			writeHDF5(&list[i])
		}
	}
	return list
}
