//go:build !linux

package child

import "errors"

// Available returns an error: the helper needs Linux.
func Available() error {
	return errors.New("HDF5 is read and written on Linux alone; convert there")
}

func start(...string) (*process, error) { return nil, Available() }
