package carla

// AnimWalkerList is how fast the walkers walk in a frame.
type AnimWalkerList []AnimWalker

// ID implements Body.
func (*AnimWalkerList) ID(Profile) (uint8, bool) { return IDAnimWalker, true }

// Code implements Body.
func (l *AnimWalkerList) Code(c *Coder) { codeList(c, (*[]AnimWalker)(l), 8) }

// AnimWalker is how fast a walker walks.
type AnimWalker struct {
	Actor uint32
	Speed float32 // cm/s
}

func (r *AnimWalker) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Float32(&r.Speed)
}
