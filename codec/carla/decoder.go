package carla

import "fmt"

// Decoder makes typed values of packets. The values are reused: a Body is valid until the next packet of that id is decoded.
type Decoder struct {
	Profile Profile
	Own     map[uint8]func() Body // packets of one's own: what makes an empty Body for an id

	bodies [256]Body
	coder  Coder
}

// Decode returns the content of k; nil for a packet whose id is not known. A packet that is laid out as in another profile,
// as snapshots of CARLA between its releases wrote them, is decoded too, and so is one with bytes behind its
// last field.
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
		return nil, fmt.Errorf("%w: a packet with the id %d and %d bytes: %w", ErrDamaged, k.ID, len(k.Data), err)
	}
	return b, nil
}

func (d *Decoder) decode(p Profile, k Packet) (Body, error) {
	b := d.body(p, k.ID)
	d.coder = Coder{Profile: p, data: k.Data}
	if b == nil {
		d.coder.data = nil
		return nil, nil
	}
	b.Code(&d.coder)
	return b, d.coder.err
}

// Decode is Decoder.Decode without own packets; the Body is a new one.
func Decode(p Profile, k Packet) (Body, error) {
	d := Decoder{Profile: p}
	return d.Decode(k)
}

func (d *Decoder) body(p Profile, id uint8) Body {
	if id == idPhysicsControl {
		return p.newBody(id) // of a type that depends on the layout
	}
	if d.bodies[id] == nil {
		if own := d.Own[id]; own != nil {
			d.bodies[id] = own()
		} else {
			d.bodies[id] = p.newBody(id)
		}
	}
	return d.bodies[id]
}

// newBody returns an empty Body for an id; nil for one that is not known.
func (p Profile) newBody(id uint8) Body {
	switch id {
	case idFrameStart:
		return new(FrameStart)
	case idFrameEnd:
		return new(FrameEnd)
	case idEventAdd:
		return new(EventAddList)
	case idEventDel:
		return new(EventDelList)
	case idEventParent:
		return new(EventParentList)
	case idCollision:
		return new(CollisionList)
	case idPosition:
		return new(PositionList)
	case idState:
		return new(StateList)
	case idAnimVehicle:
		return new(AnimVehicleList)
	case idAnimWalker:
		return new(AnimWalkerList)
	case idVehicleLight:
		return new(VehicleLightList)
	case idSceneLight:
		return new(SceneLightList)
	case idKinematics:
		return new(KinematicsList)
	case idBoundingBox:
		return new(BoundingBoxList)
	case idPlatformTime:
		return new(PlatformTime)
	case idPhysicsControl:
		if p.Wheel == chaosWheel {
			return new(ChaosPhysicsList)
		}
		return new(PhysicsControlList)
	case idTrafficLightTime:
		return new(TrafficLightTimeList)
	case idTriggerVolume:
		return new(TriggerVolumeList)
	case idFrameCounter:
		return new(FrameCounter)
	case idWalkerBones:
		return new(WalkerBonesList)
	case idVisualTime:
		return new(VisualTime)
	case idWeather:
		return new(WeatherList)
	case 0xff: // below are ids that a profile may not have
	case p.Doors:
		return new(VehicleDoorList)
	case p.Wheels:
		return new(AnimVehicleWheelsList)
	case p.Bikers:
		return new(AnimBikerList)
	}
	return nil
}
