package carla

import (
	"fmt"

	"tapedeck/codec/text/plural"
)

// Decoder decodes packets. It reuses values: a Body is valid until the next packet of its id is decoded.
type Decoder struct {
	Profile Profile

	bodies [256]Body
	coder  coder
}

// Decode returns the content of k, or nil if the id of k is unknown. It also decodes packets in the layout of another
// profile, which builds of CARLA between releases wrote, and packets with bytes after the last field.
func (d *Decoder) Decode(k Packet) (Body, error) {
	b, err := d.decode(d.Profile, k)
	if err == nil && len(d.coder.data) == 0 {
		return b, nil
	}
	for _, p := range d.Profile.otherLayouts(k.ID) {
		if b, err := d.decode(p, k); err == nil && len(d.coder.data) == 0 {
			return b, nil
		}
	}
	if err == nil {
		b, err = d.decode(d.Profile, k)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: packet %d of %s: %w", ErrDamaged, k.ID, plural.Count(len(k.Data), "byte"), err)
	}
	return b, nil
}

// decode decodes k in the layout of p. d.coder has the bytes after the last field.
func (d *Decoder) decode(p Profile, k Packet) (Body, error) {
	b := d.body(p, k.ID)
	d.coder = coder{profile: p, data: k.Data}
	if b == nil {
		d.coder.data = nil
		return nil, nil
	}
	b.code(&d.coder)
	return b, d.coder.err
}

// Decode returns the content of k in a new Body, like Decoder.Decode.
func Decode(p Profile, k Packet) (Body, error) {
	d := Decoder{Profile: p}
	return d.Decode(k)
}

// body returns the Body to decode a packet into, or nil if the id is unknown.
func (d *Decoder) body(p Profile, id uint8) Body {
	if id == IDPhysicsControl {
		return p.newBody(id) // its type depends on the layout
	}
	if d.bodies[id] == nil {
		d.bodies[id] = p.newBody(id)
	}
	return d.bodies[id]
}

// packetKind is a kind of packets.
type packetKind struct {
	name    string      // in CARLA's sources
	newBody func() Body // returns an empty Body
}

// kindOf returns the kind of packets with the Body *T.
func kindOf[T any, P interface {
	*T
	Body
}](name string) packetKind {
	return packetKind{name, func() Body { return P(new(T)) }}
}

// packetKinds has the packets whose ids do not depend on the profile.
var packetKinds = map[uint8]packetKind{
	IDFrameStart:       kindOf[FrameStart]("FrameStart"),
	IDFrameEnd:         kindOf[FrameEnd]("FrameEnd"),
	IDEventAdd:         kindOf[EventAddList]("EventAdd"),
	IDEventDel:         kindOf[EventDelList]("EventDel"),
	IDEventParent:      kindOf[EventParentList]("EventParent"),
	IDCollision:        kindOf[CollisionList]("Collision"),
	IDPosition:         kindOf[PositionList]("Position"),
	IDState:            kindOf[StateList]("State"),
	IDAnimVehicle:      kindOf[AnimVehicleList]("AnimVehicle"),
	IDAnimWalker:       kindOf[AnimWalkerList]("AnimWalker"),
	IDVehicleLight:     kindOf[VehicleLightList]("VehicleLight"),
	IDSceneLight:       kindOf[SceneLightList]("SceneLight"),
	IDKinematics:       kindOf[KinematicsList]("Kinematics"),
	IDBoundingBox:      kindOf[BoundingBoxList]("BoundingBox"),
	IDPlatformTime:     kindOf[PlatformTime]("PlatformTime"),
	IDPhysicsControl:   kindOf[PhysicsControlList]("PhysicsControl"),
	IDTrafficLightTime: kindOf[TrafficLightTimeList]("TrafficLightTime"),
	IDTriggerVolume:    kindOf[TriggerVolumeList]("TriggerVolume"),
	IDFrameCounter:     kindOf[FrameCounter]("FrameCounter"),
	IDWalkerBones:      kindOf[WalkerBonesList]("WalkerBones"),
	IDVisualTime:       kindOf[VisualTime]("VisualTime"),
	IDWeather:          kindOf[WeatherList]("Weather"),
}

// kind returns the kind of packets with an id, the zero packetKind if the id is unknown.
func (p Profile) kind(id uint8) packetKind {
	switch {
	case id == IDPhysicsControl && p.WheelSize == chaosWheelSize:
		return kindOf[ChaosPhysicsList]("ChaosPhysics")
	case id == 0 || id == 0xff: // never an id that depends on the profile
	case id == p.DoorsID:
		return kindOf[VehicleDoorList]("VehicleDoor")
	case id == p.WheelsID:
		return kindOf[AnimVehicleWheelsList]("AnimVehicleWheels")
	case id == p.BikersID:
		return kindOf[AnimBikerList]("AnimBiker")
	}
	return packetKinds[id]
}

// newBody returns an empty Body for an id, nil if the id is unknown.
func (p Profile) newBody(id uint8) Body {
	if k := p.kind(id); k.newBody != nil {
		return k.newBody()
	}
	return nil
}
