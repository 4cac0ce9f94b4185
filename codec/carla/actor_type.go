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

// Name returns what an actor is called: "other", "vehicle", "walker", "traffic light", "traffic sign", "sensor", and "invalid" for any other type.
func (t ActorType) Name() string {
	names := [...]string{"other", "vehicle", "walker", "traffic light", "traffic sign", "sensor", "invalid"}
	return names[min(t, ActorInvalid)]
}
