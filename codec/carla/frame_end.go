package carla

// FrameEnd ends a frame.
type FrameEnd struct{}

// ID implements Body.
func (*FrameEnd) ID(Profile) (uint8, bool) { return IDFrameEnd, true }

// Code implements Body.
func (*FrameEnd) Code(*Coder) {}
