package carla

import "fmt"

// Decoder makes typed values of packets. The values are reused: a Body is valid until the next packet of that id is
// decoded.
type Decoder struct {
	Profile Profile
	Own     map[uint8]func() Body // packets of one's own: what makes an empty Body for an id

	bodies [256]Body
	coder  Coder
}

// Decode returns the content of k; nil for a packet whose id is not known. A packet that is laid out as in another
// profile, as snapshots of CARLA between its releases wrote them, is decoded too, and so is one with bytes behind its
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
	if id == IDPhysicsControl {
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
	case IDFrameStart:
		return new(FrameStart)
	case IDFrameEnd:
		return new(FrameEnd)
	case IDEventAdd:
		return new(EventAddList)
	case IDEventDel:
		return new(EventDelList)
	case IDEventParent:
		return new(EventParentList)
	case IDCollision:
		return new(CollisionList)
	case IDPosition:
		return new(PositionList)
	case IDState:
		return new(StateList)
	case IDAnimVehicle:
		return new(AnimVehicleList)
	case IDAnimWalker:
		return new(AnimWalkerList)
	case IDVehicleLight:
		return new(VehicleLightList)
	case IDSceneLight:
		return new(SceneLightList)
	case IDKinematics:
		return new(KinematicsList)
	case IDBoundingBox:
		return new(BoundingBoxList)
	case IDPlatformTime:
		return new(PlatformTime)
	case IDPhysicsControl:
		if p.Wheel == chaosWheel {
			return new(ChaosPhysicsList)
		}
		return new(PhysicsControlList)
	case IDTrafficLightTime:
		return new(TrafficLightTimeList)
	case IDTriggerVolume:
		return new(TriggerVolumeList)
	case IDFrameCounter:
		return new(FrameCounter)
	case IDWalkerBones:
		return new(WalkerBonesList)
	case IDVisualTime:
		return new(VisualTime)
	case IDWeather:
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
