package convert

import (
	"path/filepath"
	"regexp"
	"strings"

	"tapedeck/codec"
	"tapedeck/nodes/internal/formats"
)

// extension matches the part of a file name that shows its format, with the number of a split.
var extension = regexp.MustCompile(`(\.record)?(\.\d{5}(\.\d{14})?)?$|\.(mcap|bag|log|db3)$`)

// Names returns the names of the outputs when each recording of paths is converted by itself: drive.mcap for drive.bag,
// or drive.bag.mcap if there is a drive.record, too.
func Names(paths []string, format formats.Format) []string {
	names := make([]string, len(paths))
	taken := map[string]int{}
	for i, path := range paths {
		base := strings.TrimSuffix(filepath.Base(filepath.Clean(path)), codec.ActiveSuffix)
		names[i] = extension.ReplaceAllString(base, "") + format.Extension
		taken[names[i]]++
	}
	for i, path := range paths {
		if taken[names[i]] > 1 {
			names[i] = filepath.Base(filepath.Clean(path)) + format.Extension
		}
	}
	return names
}
