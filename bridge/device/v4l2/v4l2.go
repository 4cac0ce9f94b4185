// Package v4l2 captures video from Video4Linux2 devices: webcams, the colour, infrared and depth nodes of a RealSense,
// frame grabbers. It uses the kernel's interface of linux/videodev2.h directly, without C (see "Video for Linux API" in
// the kernel's documentation). Linux 3.17 or later is required.
//
// Most programs need a Camera: it finds the device, sets format, rate and controls, passes frames on without copying
// them, and reopens the device after it was unplugged. A CaptureDevice is one open device, whose formats and controls
// can be listed and set. A Capture receives its frames.
package v4l2

import (
	"time"
	"unsafe"
)

// System gives access to cameras: Kernel, or simulated ones for tests (package v4l2test).
type System interface {
	// Open opens the device file at path.
	Open(path string) (Device, error)

	// Nodes lists the present video devices, by number.
	Nodes() ([]Node, error)
}

// Device is an open video device: the system calls needed to capture.
type Device interface {
	// Ioctl performs a request on the struct at argument, in the kernel's layout. Errors are a unix.Errno. Interrupted
	// calls are repeated.
	Ioctl(request uint32, argument unsafe.Pointer) error

	// Mmap maps a buffer of the driver into memory, until Munmap.
	Mmap(offset int64, length int) ([]byte, error)

	// Munmap undoes Mmap.
	Munmap(memory []byte) error

	// Poll waits until a buffer can be dequeued or the device has failed; dequeueing then returns the error. It returns
	// false after the timeout, and unix.ECANCELED after Wake.
	Poll(timeout time.Duration) (bool, error)

	// Wake ends the current or next Poll. It may be called by any goroutine at any time, also after Close.
	Wake()

	// Now reads a clock of the system, unix.CLOCK_MONOTONIC or unix.CLOCK_REALTIME, in ns.
	Now(clock int32) int64

	// Close closes the device.
	Close() error
}

// Node is a video device as the kernel lists it in /sys/class/video4linux.
type Node struct {
	Path   string // "/dev/video0"
	Name   string // of the camera or of one of its sensors: "HD Pro Webcam C920"
	Serial string // USB serial number, as udev's ID_SERIAL_SHORT; empty if there is none
	Port   string // such as the USB device "1-1.2"; shared by the nodes of one camera
}
