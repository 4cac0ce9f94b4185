package bridge

import (
	"fmt"
	"time"

	"tapedeck/codec"
)

// AdaptQoS returns the QoS that a subscriber must request to match all publishers with these offers, as rosbag2's
// adapt_request_to_offers chooses it: reliable if all offers are reliable, transient local if all offers are transient
// local. mixed reports whether offers differ in either policy, so that samples may be lost or latched messages missed.
// Without offers the request is reliable and volatile. History is KeepAll: the subscriber is drained at once.
func AdaptQoS(offers []codec.QoS) (request codec.QoS, mixed bool) {
	request = codec.DefaultQoS()
	request.History, request.Depth = codec.KeepAll, 0
	if len(offers) == 0 {
		return request, false
	}
	reliable, transient := 0, 0
	for _, o := range offers {
		if o.Reliability == codec.Reliable {
			reliable++
		}
		if o.Durability == codec.TransientLocal {
			transient++
		}
	}
	if reliable < len(offers) {
		request.Reliability = codec.BestEffort
	}
	if transient == len(offers) {
		request.Durability = codec.TransientLocal
	}
	mixed = reliable > 0 && reliable < len(offers) || transient > 0 && transient < len(offers)
	return request, mixed
}

// OfferQoS returns the QoS that a player offers for a topic whose publishers offered recorded, as rosbag2's
// adapt_offer_to_recorded_offers chooses it: the recorded offer if all recorded offers agree on the policies that
// decide whether a subscriber matches, else the default. The history has at least the default's 10 messages. A longer
// recorded history is kept, so that late subscribers of latched topics receive as many messages as when recorded.
func OfferQoS(recorded []codec.QoS) codec.QoS {
	offer := codec.DefaultQoS()
	if len(recorded) == 0 {
		return offer
	}
	depth := offer.Depth
	for _, r := range recorded {
		if matching(r) != matching(recorded[0]) {
			return offer
		}
		if r.History == codec.KeepLast {
			depth = max(depth, r.Depth)
		}
	}
	offer = recorded[0]
	offer.History, offer.Depth = codec.KeepLast, depth
	return offer
}

// matching returns q without the policies that do not decide whether endpoints match.
func matching(q codec.QoS) codec.QoS {
	q.History, q.Depth, q.Lifespan = "", 0, 0
	return q
}

// Compatible reports whether a publisher that offers offer matches a subscriber that requests request, by the rules of
// the DDS specification, and if not, why.
func Compatible(offer, request codec.QoS) (ok bool, reason string) {
	switch {
	case request.Reliability == codec.Reliable && offer.Reliability != codec.Reliable:
		reason = "the publisher is best effort, the subscriber asks for reliable"
	case request.Durability == codec.TransientLocal && offer.Durability != codec.TransientLocal:
		reason = "the publisher is volatile, the subscriber asks for transient local"
	case offer.Deadline > request.Deadline:
		reason = fmt.Sprintf("the publisher's deadline is %s, the subscriber asks for %s",
			span(offer.Deadline), request.Deadline)
	case request.Liveliness == codec.ManualByTopic && offer.Liveliness != codec.ManualByTopic:
		reason = "the publisher's liveliness is automatic, the subscriber asks for manual by topic"
	case offer.LivelinessLease > request.LivelinessLease:
		reason = fmt.Sprintf("the publisher's liveliness lease is %s, the subscriber asks for %s",
			span(offer.LivelinessLease), request.LivelinessLease)
	}
	return reason == "", reason
}

func span(d time.Duration) string {
	if d == codec.Infinite {
		return "infinite"
	}
	return d.String()
}
