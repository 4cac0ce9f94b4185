//go:build unix

package store

import (
	"errors"
	"os"
)

// Unnamed returns a new file in folder, by default in the folder for temporary files. Nobody else can open it, and it
// vanishes when it is closed.
func Unnamed(folder string) (*os.File, error) {
	file, err := os.CreateTemp(folder, ".tapedeck-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
