package carla

// EventAddList lists the actors that appeared in a frame. The first frame has all existing actors.
type EventAddList = List[EventAdd, *EventAdd]

// EventAdd is an actor that appeared.
type EventAdd struct {
	Actor       uint32
	Type        ActorType
	Location    Vector // cm, in the world
	Rotation    Vector // degrees
	Blueprint   uint32 // number of the blueprint, different in each build of CARLA
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

func (*EventAdd) packet(p Profile) (uint8, int) { return IDEventAdd, 13 + 2*p.vectorSize() }

func (r *EventAdd) code(c *coder) {
	c.uint32(&r.Actor)
	c.uint8((*uint8)(&r.Type))
	c.vector(&r.Location)
	c.vector(&r.Rotation)
	c.uint32(&r.Blueprint)
	c.string(&r.BlueprintID)
	codeList(c, &r.Attributes, 5)
}

// ActorType is the type of an actor.
type ActorType uint8

// The types of actors.
const (
	ActorOther ActorType = iota
	ActorVehicle
	ActorWalker
	ActorTrafficLight
	ActorTrafficSign
	ActorSensor // ActorOther up to 0.9.10
	ActorInvalid
)

// Name returns "other", "vehicle", "walker", "traffic light", "traffic sign", "sensor" or, for an unknown type,
// "invalid".
func (t ActorType) Name() string {
	names := [...]string{"other", "vehicle", "walker", "traffic light", "traffic sign", "sensor", "invalid"}
	return names[min(t, ActorInvalid)]
}

// Attribute is a property that an actor was created with.
type Attribute struct {
	Type  AttributeType
	ID    string // "role_name"
	Value string // as text, for all types
}

// AttributeType is the type of an attribute's value, as numbered in version 2 of the header. Numbers in files of
// version 1 are less by one and are converted.
type AttributeType uint8

// The types of attributes.
const (
	AttributeBool AttributeType = 1 + iota
	AttributeInt
	AttributeFloat
	AttributeString
	AttributeColor
	AttributeVector // UE5 only
)

func (r *Attribute) code(c *coder) {
	var shift uint8
	if c.profile.Version <= 1 {
		shift = 1
	}
	t := uint8(r.Type) - shift
	c.uint8(&t)
	r.Type = AttributeType(t + shift)
	c.string(&r.ID)
	c.string(&r.Value)
}

// EventDelList lists the actors that disappeared in a frame.
type EventDelList = List[EventDel, *EventDel]

// EventDel is the id of an actor that disappeared.
type EventDel uint32

func (*EventDel) packet(Profile) (uint8, int) { return IDEventDel, 4 }

func (r *EventDel) code(c *coder) { c.uint32((*uint32)(r)) }

// EventParentList lists the actors that were attached in a frame.
type EventParentList = List[EventParent, *EventParent]

// EventParent is an actor that was attached to another.
type EventParent struct {
	Actor, Parent uint32
}

func (*EventParent) packet(Profile) (uint8, int) { return IDEventParent, 8 }

func (r *EventParent) code(c *coder) {
	c.uint32(&r.Actor)
	c.uint32(&r.Parent)
}

// BoundingBoxList lists the boxes around the actors that appeared in a frame; only with additional data.
type BoundingBoxList = List[BoundingBox, *BoundingBox]

// BoundingBox is the box around an actor. Some logs have boxes with NaN and infinity.
type BoundingBox struct {
	Actor     uint32
	Origin    Vector // cm, from the actor
	Extension Vector // half of the size of the box, cm
}

func (*BoundingBox) packet(p Profile) (uint8, int) { return IDBoundingBox, 4 + 2*p.vectorSize() }

func (r *BoundingBox) code(c *coder) {
	c.uint32(&r.Actor)
	c.vector(&r.Origin)
	c.vector(&r.Extension)
}

// TriggerVolumeList lists the trigger volumes of the traffic lights and signs that appeared in a frame; only with
// additional data.
type TriggerVolumeList = List[TriggerVolume, *TriggerVolume]

// TriggerVolume is the volume, in world coordinates, in which vehicles obey a traffic light or a sign.
type TriggerVolume BoundingBox

func (*TriggerVolume) packet(p Profile) (uint8, int) { return IDTriggerVolume, 4 + 2*p.vectorSize() }

func (r *TriggerVolume) code(c *coder) { (*BoundingBox)(r).code(c) }

// CollisionList lists the collisions of a frame, in no particular order.
type CollisionList = List[Collision, *Collision]

// NoActor is the id in a Collision with an object that is no actor.
const NoActor = 0xffffffff

// Collision is a collision of two actors. A frame has at most one for each pair.
type Collision struct {
	Number         uint32 // number of the collision in the recording
	Actor1, Actor2 uint32 // ids, or NoActor
	Hero1, Hero2   bool   // the role name of the actor is "hero"
}

func (*Collision) packet(Profile) (uint8, int) { return IDCollision, 14 }

func (r *Collision) code(c *coder) {
	c.uint32(&r.Number)
	c.uint32(&r.Actor1)
	c.uint32(&r.Actor2)
	c.bool(&r.Hero1)
	c.bool(&r.Hero2)
}
