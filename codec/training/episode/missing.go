package episode

import (
	"errors"
	"fmt"

	"tapedeck/codec"
)

// MissingFileError is an error in a Source's Damage about a file, or an object in an HDF5 file, that the source refers
// to and that cannot be read.
type MissingFileError struct {
	Path   string // path of the file
	Camera string // name of the camera whose images are missing; "": an episode is missing
	Raw    bool   // whether the missing frames are pixels (see Camera.Raw)
	Images int    // number of images in the file; 0: unknown
	Err    error  // why the file cannot be read

	// Channel is the channel of the missing images. Reader sets it.
	Channel *codec.Channel
}

// Error returns the missing data, the path and the cause.
func (m *MissingFileError) Error() string {
	what := "an episode is missing"
	switch {
	case m.Camera != "" && m.Images == 0:
		what = fmt.Sprintf("images of %s are missing", m.Camera)
	case m.Camera != "" && m.Images == 1:
		what = fmt.Sprintf("1 image of %s is missing", m.Camera)
	case m.Camera != "":
		what = fmt.Sprintf("%d images of %s are missing", m.Images, m.Camera)
	}
	return fmt.Sprintf("%s: %s: %v", what, m.Path, m.Err)
}

// Unwrap returns Err.
func (m *MissingFileError) Unwrap() error { return m.Err }

// Missing returns the errors about missing files in Damage. The list is empty until the source was read.
func (r *Reader) Missing() (list []*MissingFileError) {
	for _, err := range r.Found().Damage {
		var m *MissingFileError
		if errors.As(err, &m) {
			list = append(list, m)
		}
	}
	return list
}
