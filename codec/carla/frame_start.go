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

// follows says whether f can be what a recorder wrote after before, in the same log.
func (f *FrameStart) follows(before *FrameStart) bool {
	const gap = 1 << 24 // frames that may be missing in between
	return f.Frame > before.Frame && f.Frame-before.Frame < gap && f.Elapsed >= before.Elapsed && f.Elapsed < 1e9 &&
		f.Duration >= -1 && f.Duration < 1e6
}

// reaches says whether f lasts until next, the frame behind it. In what CARLA writes it does so exactly.
func (f *FrameStart) reaches(next *FrameStart) bool {
	const tolerance = 1e-6 // s
	return math.Abs(f.Elapsed+f.Duration-next.Elapsed) < tolerance
}
