package series

import (
	"errors"

	"tapedeck/codec"
	"tapedeck/codec/store"
)

// OpenRecording opens the recording at path, without a translation. A recording's first file stands for all files.
func OpenRecording(files *store.Files, formats codec.Formats, path string) (codec.Reader, error) {
	return Open(files, store.Local(path), opener(files, formats))
}

func opener(files *store.Files, formats codec.Formats) func(path string) (codec.Reader, error) {
	return func(path string) (codec.Reader, error) { return OpenFile(files, formats, path) }
}

// Firsts returns paths without further files of recordings whose first files are among paths.
func Firsts(files *store.Files, formats codec.Formats, paths []string) []string {
	return Recordings(files, paths, opener(files, formats))
}

// OpenFile opens a single file, or a folder, by codec.Formats.OpenFrom. A folder that holds several recordings is an
// error.
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
