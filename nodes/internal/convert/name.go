package convert

import (
	"path/filepath"
	"regexp"
	"strings"

	"tapedeck/codec"
	"tapedeck/nodes/internal/formats"
)

// extension is what tells the format in the name of a recording, with the number of a file of several.
var extension = regexp.MustCompile(`(\.record)?(\.\d{5}(\.\d{14})?)?$|\.(mcap|bag|log|db3)$`)

// Names returns what recordings at paths are called in another format, each on its own: drive.bag is drive.mcap, and
// drive.bag.mcap if there is a drive.record, too.
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
