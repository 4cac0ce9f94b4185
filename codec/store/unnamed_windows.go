package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Unnamed returns a new file in folder, by default in the folder for temporary files. Windows removes the file when it
// is closed.
func Unnamed(folder string) (*os.File, error) {
	temporary, err := os.CreateTemp(folder, ".tapedeck-*")
	if err != nil {
		return nil, err
	}
	temporary.Close()
	file, err := os.OpenFile(temporary.Name(), os.O_RDWR|windows.O_FILE_FLAG_DELETE_ON_CLOSE, 0)
	if err != nil {
		return nil, errors.Join(err, os.Remove(temporary.Name()))
	}
	return file, nil
}
