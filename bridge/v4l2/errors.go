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

// FormatError is returned if a device does not offer the wanted format.
type FormatError struct {
	Path   string
	Wanted Format // 0 where nothing was wanted
	Given  Format // what the driver chose instead; 0 if it refused
	// what the device offers: "MJPG, YUYV and H264", or sizes in the wanted pixel format: "1280x720 and 640x480"
	Offers string
}

// Error names the wanted format and what the device offers.
func (e *FormatError) Error() string {
	wanted := e.Wanted.String()
	if e.Wanted.Width == 0 || e.Wanted.Height == 0 {
		wanted = e.Wanted.FourCC.String()
	}
	text := fmt.Sprintf("%s: the camera does not offer %s", e.Path, wanted)
	if e.Offers != "" {
		return text + ", only " + e.Offers
	}
	if e.Given.FourCC != 0 {
		return text + "; its driver offers " + e.Given.String()
	}
	return text
}
