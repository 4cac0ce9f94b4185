// Package v4l2 captures video from Video4Linux2 devices: webcams, the colour, infrared and depth nodes of a RealSense,
// frame grabbers. It speaks to the kernel as linux/videodev2.h and "Video for Linux API" of the kernel's documentation
// say, without C.
//
// A Camera is what most need: it finds the device, sets format, rate and controls, hands over frames without copying
// them, and begins anew when the device comes back after it was unplugged. A Capture is one opened device, to list and
// to set what it can do.
package v4l2

import (
	"time"
	"unsafe"
)

// System is the machine whose cameras are used: Kernel, or one made up for tests (package v4l2test).
type System interface {
	// Open opens the device file at path.
	Open(path string) (Device, error)

	// Nodes lists the video devices that are there now, by number.
	Nodes() ([]Node, error)
}

// Device is an opened video device: the system calls that capturing takes.
type Device interface {
	// Ioctl performs a request on the struct at argument, which is laid out as the kernel has it. Errors are a unix.Errno.
	// A call that a signal interrupted is done again.
	Ioctl(request uint32, argument unsafe.Pointer) error

	// Mmap maps a buffer of the driver into memory, until Munmap.
	Mmap(offset int64, length int) ([]byte, error)

	// Munmap undoes Mmap.
	Munmap(memory []byte) error

	// Poll waits until a buffer can be dequeued, or the device has failed, which dequeueing will then tell. It returns
	// false after the timeout, and unix.ECANCELED after Wake.
	Poll(timeout time.Duration) (bool, error)

	// Wake ends a Poll that waits, or the next one. It may be called by any goroutine at any time, also after Close.
	Wake()

	// Now reads a clock of the system, unix.CLOCK_MONOTONIC or unix.CLOCK_REALTIME, in ns.
	Now(clock int32) int64

	// Close closes the device.
	Close() error
}

// Node is a video device as the kernel lists it in /sys/class/video4linux.
type Node struct {
	Path   string // "/dev/video0"
	Name   string // of the camera or of this part of it: "HD Pro Webcam C920"
	Serial string // USB serial number, as udev's ID_SERIAL_SHORT; empty if there is none
	Port   string // of what the node belongs to, such as the USB device "1-1.2": nodes of one camera share it
}
