// Package msgs holds the definitions of the messages and services that tapedeck uses, with the field names, types,
// defaults and constants of ROS 2 Jazzy. The definitions of rosbag2_interfaces are those of later releases. The
// generated Go types are in subpackages, one for each ROS package.
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

// former has definitions that changed after a release of ROS 2, in a folder named by the last release that had them.
//
//go:embed former
var former embed.FS

// Release returns tapedeck's own definitions for a release of ROS 2, such as "humble". "" is the newest release, whose
// definitions the Go types have.
func Release(name string) *rosidl.Library { return rosidl.NewLibrary(release(name)...) }

// release returns the file systems of Release. The names of releases of ROS 2 ascend in alphabetical order.
func release(name string) []fs.FS {
	var fsys []fs.FS
	folders, _ := fs.Glob(former, "former/*")
	for _, folder := range folders {
		if last := path.Base(folder); name != "" && name <= last {
			if sub, err := fs.Sub(former, folder); err == nil {
				fsys = append(fsys, sub)
			}
		}
	}
	return append(fsys, definitions)
}

// Library returns the definitions in the given folders, in the packages of the sourced ROS 2 environment
// (AMENT_PREFIX_PATH), and tapedeck's own for the release in ROS_DISTRO. The first place that
// defines a type wins.
//
// A folder may contain packages (<folder>/<package>/msg/<Type>.msg), be an install prefix
// (<folder>/share/<package>/msg/<Type>.msg), or be a package (<folder>/msg/<Type>.msg). The name of such a package
// comes from package.xml, or else from the folder.
func Library(folders ...string) *rosidl.Library {
	var fsys []fs.FS
	for _, folder := range folders {
		fsys = append(fsys, newPackageFS(folder), os.DirFS(filepath.Join(folder, "share")), os.DirFS(folder))
	}
	for _, prefix := range filepath.SplitList(os.Getenv("AMENT_PREFIX_PATH")) {
		if prefix != "" {
			fsys = append(fsys, os.DirFS(filepath.Join(prefix, "share")))
		}
	}
	return rosidl.NewLibrary(append(fsys, release(os.Getenv("ROS_DISTRO"))...)...)
}
