package v4l2

import "time"

// Status is what a Camera captures from and how.
type Status struct {
	Streaming bool
	Err       error   // why it does not stream; nil if it does, and before the first attempt
	Path      string  // of the device node; of the last one, if it does not stream
	Card      string  // what the device calls itself
	Serial    string  // USB serial number, if it was found by one
	Format    Format  // as the driver has it
	Rate      float64 // frames per second as the driver has them, 0 if it does not tell
}

// Stats counts what a Camera did since Run began.
type Stats struct {
	Frames  uint64 // handed over
	Dropped uint64 // frames that the driver counted, but had no buffer for
	Damaged uint64 // frames left out: marked as such by the driver, or of an impossible length
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

	// Latency from a frame's stamp to its reception. All 0 without frames.
	MinLatency, MeanLatency, MaxLatency time.Duration
}
