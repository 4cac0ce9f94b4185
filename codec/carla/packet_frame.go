package carla

import "math"

// FrameStart begins a frame.
type FrameStart struct {
	Frame    uint64  // counted from 1
	Duration float64 // s until the next frame; -1 in the last frame of a log, and in one that a crash ended
	Elapsed  float64 // s of simulation since the recording began
}

// ID implements Body.
func (*FrameStart) ID(Profile) (uint8, bool) { return IDFrameStart, true }

// Code implements Body.
func (f *FrameStart) Code(c *Coder) {
	c.Uint64(&f.Frame)
	c.Float64(&f.Duration)
	c.Float64(&f.Elapsed)
}

// follows reports whether a recorder may have written f after before in the same log.
func (f *FrameStart) follows(before *FrameStart) bool {
	const gap = 1 << 24 // frames that may be missing in between
	return f.Frame > before.Frame && f.Frame-before.Frame < gap && f.Elapsed >= before.Elapsed && f.Elapsed < 1e9 &&
		f.Duration >= -1 && f.Duration < 1e6
}

// reaches reports whether f lasts until next, the frame after it, as all frames do that CARLA writes.
func (f *FrameStart) reaches(next *FrameStart) bool {
	const tolerance = 1e-6 // s
	return math.Abs(f.Elapsed+f.Duration-next.Elapsed) < tolerance
}

// FrameEnd ends a frame.
type FrameEnd struct{}

// ID implements Body.
func (*FrameEnd) ID(Profile) (uint8, bool) { return IDFrameEnd, true }

// Code implements Body.
func (*FrameEnd) Code(*Coder) {}

// FrameCounter is the number of a frame for simulations with several GPUs. CARLA doesn't write it to files.
type FrameCounter struct{ Frame uint64 }

// ID implements Body.
func (*FrameCounter) ID(Profile) (uint8, bool) { return IDFrameCounter, true }

// Code implements Body.
func (f *FrameCounter) Code(c *Coder) { c.Uint64(&f.Frame) }

// PlatformTime is the real time since the recording began; only with additional data.
type PlatformTime struct{ Seconds float64 }

// ID implements Body.
func (*PlatformTime) ID(Profile) (uint8, bool) { return IDPlatformTime, true }

// Code implements Body.
func (t *PlatformTime) Code(c *Coder) { c.Float64(&t.Seconds) }

// VisualTime is the time of the engine for effects, in seconds; from 0.9.14 on.
type VisualTime struct{ Seconds float64 }

// ID implements Body.
func (*VisualTime) ID(Profile) (uint8, bool) { return IDVisualTime, true }

// Code implements Body.
func (t *VisualTime) Code(c *Coder) { c.Float64(&t.Seconds) }
