package carla

import (
	"math"
	"strings"

	"tapedeck/codec/format/carla"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
)

// logActor is an actor of a log that is written.
type logActor struct {
	carla.EventAdd // Actor is 0 before it is written
	kind           kind
	name           string   // in topics, if no list had the actor before
	frames         []string // that are its own
	id             uint32   // in lists; 0: unknown
	listed         bool     // a list had it
	listedAs       string   // its blueprint in lists
	alive          bool
	written        bool      // it is in the log, now
	parent         *logActor // what it is attached to
	attached       *logActor // the parent in the log

	odometry odometry
	settled  uint64 // logState.updates when place was found
	placed   bool   // place is known
	place    struct{ Location, Rotation carla.Vector }
	motion   carla.Kinematics
	moved    bool // motion is known
	control  carla_msgs.CarlaEgoVehicleControl
	speed    float32 // m/s, of a walker
	walks    bool    // speed is known
	info     carla_msgs.CarlaTrafficLightInfo
	physics  *carla_msgs.CarlaEgoVehicleInfo // nil: unknown, or already in the log
}

// odometry is the last Odometry of an actor.
type odometry struct {
	frame  string // that the pose is in
	pose   geometry_msgs.Pose
	twist  geometry_msgs.Twist
	update uint64 // logState.updates of the message
}

// typeOf returns the type of actors with a blueprint.
func typeOf(blueprint string) carla.ActorType {
	switch kind, _, _ := strings.Cut(blueprint, "."); {
	case kind == "vehicle":
		return carla.ActorVehicle
	case kind == "walker":
		return carla.ActorWalker
	case strings.HasPrefix(blueprint, "traffic.traffic_light"):
		return carla.ActorTrafficLight
	case kind == "traffic":
		return carla.ActorTrafficSign
	case kind == "sensor":
		return carla.ActorSensor
	}
	return carla.ActorOther
}

// is sets the blueprint and the role of the actor.
func (f *logActor) is(blueprint, role string, others []carla.Attribute) {
	f.BlueprintID, f.Type, f.Attributes = blueprint, typeOf(blueprint), nil
	f.kind = kindOf(&f.EventAdd)
	if role != "" {
		f.Attributes = []carla.Attribute{{Type: carla.AttributeString, ID: "role_name", Value: role}}
	}
	for _, a := range others {
		if a.ID != "role_name" {
			f.Attributes = append(f.Attributes, a)
		}
	}
}

// known reports whether the actor can be in a log: vehicles and walkers need a place.
func (f *logActor) known() bool { return f.placed || f.kind != vehicle && f.kind != walker }

func (f *logActor) hero() bool { return f.Attribute("role_name") == "hero" }

// walking returns the speed of a walker, in m/s.
func (f *logActor) walking() float32 {
	if f.walks {
		return f.speed
	}
	v := f.motion.LinearVelocity
	return float32(math.Hypot(v.X, v.Y))
}

// put sets the place of the actor.
func (f *logActor) put(at geometry_msgs.Pose) {
	f.place.Location, f.place.Rotation, f.placed = Location(at.Position), Rotation(at.Orientation), true
}

// triggerVolume returns the trigger volume of a traffic light, in the world; nil: unknown.
func (f *logActor) triggerVolume() *carla.TriggerVolume {
	v := f.info.TriggerVolume
	if v == (carla_msgs.CarlaBoundingBox{}) {
		return nil
	}
	center := compose(f.info.Transform, geometry_msgs.Pose{Position: geometry_msgs.Point(v.Center)})
	return &carla.TriggerVolume{
		Actor: f.Actor, Origin: Location(center.Position),
		Extension: carla.Vector{X: v.Size.X * metre / 2, Y: v.Size.Y * metre / 2, Z: v.Size.Z * metre / 2},
	}
}
