package carla

// EventAddList is the actors that appeared in a frame; in the first one all that there were.
type EventAddList []EventAdd

// ID implements Body.
func (*EventAddList) ID(Profile) (uint8, bool) { return IDEventAdd, true }

// Code implements Body.
func (l *EventAddList) Code(c *Coder) { codeList(c, (*[]EventAdd)(l), 13+2*c.vectorSize()) }

// EventAdd is an actor when it appeared.
type EventAdd struct {
	Actor       uint32
	Type        ActorType
	Location    Vector // cm, in the world
	Rotation    Vector // degrees
	Blueprint   uint32 // number of the blueprint, another one in each build of CARLA
	BlueprintID string // "vehicle.tesla.model3"
	Attributes  []Attribute
}

// Attribute returns the value of an attribute, "" if there is none.
func (r *EventAdd) Attribute(id string) string {
	for i := range r.Attributes {
		if r.Attributes[i].ID == id {
			return r.Attributes[i].Value
		}
	}
	return ""
}

func (r *EventAdd) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Uint8((*uint8)(&r.Type))
	c.Vector(&r.Location)
	c.Vector(&r.Rotation)
	c.Uint32(&r.Blueprint)
	c.String(&r.BlueprintID)
	codeList(c, &r.Attributes, 5)
}
