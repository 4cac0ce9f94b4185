// Package msgs holds the definitions of the messages and services that tapedeck speaks, with the field names, types,
// defaults and constants of ROS 2 Jazzy, and those of rosbag2_interfaces of its successors. The Go types made of them
// are in one package for each ROS package beside it.
package msgs

import (
	"embed"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"tapedeck/msgs/rosidl"
)

//go:embed */msg/*.msg */srv/*.srv
var definitions embed.FS

// former holds definitions as they were up to a release of ROS 2, and later not any more, in a folder of its name.
//
//go:embed former
var former embed.FS

// Release returns tapedeck's own definitions for a release of ROS 2: "humble". "" is the newest, which the Go types
// have.
func Release(name string) *rosidl.Library { return rosidl.NewLibrary(release(name)...) }

// release returns the sources of Release. The names of releases are in alphabetical order.
func release(name string) []fs.FS {
	var sources []fs.FS
	folders, _ := fs.Glob(former, "former/*")
	for _, folder := range folders {
		if last := path.Base(folder); name != "" && name <= last {
			if source, err := fs.Sub(former, folder); err == nil {
				sources = append(sources, source)
			}
		}
	}
	return append(sources, definitions)
}

// Library returns the definitions in the given folders, in the packages of the sourced ROS 2 environment
// (AMENT_PREFIX_PATH), and tapedeck's own for the release in ROS_DISTRO. The first of these that has a type wins.
//
// A folder is one of packages (<folder>/<package>/msg/<Type>.msg), an install prefix
// (<folder>/share/<package>/msg/<Type>.msg) or a package (<folder>/msg/<Type>.msg, named by its package.xml or else by
// the folder).
func Library(folders ...string) *rosidl.Library {
	var sources []fs.FS
	for _, folder := range folders {
		sources = append(sources, folderSource(folder), os.DirFS(filepath.Join(folder, "share")), os.DirFS(folder))
	}
	for _, prefix := range filepath.SplitList(os.Getenv("AMENT_PREFIX_PATH")) {
		if prefix != "" {
			sources = append(sources, os.DirFS(filepath.Join(prefix, "share")))
		}
	}
	return rosidl.NewLibrary(append(sources, release(os.Getenv("ROS_DISTRO"))...)...)
}
