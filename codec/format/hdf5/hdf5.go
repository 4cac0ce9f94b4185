// Package hdf5 writes episodes of robots as HDF5 files for training policies, and reads such files.
//
// A file has one or more episodes, each in a group /episodes/episode_i. EasyTeleop's docs/data_format.md describes this
// layout. The package adds qpos, qvel and action, links and attributes where ACT, act-plus-plus, cobot_magic, RDT,
// openpi and view_hdf5 expect them.
//
// The package reads its own files, EasyTeleop's files, and files in the layout of ALOHA and ACT.
//
// Truncated or damaged files are errors. libhdf5 trusts references to texts in attributes and to sequences in chunks,
// such as EasyTeleop's images. About one in a thousand files with a single wrong bit crashes libhdf5. So the program
// hdf5_helper reads each file in a process of its own. It also writes files, so that only it needs cgo and libhdf5. The
// helper is beside the executable or on the PATH.
package hdf5

import (
	"bytes"
	"path/filepath"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/training/episode"
)

// Format is the format of HDF5 files with episodes, and of folders with a file for each episode: episode_0.hdf5,
// episode_1.hdf5 and so on.
var Format = codec.Format{
	Name:     "hdf5",
	Episodic: true,
	Sniff: func(files *store.Files, path string, head []byte) bool {
		if head == nil {
			return len(episodeFiles(files, path)) > 0
		}
		ok, err := isHDF5(bytes.NewReader(head), int64(len(head)))
		return ok && err == nil
	},
	Named:     hasExtension,
	Extension: ".hdf5",
	Files:     []string{".hdf5"},
	OpenFrom: func(files *store.Files, path string) (codec.Reader, error) {
		source, err := Open(files, path)
		if err != nil {
			return nil, err
		}
		return episode.NewReader(files, "hdf5", path, source), nil
	},
}

// hasExtension reports whether a path has an extension of HDF5 files.
func hasExtension(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".hdf5", ".h5":
		return true
	}
	return false
}
