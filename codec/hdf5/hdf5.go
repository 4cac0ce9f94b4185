// Package hdf5 writes episodes of robots as HDF5 files for training policies, and reads such files.
//
// A file holds one or more episodes, each in /episodes/episode_i as EasyTeleop's docs/data_format.md describes it. In
// addition there are qpos, qvel and action, links and attributes where ACT, act-plus-plus, cobot_magic, RDT, openpi and
// view_hdf5 expect them.
//
// The package reads its own files, those of EasyTeleop, and files in the layout of ALOHA and ACT.
//
// Truncated or damaged files are errors, with one exception: libhdf5 trusts references to texts in attributes, and to
// sequences in chunks, such as EasyTeleop's images. This package checks what it can; still, about one in a thousand
// files with a single wrong bit ends the process. Read untrusted files in a separate process.
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
	Files:     []string{".hdf5"},
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
