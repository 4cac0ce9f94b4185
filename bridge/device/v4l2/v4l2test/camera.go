package v4l2test

import (
	"slices"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tapedeck/bridge/device/v4l2"
)

// Camera is a simulated camera that sends frames through the kernel's interface, at a rate or by Shoot. Fields are set
// before it is plugged in; methods may be called by any goroutine.
type Camera struct {
	// Node describes the device node.
	Node v4l2.Node

	// Formats are the offered formats; the first is the initial one. A node without formats is one for metadata.
	Formats []Format

	// Controls are the controls of the camera.
	Controls []v4l2.Control

	// Manual makes the camera send frames only on Shoot, not at its rate.
	Manual bool

	// Fill writes an image into the driver's buffer and returns its length. If nil, images contain the number that
	// Sequence returns.
	Fill func(format v4l2.Format, sequence uint32, buffer []byte) int

	// Driver, if not nil, answers requests of the kernel's interface; usual is the camera's own answer. It must not
	// call methods of the camera.
	Driver func(request uint32, argument unsafe.Pointer, usual func() error) error

	mutex    sync.Mutex
	settings map[uint32]int64
	format   Format
	rate     float64
	picture  []byte  // of Sequence
	user     *device // the device that allocated buffers; nil if none has
	plugged  *bool   // false for all devices that were opened before the camera was unplugged

	memory   [][]byte
	pictured []bool // by buffer: it contains picture
	queued   []int
	done     []shot
	on       bool

	sequence uint32
	next     int64 // on the monotonic clock, when the next frame is due
	damage   bool
	failures []unix.Errno
}

// Format is a pixel format, size and rates that a Camera offers.
type Format struct {
	FourCC        v4l2.FourCC
	Width, Height int
	Padding       int       // bytes after each row
	Rates         []float64 // frames per second; the first is set at first, none is 30
}

// shot is a filled buffer.
type shot struct {
	index    int
	length   int
	stamp    int64 // on the monotonic clock
	sequence uint32
	damaged  bool
}

func (c *Camera) plug() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	plugged := true
	c.plugged = &plugged
	c.settings = make(map[uint32]int64)
	for _, control := range c.Controls {
		c.settings[control.ID] = control.Default
	}
	if len(c.Formats) > 0 {
		c.set(c.Formats[0])
	}
	c.release()
}

func (c *Camera) unplug() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	*c.plugged = false
	c.wake()
	c.release()
}

// set sets a format.
func (c *Camera) set(f Format) {
	if len(f.Rates) == 0 {
		f.Rates = []float64{30}
	}
	c.format, c.rate = f, f.Rates[0]
	c.picture = nil
}

// release frees all buffers.
func (c *Camera) release() {
	c.user, c.on, c.memory, c.pictured, c.queued, c.done = nil, false, nil, nil, nil, nil
	c.damage, c.failures = false, nil
}

func (c *Camera) wake() {
	if c.user != nil {
		c.user.notify()
	}
}

// Shoot sends a frame, even if the camera is not Manual. Without a free buffer the frame is dropped, as by a driver. It
// has no effect while no program captures.
func (c *Camera) Shoot() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.shoot(monotonic())
}

func (c *Camera) shoot(stamp int64) {
	if !c.on {
		return
	}
	sequence := c.sequence
	c.sequence++
	if len(c.queued) == 0 {
		return
	}
	index := c.queued[0]
	c.queued = slices.Delete(c.queued, 0, 1)
	c.done = append(c.done, shot{index, c.fill(index, sequence), stamp, sequence, c.damage})
	c.damage = false
	c.wake()
}

// catchUp sends the frames due by now.
func (c *Camera) catchUp(now int64) {
	if c.Manual || !c.on {
		return
	}
	for c.next <= now {
		c.shoot(c.next)
		c.next += int64(float64(time.Second) / c.rate)
	}
}

// Skip drops a number of frames.
func (c *Camera) Skip(frames int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.sequence += uint32(frames)
}

// Damage marks the next frame as damaged.
func (c *Camera) Damage() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.damage = true
}

// Fail makes the next attempts to dequeue a frame fail with these errors.
func (c *Camera) Fail(errors ...unix.Errno) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.failures = append(c.failures, errors...)
	c.wake()
}

// Setting returns the value of a control.
func (c *Camera) Setting(name string) int64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, control := range c.Controls {
		if control.Name == name {
			return c.settings[control.ID]
		}
	}
	return 0
}

// Streaming reports whether a program captures.
func (c *Camera) Streaming() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.on
}

func monotonic() int64 { return readClock(unix.CLOCK_MONOTONIC) }

func readClock(clock int32) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic(err) // every Linux has these clocks
	}
	return t.Nano()
}
