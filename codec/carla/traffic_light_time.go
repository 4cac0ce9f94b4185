package carla

// TrafficLightTimeList is the times of the traffic lights that appeared in a frame; only with additional data.
type TrafficLightTimeList []TrafficLightTime

// ID implements Body.
func (*TrafficLightTimeList) ID(Profile) (uint8, bool) { return IDTrafficLightTime, true }

// Code implements Body.
func (l *TrafficLightTimeList) Code(c *Coder) { codeList(c, (*[]TrafficLightTime)(l), 16) }

// TrafficLightTime is how long a traffic light shows each colour.
type TrafficLightTime struct {
	Actor              uint32
	Green, Yellow, Red float32 // s
}

func (r *TrafficLightTime) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Float32(&r.Green, &r.Yellow, &r.Red)
}
