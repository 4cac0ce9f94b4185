package wire

import (
	"errors"
	"fmt"
	"strings"
)

// MaxPadding is the most bytes that may follow the last field of a payload: senders pad payloads to 4 bytes, old
// senders to 8.
const MaxPadding = 7

// Finish returns the error of d, or an error if more than MaxPadding bytes remain.
func (d *Decoder) Finish() error {
	if d.err == nil && d.Remaining() > MaxPadding {
		return fmt.Errorf("%d bytes left behind the last field; the payload does not fit the definition", d.Remaining())
	}
	return d.err
}

// InField adds the name of a field, or "[index]", in front of the path of err.
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

// fieldError is an error at the field that path leads to.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string { return e.path + ": " + e.err.Error() }

func (e *fieldError) Unwrap() error { return e.err }
