package v4l2test

import (
	"golang.org/x/sys/unix"
	"tapedeck/bridge/v4l2"
)

// Camera is a made-up camera which, through the kernel's interface, takes frames at a rate or when it is told to. Its fields are set
// before it is plugged in; its methods may be called by any goroutine.
type Camera struct {
	// Node is what the kernel lists, and where the camera is.
	Node v4l2.Node

	// Formats are what the camera offers; the first is set at first.
	Formats []Format

	// Controls are what can be set.
	Controls []v4l2.Control

	// Manual makes frames come by Shoot only, rather than at the rate that is set.
	Manual bool

	// Fill makes a frame's picture in the driver's buffer and returns its length. Nil is a grey level that changes with each frame,
	// or for compressed formats a JPEG picture of it.
	Fill func(format v4l2.Format, sequence uint32, buffer []byte) int
}

// Format is a pixel format, size and rates that a Camera offers.
type Format struct {
	FourCC        v4l2.FourCC
	Width, Height int
	Padding       int       // bytes after each row
	Rates         []float64 // frames per second; the first is set at first, none is 30
}

// Shoot takes a frame. If no buffer is free it is dropped, as by a driver. It does nothing while nobody captures.
func (c *Camera) Shoot() { panic("not yet written") }

// Skip counts a number of frames that nobody gets.
func (c *Camera) Skip(frames int) { panic("not yet written") }

// Damage makes the next frame one that the driver marks as damaged.
func (c *Camera) Damage() { panic("not yet written") }

// Fail makes the next attempt to dequeue a frame fail, and those after it by the further errors.
func (c *Camera) Fail(errors ...unix.Errno) { panic("not yet written") }

// Setting returns the value that a control has.
func (c *Camera) Setting(name string) int64 { panic("not yet written") }

// Streaming reports whether somebody captures.
func (c *Camera) Streaming() bool { panic("not yet written") }
