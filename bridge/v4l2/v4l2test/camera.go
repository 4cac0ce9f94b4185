package v4l2test

import (
	"slices"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tapedeck/bridge/v4l2"
)

// Camera is a made-up camera which, through the kernel's interface, takes pictures at a rate or when it is told to. Its
// fields are set before it is plugged in; its methods may be called by any goroutine.
type Camera struct {
	// Node is what the kernel lists, and where the camera is.
	Node v4l2.Node

	// Formats are what the camera offers; the first is set at first. A node without any is one for metadata, which cameras
	// have too.
	Formats []Format

	// Controls are what can be set.
	Controls []v4l2.Control

	// Manual makes frames come by Shoot only, rather than at the rate that is set.
	Manual bool

	// Fill puts a frame's picture into the driver's buffer and returns its length. Nil makes pictures that Sequence reads.
	Fill func(format v4l2.Format, sequence uint32, buffer []byte) int

	// Driver, if not nil, answers requests of the kernel's interface in the place of usual, which is how the camera
	// answers by itself. It calls no method of the camera.
	Driver func(request uint32, argument unsafe.Pointer, usual func() error) error

	mutex    sync.Mutex
	settings map[uint32]int64
	format   Format
	rate     float64
	picture  []byte  // of Sequence
	user     *device // who has buffers
	plugged  *bool   // false for all devices that were opened before the camera was unplugged

	memory   [][]byte
	pictured []bool // buffers which have picture
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

// shot is a buffer that was filled.
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

// release takes the buffers from who has them.
func (c *Camera) release() {
	c.user, c.on, c.memory, c.pictured, c.queued, c.done = nil, false, nil, nil, nil, nil
	c.damage, c.failures = false, nil
}

func (c *Camera) wake() {
	if c.user != nil {
		c.user.notify()
	}
}

// Shoot takes a frame, also of a camera which is not Manual. If no buffer is free it is dropped, as by a driver. It
// does nothing while nobody captures.
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

// catchUp takes the frames that were due by now.
func (c *Camera) catchUp(now int64) {
	if c.Manual || !c.on {
		return
	}
	for c.next <= now {
		c.shoot(c.next)
		c.next += int64(float64(time.Second) / c.rate)
	}
}

// Skip counts a number of frames that nobody gets.
func (c *Camera) Skip(frames int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.sequence += uint32(frames)
}

// Damage makes the next frame one that the driver marks as damaged.
func (c *Camera) Damage() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.damage = true
}

// Fail makes the next attempt to dequeue a frame fail, and those after it by the further errors.
func (c *Camera) Fail(errors ...unix.Errno) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.failures = append(c.failures, errors...)
	c.wake()
}

// Setting returns the value that a control has.
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

// Streaming reports whether somebody captures.
func (c *Camera) Streaming() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.on
}

func monotonic() int64 { return readClock(unix.CLOCK_MONOTONIC) }

func readClock(clock int32) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic(err) // there is no Linux without
	}
	return t.Nano()
}
