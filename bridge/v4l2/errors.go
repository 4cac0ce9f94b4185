package v4l2

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ErrNotFound is that no video device is what was asked for.
var ErrNotFound = errors.New("no such camera")

// errNotCapture is that a device is there, but of no use here.
var errNotCapture = errors.New("not a capture device")

// gone reports whether an error says that the device is not there. One whose nodes come and go one by one may have only
// some that do not capture.
func gone(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, errNotCapture) ||
		errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO)
}

// failed says what failed on the device at path, and what to do about it if that is known.
func failed(path, what string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		hint = "; cameras are for the members of a group, mostly video: usermod -aG video USER and log in anew"
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENXIO):
		hint = "; it is not plugged in, or has another name: ls -l /dev/v4l/by-id shows those that are"
	case errors.Is(err, unix.EBUSY):
		hint = "; another program uses the camera: fuser -v " + path + " tells which"
	case errors.Is(err, unix.ENODEV):
		hint = "; it was unplugged or its driver gave it up"
	case errors.Is(err, unix.ENOSPC):
		hint = "; the USB bus has no bandwidth left: ask for a lower size or rate, or for MJPG, or plug the camera in " +
			"elsewhere"
	}
	return fmt.Errorf("%s: %s: %w%s", path, what, err, hint)
}

// FormatError says that a device does not have the wanted format.
type FormatError struct {
	Path   string
	Wanted Format // 0 where nothing was asked for
	Given  Format // what the driver chose instead; 0 if it just refused
	// what the device has instead: "MJPG, YUYV and H264", or in the wanted pixel format "1280x720 and 640x480"
	Offers string
}

// Error names the wanted format and what the device has.
func (e *FormatError) Error() string {
	wanted := e.Wanted.String()
	if e.Wanted.Width == 0 || e.Wanted.Height == 0 {
		wanted = e.Wanted.FourCC.String()
	}
	text := fmt.Sprintf("%s: the camera has no %s", e.Path, wanted)
	if e.Offers != "" {
		return text + "; it has " + e.Offers
	}
	if e.Given.FourCC != 0 {
		return text + "; its driver offers " + e.Given.String()
	}
	return text
}
