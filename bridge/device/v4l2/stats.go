package v4l2

import (
	"sync"
	"time"
)

// Status is the state of a Camera.
type Status struct {
	Streaming bool
	Err       error   // why it does not stream; nil while it streams, and before the first attempt
	Path      string  // of the device node; of the last one, if it does not stream
	Card      string  // name reported by the device
	Serial    string  // USB serial number, if the device was found by serial number or name
	Format    Format  // set by the driver
	Rate      float64 // frames per second set by the driver, 0 if unknown
	Rates     []Rates // rates that the device offers in the format, if Rate is not the wanted one
}

// Stats counts frames and errors of a Camera since Run began.
type Stats struct {
	Frames  uint64 // passed to Frame
	Dropped uint64 // frames that the driver had no buffer for
	Damaged uint64 // frames skipped: marked by the driver, of a wrong length, or without a JPEG header
	Errors  uint64 // failures to dequeue a buffer
	Opened  uint64 // times the device began to stream

	Clock  StampClock // of the last frame
	Window Window
}

// Window counts since the previous call of Stats.
type Window struct {
	Duration time.Duration
	Frames   uint64
	Rate     float64 // frames per second

	// Latency from stamp to reception, of frames stamped by the driver; 0 without any.
	MinLatency, MeanLatency, MaxLatency time.Duration
}

// Counter counts frames for Stats. Its methods may be called by any goroutine.
type Counter struct {
	mutex sync.Mutex
	stats Stats

	began   time.Time     // of the window
	stamped int64         // frames in the window that the driver stamped
	latency time.Duration // sum over the stamped frames of the window
}

// Frame counts a frame, and the frames that were dropped before it.
func (c *Counter) Frame(f *Frame, dropped uint32) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	s := &c.stats
	s.Frames++
	s.Dropped += uint64(dropped)
	s.Clock = f.Clock
	s.Window.Frames++
	if f.Clock == Receive {
		return
	}
	latency := time.Duration(f.Received - f.Stamp)
	if c.stamped == 0 {
		s.Window.MinLatency = latency
	}
	s.Window.MinLatency = min(s.Window.MinLatency, latency)
	s.Window.MaxLatency = max(s.Window.MaxLatency, latency)
	c.stamped++
	c.latency += latency
}

// Change changes the counts.
func (c *Counter) Change(by func(*Stats)) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	by(&c.stats)
}

// Begin begins the first window.
func (c *Counter) Begin(now time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.began = now
}

// Take returns the counts, and begins a new window.
func (c *Counter) Take(now time.Time) Stats {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	s := c.stats
	if !c.began.IsZero() {
		s.Window.Duration = now.Sub(c.began)
	}
	if s.Window.Duration > 0 {
		s.Window.Rate = float64(s.Window.Frames) / s.Window.Duration.Seconds()
	}
	if c.stamped > 0 {
		s.Window.MeanLatency = c.latency / time.Duration(c.stamped)
	}
	c.stats.Window = Window{}
	c.began, c.stamped, c.latency = now, 0, 0
	return s
}
