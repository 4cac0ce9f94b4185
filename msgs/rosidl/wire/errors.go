package wire

import (
	"errors"
	"fmt"
	"strings"
)

// MaxPadding is the largest number of bytes that may follow the last field of a payload. Senders pad payloads to a
// multiple of 4 bytes, old senders to a multiple of 8.
const MaxPadding = 7

// Finish returns d.Err or, if there is none, an error if more than MaxPadding bytes remain.
func (d *Decoder) Finish() error {
	if d.err == nil && d.Remaining() > MaxPadding {
		return fmt.Errorf("%d bytes left behind the last field; the payload does not fit the definition", d.Remaining())
	}
	return d.err
}

// InField returns err with the name of a field, or "[index]", in front of the path of err.
func InField(name string, err error) error {
	var inner *fieldError
	if !errors.As(err, &inner) {
		return &fieldError{name, err}
	}
	if !strings.HasPrefix(inner.path, "[") {
		name += "."
	}
	return &fieldError{name + inner.path, inner.err}
}

// fieldError is an error about the field at path.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string { return e.path + ": " + e.err.Error() }

func (e *fieldError) Unwrap() error { return e.err }
