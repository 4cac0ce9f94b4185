package convert

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
)

// FormatOf returns the format of list in which path is to be written: the format called name or, if name is "", the
// format that path's extension means.
func FormatOf(list formats.List, path, name string) (formats.Format, error) {
	var known []string
	for _, f := range list {
		asked := name == f.Name || name == "" && f.Named(path)
		if !f.Writes() {
			continue
		}
		if asked {
			return f, nil
		}
		known = append(known, f.Name)
	}
	if name != "" {
		return formats.Format{}, config.Usagef("--to %s is not a format that can be written; those are %s", name,
			strings.Join(known, ", "))
	}
	return formats.Format{}, config.Usagef("the name %q does not say in which format to write; use --to with one of %s",
		filepath.Base(path), strings.Join(known, ", "))
}

// formatExtension matches the end of a file name that shows its format, with the number of a split.
var formatExtension = regexp.MustCompile(`(\.record)?(\.\d{5}(\.\d{14})?)?$|\.(mcap|bag|log|db3)$`)

// numberedSplit matches the name of a further file of a split recording, without extension.
var numberedSplit = regexp.MustCompile(`^(.*)_\d+$`)

// OutputNames returns the names of the outputs if each recording of paths is converted by itself, such as drive.mcap
// for drive.bag. folders has the folder of each output, "" for none.
//
// Outputs that would have one name get the folders of their recordings below their common folder: car1/drive.mcap. If
// drive.bag and drive.record exist, the names are drive.bag.mcap and drive.record.mcap. If drive.mcap may be split, the
// name for drive_1.bag is drive_1.bag.mcap, because the second file of drive.mcap is drive_1.mcap. All names are
// different.
func OutputNames(paths, folders []string, format formats.Format, split bool) ([]string, error) {
	names, bases := make([]string, len(paths)), make([]string, len(paths))
	same := map[string][]int{}
	for i, path := range paths {
		bases[i] = strings.TrimSuffix(store.Base(path), codec.ActiveSuffix)
		names[i] = filepath.Join(folders[i], formatExtension.ReplaceAllString(bases[i], ""))
		same[names[i]] = append(same[names[i]], i)
	}
	taken := map[string]int{}
	for _, list := range same {
		for n, below := range belowCommon(paths, list) {
			i := list[n]
			names[i] = filepath.Join(folders[i], below, filepath.Base(names[i]))
			taken[names[i]]++
		}
	}
	final := map[string]int{}
	for i, name := range names {
		whole := numberedSplit.FindStringSubmatch(name)
		if taken[name] > 1 || split && whole != nil && taken[whole[1]] > 0 {
			name = filepath.Join(filepath.Dir(name), bases[i])
		}
		name += format.Extension
		if other, ok := final[name]; ok {
			return nil, fmt.Errorf("%s and %s would both become %s; convert them to different folders", paths[other],
				paths[i], name)
		}
		if !filepath.IsLocal(name) {
			return nil, fmt.Errorf("%s would become %s, outside of the output folder; convert it by itself", paths[i],
				name)
		}
		names[i], final[name] = name, i
	}
	return names, nil
}

// belowCommon returns the folders of the selected paths relative to their common folder. list has the indices of the
// selected paths.
func belowCommon(paths []string, list []int) []string {
	var folders [][]string
	for _, i := range list {
		path, err := filepath.Abs(paths[i])
		if err != nil || store.IsURL(paths[i]) {
			path = store.Clean(paths[i])
		}
		folders = append(folders, strings.Split(store.Dir(path), "/"))
	}
	common := len(folders[0])
	for _, folder := range folders {
		n := 0
		for n < min(common, len(folder)) && folder[n] == folders[0][n] {
			n++
		}
		common = n
	}
	below := make([]string, len(list))
	for n, folder := range folders {
		below[n] = filepath.Join(folder[common:]...)
	}
	return below
}
