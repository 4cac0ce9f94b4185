// Package dds is the ROS graph by Eclipse Cyclone DDS: it speaks to any ROS 2 stack without ROS 2 being installed. It
// needs Cyclone DDS 0.10, which Debian and Ubuntu ship as cyclonedds-dev.
//
// Payloads pass as raw CDR. A received one stays in the middleware's memory, where it was put together from its
// datagrams, until the handler returns or whoever retained it releases it; see bridge.Sample. A published one is copied
// once.
//
// Services speak the protocols of both rmw_cyclonedds and rmw_fastrtps, to each peer its own; ROS 2's own middlewares
// have none in common. What to know of it:
//   - A call goes to a server that uses Cyclone DDS if there is one, else to one that uses Fast DDS.
//   - Every client gets the replies to all, as everywhere in ROS 2, and keeps the last 10, unless it is created with a
//     longer history: while others call without pause, one that is held up for that long loses its own. Replies by the
//     other protocol it drops; where their type has a fixed size, Fast DDS writes an error about each to the console.
//   - The first call of a Fast DDS client may take some seconds if it is made in the moment of discovery.
//   - A reply of more than 64 kB does not reach a Fast DDS client if the network loses the first of its datagrams.
//
// The environment is heeded as ROS 2's rmw_cyclonedds_cpp does: ROS_DOMAIN_ID, ROS_LOCALHOST_ONLY,
// ROS_AUTOMATIC_DISCOVERY_RANGE, ROS_STATIC_PEERS, CYCLONEDDS_URI; and ROS_DISTRO, which decides how nodes announce
// themselves. docs/reference/distributions.md compares the distributions of ROS 2 and explains how this package handles
// each.
package dds

// #cgo CFLAGS: -std=gnu11 -O2 -Wall -DDDS_NDEBUG
// #cgo LDFLAGS: -lddsc
// #include "entity.h"
// #include "dds/version.h"
import "C"

import "fmt"

// Middleware returns what a node of this package is on the graph by: "dds (Cyclone DDS 0.10.2)".
func Middleware() string { return "dds (Cyclone DDS " + C.DDS_VERSION + ")" }

// check returns an error for a negative code of Cyclone DDS.
func check(code C.int32_t) error {
	if code >= 0 {
		return nil
	}
	return fmt.Errorf("DDS: %s (%d)", C.GoString(C.dds_strretcode(code)), int(code))
}
