package bridge

import (
	"time"

	"tapedeck/codec"
)

// The functions of this file return the profiles of rmw/qos_profiles.h and of rcl's rosout. Policies that a profile
// does not name have the values of codec.DefaultQoS.

// SensorDataQoS is for topics of which only the newest samples matter: best effort, the last 5 kept.
func SensorDataQoS() codec.QoS {
	q := keepLast(5)
	q.Reliability = codec.BestEffort
	return q
}

// ParameterEventsQoS is the QoS of /parameter_events.
func ParameterEventsQoS() codec.QoS { return keepLast(1000) }

// RosoutQoS is the QoS of publishers of /rosout: lines of the last 10 s reach late subscribers.
func RosoutQoS() codec.QoS {
	q := keepLast(1000)
	q.Durability = codec.TransientLocal
	q.Lifespan = 10 * time.Second
	return q
}

// ClockQoS is the QoS of subscribers of /clock.
func ClockQoS() codec.QoS {
	q := keepLast(1)
	q.Reliability = codec.BestEffort
	return q
}

// LatchedQoS is the QoS of topics whose last message also reaches late subscribers, such as /tf_static and /map.
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
