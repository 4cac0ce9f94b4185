package carla

// BoundingBoxList is the boxes of the actors that appeared in a frame; only with additional data.
type BoundingBoxList []BoundingBox

// ID implements Body.
func (*BoundingBoxList) ID(Profile) (uint8, bool) { return IDBoundingBox, true }

// Code implements Body.
func (l *BoundingBoxList) Code(c *Coder) { codeList(c, (*[]BoundingBox)(l), 4+2*c.vectorSize()) }

// BoundingBox is the box around an actor, or a volume that triggers it. There are boxes with NaN and infinity.
type BoundingBox struct {
	Actor     uint32
	Origin    Vector // cm; of a bounding box from the actor, of a trigger volume in the world
	Extension Vector // half of its size, cm
}

func (r *BoundingBox) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Vector(&r.Origin)
	c.Vector(&r.Extension)
}
