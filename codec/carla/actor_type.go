package carla

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
