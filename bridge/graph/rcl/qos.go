//go:build rcl

package rcl

// #include "native.h"
import "C"

import (
	"math"
	"time"

	"github.com/tiiuae/rclgo/pkg/rclgo"

	"tapedeck/codec"
)

// toRCL converts q for rclgo.
func toRCL(q codec.QoS) rclgo.QosProfile {
	out := rclgo.QosProfile{
		History: rclgo.HistoryKeepLast, Depth: min(max(q.Depth, 1), math.MaxInt32),
		Reliability: rclgo.ReliabilityReliable, Durability: rclgo.DurabilityVolatile,
		Deadline: limit(q.Deadline), Lifespan: limit(q.Lifespan),
		Liveliness: rclgo.LivelinessAutomatic, LivelinessLeaseDuration: limit(q.LivelinessLease),
	}
	if q.History == codec.KeepAll {
		out.History, out.Depth = rclgo.HistoryKeepAll, 0
	}
	if q.Reliability == codec.BestEffort {
		out.Reliability = rclgo.ReliabilityBestEffort
	}
	if q.Durability == codec.TransientLocal {
		out.Durability = rclgo.DurabilityTransientLocal
	}
	if q.Liveliness == codec.ManualByTopic {
		out.Liveliness = rclgo.LivelinessManualByTopic
	}
	return out
}

// callQoS is the QoS of services and clients. A newer request or response must not replace an older one. Endpoints
// match whatever their history is.
func callQoS() rclgo.QosProfile {
	q := codec.DefaultQoS()
	q.History = codec.KeepAll
	return toRCL(q)
}

// limit converts a duration for rmw. Zero or less means no limit.
func limit(d time.Duration) time.Duration {
	if d <= 0 || d == codec.Infinite {
		return rclgo.DurationUnspecified
	}
	return d
}

// fromRMW converts the QoS that an endpoint of the graph offers or requests.
func fromRMW(q *C.rmw_qos_profile_t) codec.QoS {
	out := codec.QoS{
		History: codec.UnknownHistory, Reliability: codec.Reliable, Durability: codec.Volatile,
		Deadline: duration(q.deadline), Lifespan: duration(q.lifespan),
		Liveliness: codec.Automatic, LivelinessLease: duration(q.liveliness_lease_duration),
	}
	switch q.history {
	case C.RMW_QOS_POLICY_HISTORY_KEEP_LAST:
		out.History, out.Depth = codec.KeepLast, int(q.depth)
	case C.RMW_QOS_POLICY_HISTORY_KEEP_ALL:
		out.History = codec.KeepAll
	}
	if q.reliability == C.RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT {
		out.Reliability = codec.BestEffort
	}
	if q.durability == C.RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL {
		out.Durability = codec.TransientLocal
	}
	if q.liveliness == C.RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC {
		out.Liveliness = codec.ManualByTopic
	}
	return out
}

// duration converts a duration of rmw. Infinite, unspecified and longer durations become codec.Infinite.
func duration(t C.rmw_time_t) time.Duration {
	const second = uint64(time.Second)
	sec, nsec := uint64(t.sec)+uint64(t.nsec)/second, uint64(t.nsec)%second
	if sec == 0 && nsec == 0 || sec >= uint64(codec.Infinite)/second {
		return codec.Infinite
	}
	return time.Duration(sec*second + nsec)
}
