package carla

// PositionList is where the vehicles, walkers and other actors but lights, signs and sensors are in a frame.
type PositionList []Position

// ID implements Body.
func (*PositionList) ID(Profile) (uint8, bool) { return IDPosition, true }

// Code implements Body.
func (l *PositionList) Code(c *Coder) { codeList(c, (*[]Position)(l), 4+2*c.vectorSize()) }

// Position is where an actor is.
type Position struct {
	Actor    uint32
	Location Vector // cm, in the world
	Rotation Vector // degrees
}

func (r *Position) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Vector(&r.Location)
	c.Vector(&r.Rotation)
}
