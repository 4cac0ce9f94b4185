package dds

// #include "entity.h"
import "C"

import (
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// toC converts q for Cyclone DDS.
func toC(q codec.QoS) C.struct_qos {
	return C.struct_qos{
		keep_all:        C.bool(q.History == codec.KeepAll),
		reliable:        C.bool(q.Reliability != codec.BestEffort),
		transient_local: C.bool(q.Durability == codec.TransientLocal),
		manual_by_topic: C.bool(q.Liveliness == codec.ManualByTopic),
		depth:           C.int32_t(min(max(q.Depth, 1), 1<<31-1)),
		deadline:        limit(q.Deadline),
		lifespan:        limit(q.Lifespan),
		lease:           limit(q.LivelinessLease),
	}
}

// callQoS is the QoS of writers of requests, and of readers of requests and replies. A newer sample must not replace an
// older one. Endpoints match whatever their history is.
func callQoS() C.struct_qos {
	q := codec.DefaultQoS()
	q.History = codec.KeepAll
	return toC(q)
}

// replyQoS is the QoS of a service's writer. Each client receives the replies to all clients, so the writer must not
// keep all replies for a client that does not acknowledge. A client on Fast DDS can even be unable to acknowledge: if a
// reply is missing and the client's history is full of newer replies, the client accepts nothing more until the writer
// declares the missing reply irrelevant.
func replyQoS() C.struct_qos { return toC(codec.DefaultQoS()) }

// discoveryQoS is the QoS of readers of ros_discovery_info.
func discoveryQoS() C.struct_qos {
	q := bridge.LatchedQoS()
	q.History = codec.KeepAll
	return toC(q)
}

// limit converts a duration for Cyclone DDS. Zero or less means unset, as in rmw, and becomes infinite.
func limit(d time.Duration) C.int64_t {
	if d <= 0 {
		d = codec.Infinite
	}
	return C.int64_t(d)
}

// fromC converts the QoS that an endpoint of the graph offers or requests.
func fromC(q C.struct_qos, fastDDS bool) codec.QoS {
	out := codec.QoS{
		History: codec.KeepLast, Depth: int(q.depth), Reliability: codec.BestEffort, Durability: codec.Volatile,
		Deadline: time.Duration(q.deadline), Lifespan: time.Duration(q.lifespan),
		Liveliness: codec.Automatic, LivelinessLease: time.Duration(q.lease),
	}
	switch {
	case fastDDS && !bool(q.keep_all) && q.depth == 1: // also the values of an endpoint that announces no history
		out.History, out.Depth = codec.UnknownHistory, 0
	case bool(q.keep_all):
		out.History, out.Depth = codec.KeepAll, 0
	}
	if q.reliable {
		out.Reliability = codec.Reliable
	}
	if q.transient_local {
		out.Durability = codec.TransientLocal
	}
	if q.manual_by_topic {
		out.Liveliness = codec.ManualByTopic
	}
	return out
}
