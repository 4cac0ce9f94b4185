// Package hdf5 writes takes of robots as the HDF5 files that policies are trained on, and reads them back, those of
// others included.
//
// A file holds one episode or several, each in /episodes/episode_i as EasyTeleop's docs/data_format.md describes it.
// Beside that there is what ACT, act-plus-plus, cobot_magic, RDT, openpi and view_hdf5 look for: qpos, qvel and action,
// links from where they look for them, and attributes.
//
// What is read is a file of this package, of EasyTeleop itself, or one in the shape of ALOHA and ACT.
//
// Files that were cut off or damaged are errors, with one exception. libhdf5 itself trusts references to texts in
// attributes, and to sequences in chunks, as EasyTeleop's pictures are. What can be looked at before is; but about one
// in a thousand files in which a single bit is wrong still ends the process. Files from strangers are to be read in a
// process of their own.
package hdf5

import (
	"bytes"
	"path/filepath"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/episode"
)

// Format is that of HDF5 files with episodes.
var Format = codec.Format{
	Name: "hdf5",
	Sniff: func(_ string, head []byte) bool {
		ok, err := isHDF5(bytes.NewReader(head), int64(len(head)))
		return ok && err == nil
	},
	Named:     named,
	Extension: ".hdf5",
	Open: func(path string) (codec.Reader, error) {
		source, err := Open(path)
		if err != nil {
			return nil, err
		}
		return episode.NewReader("hdf5", path, source), nil
	},
}

func named(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".hdf5", ".h5":
		return true
	}
	return false
}
