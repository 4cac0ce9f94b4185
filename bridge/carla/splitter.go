package carla

import (
	"errors"
	"fmt"

	"tapedeck/codec"
)

// splitter is a writer as far as it implements codec.Splitter.
type splitter struct{ w codec.Writer }

// File implements codec.Splitter.
func (s splitter) File() string {
	if w, ok := s.w.(codec.Splitter); ok {
		return w.File()
	}
	return ""
}

// Split implements codec.Splitter. What is collected goes to the new file.
func (s splitter) Split() error {
	if w, ok := s.w.(codec.Splitter); ok {
		return w.Split()
	}
	return fmt.Errorf("split: %w", errors.ErrUnsupported)
}

// Remove implements codec.Splitter.
func (s splitter) Remove(path string) error {
	if w, ok := s.w.(codec.Splitter); ok {
		return w.Remove(path)
	}
	return fmt.Errorf("remove %s: %w", path, errors.ErrUnsupported)
}
