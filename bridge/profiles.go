package bridge

import (
	"time"

	"tapedeck/codec"
)

// The profiles are those of rmw/qos_profiles.h and rcl's rosout; what they don't name is as in codec.DefaultQoS.

// SensorDataQoS is for streams of which only the newest samples matter: best effort, the last 5 kept.
func SensorDataQoS() codec.QoS {
	q := keepLast(5)
	q.Reliability = codec.BestEffort
	return q
}

// ParameterEventsQoS is that of /parameter_events.
func ParameterEventsQoS() codec.QoS { return keepLast(1000) }

// RosoutQoS is that of publishers of /rosout: lines of the last 10 s reach late subscribers.
func RosoutQoS() codec.QoS {
	q := keepLast(1000)
	q.Durability = codec.TransientLocal
	q.Lifespan = 10 * time.Second
	return q
}

// ClockQoS is that of subscribers of /clock.
func ClockQoS() codec.QoS {
	q := keepLast(1)
	q.Reliability = codec.BestEffort
	return q
}

// LatchedQoS is that of topics whose last message late subscribers receive too, as /tf_static and /map.
func LatchedQoS() codec.QoS {
	q := keepLast(1)
	q.Durability = codec.TransientLocal
	return q
}

func keepLast(depth int) codec.QoS {
	q := codec.DefaultQoS()
	q.Depth = depth
	return q
}
