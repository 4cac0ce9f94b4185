package v4l2

import (
	"sync"
	"time"
)

// Status is what a Camera captures from and how.
type Status struct {
	Streaming bool
	Err       error   // why it does not stream; nil if it does, and before the first attempt
	Path      string  // of the device node; of the last one, if it does not stream
	Card      string  // what the device calls itself
	Serial    string  // USB serial number, if the device was found by serial number or name
	Format    Format  // as the driver has it
	Rate      float64 // frames per second as the driver has them, 0 if it does not tell
	Rates     []Rates // frames per second that the device offers in the format, if Rate is not what was asked for
}

// Stats counts what a Camera did since Run began.
type Stats struct {
	Frames  uint64 // handed over
	Dropped uint64 // frames that the driver counted, but had no buffer for
	Damaged uint64 // frames left out: marked as such by the driver, or not a picture by their length or beginning
	Errors  uint64 // dequeueing failed
	Opened  uint64 // times that the device was opened and streamed: reopenings and one

	Clock  StampClock // of the last frame
	Window Window
}

// Window is what came since Stats was asked for the time before.
type Window struct {
	Duration time.Duration
	Frames   uint64
	Rate     float64 // frames per second

	// Latency from a frame's stamp to its reception, of frames that the driver stamped. All 0 without any.
	MinLatency, MeanLatency, MaxLatency time.Duration
}

// counter counts for Stats. Its lock is held for no longer than counting takes.
type counter struct {
	mutex sync.Mutex
	stats Stats

	began   time.Time // of the window
	stamped int64     // frames with a driver's stamp in the window
	latency time.Duration
}

func (c *counter) frame(f *Frame, dropped uint32) {
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

// change changes the counts.
func (c *counter) change(by func(*Stats)) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	by(&c.stats)
}

// begin begins the first window.
func (c *counter) begin(now time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.began = now
}

// take returns the counts, and begins a new window.
func (c *counter) take(now time.Time) Stats {
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
