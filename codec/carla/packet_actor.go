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

// ActorType is what kind of actor one is.
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

// Name returns what an actor is called: "other", "vehicle", "walker", "traffic light", "traffic sign", "sensor", and
// "invalid" for any other type.
func (t ActorType) Name() string {
	names := [...]string{"other", "vehicle", "walker", "traffic light", "traffic sign", "sensor", "invalid"}
	return names[min(t, ActorInvalid)]
}

// Attribute is one of the properties with which an actor was made.
type Attribute struct {
	Type  AttributeType
	ID    string // "role_name"
	Value string // as text, whatever the type
}

// AttributeType says how the value of an attribute is meant. The numbers are those of version 2 of the header; what is
// in files of version 1 is less by one, and is converted.
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

func (r *Attribute) code(c *Coder) {
	var shift uint8
	if c.Profile.Version <= 1 {
		shift = 1
	}
	t := uint8(r.Type) - shift
	c.Uint8(&t)
	r.Type = AttributeType(t + shift)
	c.String(&r.ID)
	c.String(&r.Value)
}

// EventDelList is the actors that disappeared in a frame.
type EventDelList []EventDel

// ID implements Body.
func (*EventDelList) ID(Profile) (uint8, bool) { return IDEventDel, true }

// Code implements Body.
func (l *EventDelList) Code(c *Coder) { codeList(c, (*[]EventDel)(l), 4) }

// EventDel is the id of an actor that disappeared.
type EventDel uint32

func (r *EventDel) code(c *Coder) { c.Uint32((*uint32)(r)) }

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

// TriggerVolumeList is the volumes that trigger the lights and signs which appeared in a frame; only with additional
// data.
type TriggerVolumeList []BoundingBox

// ID implements Body.
func (*TriggerVolumeList) ID(Profile) (uint8, bool) { return IDTriggerVolume, true }

// Code implements Body.
func (l *TriggerVolumeList) Code(c *Coder) { codeList(c, (*[]BoundingBox)(l), 4+2*c.vectorSize()) }

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
