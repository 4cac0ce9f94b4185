package carla

// FrameCounter is the number of a frame for simulations with several GPUs. CARLA doesn't write it to files.
type FrameCounter struct{ Frame uint64 }

// ID implements Body.
func (*FrameCounter) ID(Profile) (uint8, bool) { return IDFrameCounter, true }

// Code implements Body.
func (f *FrameCounter) Code(c *Coder) { c.Uint64(&f.Frame) }
