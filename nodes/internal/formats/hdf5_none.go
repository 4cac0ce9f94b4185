//go:build !cgo

package formats

import "tapedeck/bridge/recordings/all"

func hdf5Properties() Format { return Format{Absent: all.LacksHDF5()} }
