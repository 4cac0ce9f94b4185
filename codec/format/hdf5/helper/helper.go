// Package helper is the program hdf5_helper, which reads and writes HDF5 files for other programs with libhdf5.
package helper

import (
	"tapedeck/codec/format/hdf5/internal/child"
	"tapedeck/codec/format/hdf5/internal/h5"
)

// Main is the main function of the program. It does not return.
func Main() { child.Main(h5.Open, h5.Create) }
