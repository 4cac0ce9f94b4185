package v4l2

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ErrNotFound is returned if no video device has the wanted serial number or name.
var ErrNotFound = errors.New("no such camera")

// errNotCapture is returned for a device that does not capture video.
var errNotCapture = errors.New("not a capture device")

// gone reports whether an error means that the device is missing. Its nodes may appear one by one, first those that do
// not capture.
func gone(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, errNotCapture) ||
		errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO)
}

// failed adds path, operation and, if known, advice to an error.
func failed(path, what string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		hint = "; cameras need membership of a group, usually video: usermod -aG video USER, then log in again"
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENXIO):
		hint = "; it is not plugged in or has another name; ls -l /dev/v4l/by-id lists cameras"
	case errors.Is(err, unix.EBUSY):
		hint = "; another program uses the camera; fuser -v " + path + " shows which"
	case errors.Is(err, unix.ENODEV):
		hint = "; it was unplugged or its driver failed"
	case errors.Is(err, unix.ENOSPC):
		hint = "; the USB bus has no bandwidth left: use a smaller size, a lower rate, MJPG, or another USB port"
	}
	return fmt.Errorf("%s: %s: %w%s", path, what, err, hint)
}
