//go:build cgo

package all

import (
	"tapedeck/codec"
	"tapedeck/codec/format/hdf5"
)

// Main must be called first in main, or TestMain, of a program that opens HDF5 files. HDF5 files are read in a child
// process, which runs the program again; Main does not return there.
func Main() { hdf5.Main() }

// LacksHDF5 returns the reason why HDF5 files cannot be read and written. It returns nil in a build with HDF5.
func LacksHDF5() error { return nil }

func hdf5Format() codec.Format { return hdf5.Format }
