package carla

// StateList is the states of the traffic lights in a frame.
type StateList []TrafficLight

// ID implements Body.
func (*StateList) ID(Profile) (uint8, bool) { return IDState, true }

// Code implements Body.
func (l *StateList) Code(c *Coder) { codeList(c, (*[]TrafficLight)(l), 10) }

// TrafficLight is the state of a traffic light.
type TrafficLight struct {
	Actor   uint32
	Frozen  bool
	Elapsed float32 // s since it changed
	Colour  Colour
}

func (r *TrafficLight) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Bool(&r.Frozen)
	c.Float32(&r.Elapsed)
	c.Uint8((*uint8)(&r.Colour))
}

// Colour is what a traffic light shows.
type Colour uint8

// What a traffic light shows.
const (
	Red Colour = iota
	Yellow
	Green
	Off
)
