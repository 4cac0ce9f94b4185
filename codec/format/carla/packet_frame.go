package carla

import "math"

// FrameStart begins a frame.
type FrameStart struct {
	Frame    uint64  // counted from 1
	Duration float64 // s until the next frame; -1 in the last frame and where a crash ended a frame
	Elapsed  float64 // s of simulation since the recording began
}

func (*FrameStart) id(Profile) (uint8, bool) { return IDFrameStart, true }

func (f *FrameStart) code(c *coder) {
	c.uint64(&f.Frame)
	c.float64(&f.Duration)
	c.float64(&f.Elapsed)
}

// follows reports whether a recorder may have written f after before in one log.
func (f *FrameStart) follows(before *FrameStart) bool {
	const gap = 1 << 24 // frames that may be missing in between
	return f.Frame > before.Frame && f.Frame-before.Frame < gap && f.Elapsed >= before.Elapsed && f.Elapsed < 1e9 &&
		f.Duration >= -1 && f.Duration < 1e6
}

// reaches reports whether f lasts until next, the frame after it. CARLA writes only such frames.
func (f *FrameStart) reaches(next *FrameStart) bool {
	const tolerance = 1e-6 // s
	return math.Abs(f.Elapsed+f.Duration-next.Elapsed) < tolerance
}

// FrameEnd ends a frame.
type FrameEnd struct{}

func (*FrameEnd) id(Profile) (uint8, bool) { return IDFrameEnd, true }
func (*FrameEnd) code(*coder)              {}

// FrameCounter is the number of a frame for simulations with several GPUs. CARLA doesn't write it to files.
type FrameCounter struct{ Frame uint64 }

func (*FrameCounter) id(Profile) (uint8, bool) { return IDFrameCounter, true }
func (f *FrameCounter) code(c *coder)          { c.uint64(&f.Frame) }

// PlatformTime is the real time since the recording began; only with additional data.
type PlatformTime struct{ Seconds float64 }

func (*PlatformTime) id(Profile) (uint8, bool) { return IDPlatformTime, true }
func (t *PlatformTime) code(c *coder)          { c.float64(&t.Seconds) }

// VisualTime is the time of the engine for effects, in seconds; from 0.9.14 on.
type VisualTime struct{ Seconds float64 }

func (*VisualTime) id(Profile) (uint8, bool) { return IDVisualTime, true }
func (t *VisualTime) code(c *coder)          { c.float64(&t.Seconds) }
