//go:build cgo

package all

import (
	"tapedeck/codec"
	"tapedeck/codec/format/hdf5"
)

// Main must be called before anything else in main, or TestMain, of a program that opens HDF5 files. It does not return
// in a process that was started to read one.
func Main() { hdf5.Main() }

// LacksHDF5 returns why HDF5 files are neither read nor written; nil if they are.
func LacksHDF5() error { return nil }

func hdf5Format() codec.Format { return hdf5.Format }
