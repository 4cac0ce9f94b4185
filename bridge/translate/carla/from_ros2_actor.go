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
	carla.EventAdd // EventAdd.Actor, the id in the log, is 0 until the actor is written
	kind           kind
	name           string    // name in topics; "" if a CarlaActorList had the actor before a topic
	frames         []string  // names of the actor's frames
	id             uint32    // id in CarlaActorList; 0: unknown
	listed         bool      // a CarlaActorList had the actor
	listedAs       string    // blueprint in CarlaActorList
	alive          bool      // the actor exists in the simulation
	written        bool      // the log has the actor and has not removed it
	parent         *logActor // the actor to which this actor is attached
	attached       *logActor // the parent that the log has; nil: none

	odometry    odometry
	placeUpdate uint64 // logState.updates when place was computed
	hasPlace    bool   // place is known
	place       struct{ Location, Rotation carla.Vector }
	motion      carla.Kinematics
	hasMotion   bool                              // motion is known
	control     carla_msgs.CarlaEgoVehicleControl // last controls of a vehicle
	speed       float32                           // m/s, of a walker
	hasSpeed    bool                              // speed is known
	info        carla_msgs.CarlaTrafficLightInfo  // of a traffic light
	physics     *carla_msgs.CarlaEgoVehicleInfo   // nil: unknown, or already in the log
}

// odometry is the last Odometry of an actor.
type odometry struct {
	frame  string // frame of the pose
	pose   geometry_msgs.Pose
	twist  geometry_msgs.Twist
	update uint64 // logState.updates at the message
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

// setBlueprint sets the blueprint, the role and the other attributes of the actor.
func (a *logActor) setBlueprint(blueprint, role string, others []carla.Attribute) {
	a.BlueprintID, a.Type, a.Attributes = blueprint, typeOf(blueprint), nil
	a.kind = kindOf(&a.EventAdd)
	if role != "" {
		a.Attributes = []carla.Attribute{{Type: carla.AttributeString, ID: "role_name", Value: role}}
	}
	for _, attribute := range others {
		if attribute.ID != "role_name" {
			a.Attributes = append(a.Attributes, attribute)
		}
	}
}

// complete reports whether the actor can be written to a log: vehicles and walkers need a place.
func (a *logActor) complete() bool { return a.hasPlace || a.kind != vehicle && a.kind != walker }

// hero reports whether CARLA regards the actor as the hero.
func (a *logActor) hero() bool { return a.Attribute("role_name") == "hero" }

// walkingSpeed returns the speed of a walker, in m/s.
func (a *logActor) walkingSpeed() float32 {
	if a.hasSpeed {
		return a.speed
	}
	v := a.motion.LinearVelocity
	return float32(math.Hypot(v.X, v.Y))
}

// setPlace sets the place of the actor from a pose in the map.
func (a *logActor) setPlace(at geometry_msgs.Pose) {
	a.place.Location, a.place.Rotation, a.hasPlace = Location(at.Position), Rotation(at.Orientation), true
}

// triggerVolume returns the trigger volume of a traffic light in the world, or nil if it is unknown.
func (a *logActor) triggerVolume() *carla.TriggerVolume {
	v := a.info.TriggerVolume
	if v == (carla_msgs.CarlaBoundingBox{}) {
		return nil
	}
	center := compose(a.info.Transform, geometry_msgs.Pose{Position: geometry_msgs.Point(v.Center)})
	return &carla.TriggerVolume{
		Actor: a.Actor, Origin: Location(center.Position),
		Extension: carla.Vector{X: v.Size.X * metre / 2, Y: v.Size.Y * metre / 2, Z: v.Size.Z * metre / 2},
	}
}
