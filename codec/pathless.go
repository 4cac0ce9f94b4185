package codec

import (
	"errors"
	"io/fs"
	"os"
)

// Pathless strips the operation and the path that package os puts into its errors, for callers that name them.
func Pathless(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
