//go:build !cgo

package allformats

import (
	"tapedeck/bridge/recordings/all"
	"tapedeck/nodes/internal/formats"
)

// writeHDF5 notes why episodes are not written.
func writeHDF5(f *formats.Format) { f.Absent = all.LacksHDF5() }
