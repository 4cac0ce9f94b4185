// Package dds implements bridge.Node on Eclipse Cyclone DDS. It talks to any ROS 2 stack and needs no ROS 2 itself,
// only Cyclone DDS 0.10, which Debian and Ubuntu ship as cyclonedds-dev. interpose.c replaces functions of that library
// that newer peers would crash.
//
// Payloads are raw CDR. A received payload stays in the middleware's memory, without a copy, until the handler returns
// or until it is released, if it was retained; see bridge.Sample. A published payload is copied once, or lent without a
// copy; see bridge.Publisher.
//
// ROS 2's middlewares have no common protocol for services. This package speaks the protocols of rmw_cyclonedds and of
// rmw_fastrtps, and uses each peer's own protocol:
//   - A call goes to a server that uses Cyclone DDS if there is one, else to one that uses Fast DDS.
//   - Every client receives the replies to all clients, as everywhere in ROS 2. It keeps the last 10, unless it is
//     created with a longer history. If it is delayed while others call without pause, it may lose its own reply.
//   - A client drops replies in the other protocol. If their type has a fixed size, Fast DDS prints an error for each.
//   - The first call of a Fast DDS client may take some seconds if it is made during discovery.
//   - A reply of more than 64 kB does not reach a Fast DDS client if the network loses the first of its datagrams.
//
// These environment variables work as in rmw_cyclonedds_cpp: ROS_DOMAIN_ID, ROS_LOCALHOST_ONLY,
// ROS_AUTOMATIC_DISCOVERY_RANGE, ROS_STATIC_PEERS and CYCLONEDDS_URI. ROS_DISTRO decides how nodes announce themselves:
// docs/reference/distributions.md compares the releases of ROS 2 and explains how this package handles each.
// ROS_SECURITY_ENABLE and the like work as well: docs/reference/security.md.
package dds

// #cgo CFLAGS: -std=gnu11 -O2 -Wall -DDDS_NDEBUG
// #cgo LDFLAGS: -lddsc -ldl
// #include "entity.h"
// #include "dds/version.h"
import "C"

import "fmt"

// Middleware returns the name and version of the middleware: "dds (Cyclone DDS 0.10.2)".
func Middleware() string { return "dds (Cyclone DDS " + C.DDS_VERSION + ")" }

// check returns an error for a negative code of Cyclone DDS.
func check(code C.int32_t) error {
	if code >= 0 {
		return nil
	}
	return fmt.Errorf("DDS: %s (%d)", C.GoString(C.dds_strretcode(code)), int(code))
}
