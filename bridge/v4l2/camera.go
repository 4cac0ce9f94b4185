package v4l2

import (
	"context"
	"time"
)

// Camera captures from a device as long as it is told to, through unplugging and plugging in. Its fields are set before Run.
type Camera struct {
	// System is where the device is. Nil is the kernel.
	System System

	// Device is a path as "/dev/video0" or "/dev/v4l/by-id/…", or the USB serial number or name of the camera. A camera with several
	// nodes, found by serial number or name, is captured from at the first one that offers FourCC; Index counts on from there.
	Device string
	Index  int

	// Pixel format and size. What is 0 is left to the device.
	FourCC        FourCC
	Width, Height int

	// Rate is frames per second; 0 leaves it to the device.
	Rate float64

	// Controls are set each time that the device is opened.
	Controls []Setting

	// Buffers is how many frames the driver can capture ahead; 0 is 4.
	Buffers int

	// Retry is how often a device that is not there is looked for; 0 is each second.
	Retry time.Duration

	// Frame is called with each frame by the goroutine of Run. The driver has the frame's buffer again when it returns.
	Frame func(*Frame)

	// Event is called by the goroutine of Run each time that the device was opened (err nil), was lost, or could not be opened for
	// another reason than before.
	Event func(status Status, err error)
}

// Run captures until the context ends, and returns its error. Other errors are of fields that cannot be, and come at once: what is
// wrong with the device may get right, and is told to Event.
func (c *Camera) Run(ctx context.Context) error { panic("not yet written") }

// Status returns what is captured and how it goes. It may be called at any time, by any goroutine.
func (c *Camera) Status() Status { panic("not yet written") }

// Stats returns what was counted, and begins a new Window. It may be called at any time, by any goroutine.
func (c *Camera) Stats() Stats { panic("not yet written") }
