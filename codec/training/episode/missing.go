package episode

import (
	"errors"
	"fmt"

	"tapedeck/codec"
)

// MissingError is Damage of a Source: a file that it names is not there, and what would be in it is left out.
type MissingError struct {
	Path   string // of the file
	Camera string // the images in the file are of this camera; "": the file has an episode
	Raw    bool   // as in Camera
	Images int    // 0: unknown
	Err    error  // why the file cannot be read

	// Channel is the one that would have the images; Reader sets it.
	Channel *codec.Channel
}

// Error returns what is missing, where, and why.
func (m *MissingError) Error() string {
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
func (m *MissingError) Unwrap() error { return m.Err }

// Missing returns what is missing in the source, once it was read.
func (r *Reader) Missing() (list []*MissingError) {
	for _, err := range r.Found().Damage {
		var m *MissingError
		if errors.As(err, &m) {
			list = append(list, m)
		}
	}
	return list
}
