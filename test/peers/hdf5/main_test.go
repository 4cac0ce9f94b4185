package hdf5

import (
	"os"
	"testing"

	"tapedeck/codec/format/hdf5/hdf5test"
	"tapedeck/test/internal/process"
)

func TestMain(m *testing.M) {
	hdf5test.Main()
	os.Exit(process.Main(m, nil))
}
