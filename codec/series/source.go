package series

import (
	"errors"

	"tapedeck/codec"
	"tapedeck/codec/store"
)

// OpenSource opens the recording that path means, as it is in the files: by the name of its first file all of its
// files.
func OpenSource(files *store.Files, formats codec.Formats, path string) (codec.Reader, error) {
	return Open(files, store.Local(path), opener(files, formats))
}

func opener(files *store.Files, formats codec.Formats) func(path string) (codec.Reader, error) {
	return func(path string) (codec.Reader, error) { return OpenFile(files, formats, path) }
}

// Firsts returns paths without further files of recordings whose first files are among them.
func Firsts(files *store.Files, formats codec.Formats, paths []string) []string {
	return Recordings(files, paths, opener(files, formats))
}

// OpenFile is codec.Formats.OpenFrom, which opens one file of several alone, but that a folder which holds other
// recordings beside the files of one is an error.
func OpenFile(files *store.Files, formats codec.Formats, path string) (codec.Reader, error) {
	r, format, err := formats.OpenFrom(files, path)
	if err != nil {
		return nil, err
	}
	if err := checkFolder(files, formats, store.Clean(path), format); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}
