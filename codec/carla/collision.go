package carla

// CollisionList is the collisions of a frame, in no order.
type CollisionList []Collision

// ID implements Body.
func (*CollisionList) ID(Profile) (uint8, bool) { return IDCollision, true }

// Code implements Body.
func (l *CollisionList) Code(c *Coder) { codeList(c, (*[]Collision)(l), 14) }

// NoActor is in a Collision with something that is no actor.
const NoActor = 0xffffffff

// Collision is a collision of two actors, one at most of a pair in a frame.
type Collision struct {
	Number         uint32 // of the collision, counted in the recording
	Actor1, Actor2 uint32 // NoActor for what is no actor of CARLA's
	Hero1, Hero2   bool   // the role name of the actor is "hero"
}

func (r *Collision) code(c *Coder) {
	c.Uint32(&r.Number)
	c.Uint32(&r.Actor1)
	c.Uint32(&r.Actor2)
	c.Bool(&r.Hero1)
	c.Bool(&r.Hero2)
}
