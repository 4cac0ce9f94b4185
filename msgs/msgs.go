// Package msgs holds the definitions of the messages and services that tapedeck speaks, with the field names, types,
// defaults and constants of ROS 2 Jazzy. The Go types made of them are in one package for each ROS package beside it.
package msgs

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"

	"tapedeck/msgs/rosidl"
)

//go:embed */msg/*.msg */srv/*.srv
var definitions embed.FS

// Library returns the definitions found in the given folders, in the packages of the sourced ROS 2 environment
// (AMENT_PREFIX_PATH) and in those that tapedeck brings along, in this order: the first that holds a type wins.
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
	return rosidl.NewLibrary(append(sources, definitions)...)
}
