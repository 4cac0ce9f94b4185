package carla

// EventParentList is the actors that were attached in a frame.
type EventParentList []EventParent

// ID implements Body.
func (*EventParentList) ID(Profile) (uint8, bool) { return IDEventParent, true }

// Code implements Body.
func (l *EventParentList) Code(c *Coder) { codeList(c, (*[]EventParent)(l), 8) }

// EventParent says that an actor is attached to another.
type EventParent struct {
	Actor, Parent uint32
}

func (r *EventParent) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Uint32(&r.Parent)
}
