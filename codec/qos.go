package codec

import (
	"slices"
	"time"
)

// Reliability of a publisher or subscriber.
type Reliability string

// Durability of a publisher or subscriber.
type Durability string

// History of a publisher or subscriber.
type History string

// Liveliness of a publisher or subscriber.
type Liveliness string

// The policies, with the names of rosbag2's metadata and override files.
const (
	Reliable   Reliability = "reliable"
	BestEffort Reliability = "best_effort"

	Volatile       Durability = "volatile"
	TransientLocal Durability = "transient_local"

	KeepLast       History = "keep_last"
	KeepAll        History = "keep_all"
	UnknownHistory History = "unknown" // Fast DDS does not announce it

	Automatic     Liveliness = "automatic"
	ManualByTopic Liveliness = "manual_by_topic"
)

// Infinite is the duration of a deadline, lifespan or lease without limit.
const Infinite = time.Duration(1<<63 - 1)

// QoS is the quality of service that a publisher offers or a subscriber asks for. Its zero value is not valid; start
// from DefaultQoS.
type QoS struct {
	History         History
	Depth           int // of KeepLast
	Reliability     Reliability
	Durability      Durability
	Deadline        time.Duration // Infinite: none
	Lifespan        time.Duration // Infinite: none
	Liveliness      Liveliness
	LivelinessLease time.Duration // Infinite: none
}

// DefaultQoS is ROS 2's default profile: reliable, volatile, the last 10 kept.
func DefaultQoS() QoS {
	return QoS{
		History: KeepLast, Depth: 10, Reliability: Reliable, Durability: Volatile,
		Deadline: Infinite, Lifespan: Infinite, Liveliness: Automatic, LivelinessLease: Infinite,
	}
}

// JoinQoS appends the profiles of more that are not in known.
func JoinQoS(known, more []QoS) []QoS {
	for _, q := range more {
		if !slices.Contains(known, q) {
			known = append(known, q)
		}
	}
	return known
}
