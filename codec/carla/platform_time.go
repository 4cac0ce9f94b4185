package carla

// PlatformTime is the seconds that passed since the recording began; only with additional data.
type PlatformTime struct{ Seconds float64 }

// ID implements Body.
func (*PlatformTime) ID(Profile) (uint8, bool) { return IDPlatformTime, true }

// Code implements Body.
func (t *PlatformTime) Code(c *Coder) { c.Float64(&t.Seconds) }
