package hdf5

import (
	"os"
	"testing"

	"tapedeck/codec/format/hdf5"
	"tapedeck/test/internal/process"
)

func TestMain(m *testing.M) {
	hdf5.Main()
	os.Exit(process.Main(m, nil))
}
