// Package allformats lists the formats of all recordings. HDF5 is here and not in package formats because it needs a C
// library, which the recorder does without. An executable that was built without cgo knows HDF5 files and says that it
// cannot read them.
package allformats

import (
	"slices"

	"tapedeck/nodes/internal/formats"
)

// List returns the formats of all recordings.
func List() formats.List { return slices.Insert(formats.PureGo(), 1, hdf5Format()) }
