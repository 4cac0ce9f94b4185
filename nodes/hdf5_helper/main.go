// Hdf5_helper reads and writes HDF5 files for converter and player with libhdf5. They start it.
package main

import "tapedeck/codec/format/hdf5/helper"

func main() { helper.Main() }
