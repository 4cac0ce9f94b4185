package rospub

import (
	"context"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
)

const (
	// meeting is how long after joining the graph a node may still match earlier participants: where the loopback
	// interface does not multicast, Fast DDS is found after a second.
	meeting = 1250 * time.Millisecond
	// quiet is how long the graph must not change before a new participant is known with all its endpoints.
	quiet = 250 * time.Millisecond
)

// Offer is a publisher with what it offers to subscribers.
type Offer struct {
	bridge.Publisher
	Type string // "sensor_msgs/msg/Imu"
	QoS  codec.QoS
}

// AwaitMatches waits, at most for patience, until the subscribers on the graph have matched the publishers of a node
// that joined the graph at opened. It returns the topics whose subscribers have not all matched. The error is that of
// ctx. A patience of 0 does not wait.
func AwaitMatches(ctx context.Context, node bridge.Node, opened time.Time, list []Offer,
	patience time.Duration) (missing []string, err error) {
	if patience <= 0 {
		return nil, nil
	}
	deadline := time.After(patience)
	changed := node.Watch(ctx)
	calm := time.NewTimer(max(quiet, meeting-time.Since(opened)))
	defer calm.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
			calm.Reset(max(quiet, meeting-time.Since(opened)))
		case <-deadline:
			return unmatched(node.Topics(), list), nil
		case <-calm.C:
			if unmatched(node.Topics(), list) == nil {
				return nil, nil
			}
			calm.Reset(quiet / 10)
		}
	}
}

// unmatched returns the topics with compatible subscribers that have not matched their publisher yet.
func unmatched(topics []bridge.Topic, list []Offer) (missing []string) {
	for _, p := range list {
		expected := 0
		for _, topic := range topics {
			if topic.Name != p.Topic() {
				continue
			}
			for _, s := range topic.Subscribers {
				if ok, _ := bridge.Compatible(p.QoS, s.QoS); ok && s.Type == p.Type {
					expected++
				}
			}
		}
		if p.Subscribers() < expected {
			missing = append(missing, p.Topic())
		}
	}
	return missing
}
