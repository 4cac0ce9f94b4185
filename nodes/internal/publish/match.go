package publish

import (
	"context"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
)

const (
	// meeting is how long after it came to the graph a node may meet those who were there before: where the loopback interface does not
	// multicast, Fast DDS is found after a second.
	meeting = 1250 * time.Millisecond
	// quiet is for how long the graph has not changed when a new one is known with all that it has.
	quiet = 250 * time.Millisecond
)

// Offer is a publisher with what it offers to subscribers.
type Offer struct {
	bridge.Publisher
	Type string // "sensor_msgs/msg/Imu"
	QoS  codec.QoS
}

// AwaitMatches waits until the subscribers that are there have met the publishers of a node that came to the graph at that time, at
// most for so long, and returns the topics of which they have not. The error is that of ctx. A patience of 0 does not wait.
func AwaitMatches(ctx context.Context, node bridge.Node, opened time.Time, list []Offer, patience time.Duration) (missing []string, err error) {
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

// unmatched returns the topics whose subscribers, as the graph has them, have not all met their publisher.
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
