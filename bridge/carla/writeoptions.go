package carla

import (
	"time"

	"tapedeck/codec/carla"
)

// WriteOptions say of a log what ROS 2 messages don't.
type WriteOptions struct {
	Profile carla.Profile // how it is laid out; the zero value is carla.UE4
	Map     string        // name of the map, until a CarlaWorldInfo says it
	Step    time.Duration // from frame to frame where there is no /clock; 0 is 50 ms
	Actors  []Subject     // that topics and frames are about which don't say it themselves
}

// Subject is an actor and what is about it: topics and frames whose names are not those that CARLA's bridge has.
type Subject struct {
	Name       string            // its role_name
	Topics     []string          // "/odom"
	Frames     []string          // "base_link"
	Blueprint  string            // "" is that of a CarlaActorList, or a vehicle.tesla.model3, or a walker.pedestrian.0001
	Attributes []carla.Attribute // beside its role_name
}

// The blueprints of actors about which no more is known.
const (
	anyVehicle = "vehicle.tesla.model3"
	anyWalker  = "walker.pedestrian.0001"
)
