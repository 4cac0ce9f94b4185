package carla

// VisualTime is the time of the engine for effects, in seconds; from 0.9.14 on.
type VisualTime struct{ Seconds float64 }

// ID implements Body.
func (*VisualTime) ID(Profile) (uint8, bool) { return IDVisualTime, true }

// Code implements Body.
func (t *VisualTime) Code(c *Coder) { c.Float64(&t.Seconds) }
