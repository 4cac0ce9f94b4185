//go:build rcl

package rcl

// #include "native.h"
import "C"

import (
	"tapedeck/bridge"
	"tapedeck/codec"
)

// event is an rcl event of a publisher or subscription. It is empty if the middleware does not support it.
type event struct{ c *C.rcl_event_t }

// close closes the event. It must be called before the publisher or subscription is closed.
func (e *event) close() error {
	if e.c == nil {
		return nil
	}
	return check(C.end_event(e.c))
}

// incompatible reports whether peers with an incompatible QoS were found since the last call. policy is the policy in
// which the last peer differs.
func (e *event) incompatible() (policy string, found bool) {
	if e.c == nil {
		return "", false
	}
	var name *C.char
	found = bool(C.take_incompatible(e.c, &name))
	return C.GoString(name), found
}

// lost returns the number of messages lost so far.
func (e *event) lost() uint64 {
	if e.c == nil {
		return 0
	}
	return uint64(C.take_lost(e.c))
}

// warnOfIncompatible logs why a publisher or subscription does not match a peer, if its event e reports a peer.
func (n *node) warnOfIncompatible(e *event, topic string, qos codec.QoS, publisher bool) {
	policy, found := e.incompatible()
	if !found {
		return
	}
	peers, err := n.endpoints(topic, !publisher)
	if err != nil {
		n.Log(bridge.Error, "read the graph: %v", err)
	}
	for _, peer := range peers {
		offer, request, side := peer.QoS, qos, "does not reach this subscription"
		if publisher {
			offer, request, side = qos, peer.QoS, "does not receive from this publisher"
		}
		if ok, reason := bridge.Compatible(offer, request); !ok {
			n.Log(bridge.Warn, "%s: %s %s: %s", topic, peer.Node, side, reason)
			return
		}
	}
	n.Log(bridge.Warn, "%s: a peer has a quality of service that does not match: %s", topic, policy)
}
