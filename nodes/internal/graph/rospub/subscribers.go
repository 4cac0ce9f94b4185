package rospub

import (
	"context"
	"strings"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
)

const (
	// discovery is the time after joining the graph in which a node may still match earlier participants. If the
	// loopback interface does not multicast, Fast DDS is found after a second.
	discovery = 1250 * time.Millisecond
	// quiet is how long the graph must stay unchanged until all endpoints of a new participant are known.
	quiet = 250 * time.Millisecond
)

// Offer is a publisher with the type and QoS that it offers.
type Offer struct {
	bridge.Publisher
	Type string // "sensor_msgs/msg/Imu"
	QoS  codec.QoS
}

// AwaitMatches waits, at most for patience, until the subscribers on the graph have matched the publishers of a node
// that joined the graph at opened. It returns the topics with subscribers that have not matched, none if the node ends.
// The error is the error of ctx. A patience of 0 does not wait.
func AwaitMatches(ctx context.Context, node bridge.Node, opened time.Time, list []Offer,
	patience time.Duration) (missing []string, err error) {
	if patience <= 0 {
		return nil, nil
	}
	deadline := time.After(patience)
	changed := node.Watch(ctx)
	calm := time.NewTimer(max(quiet, discovery-time.Since(opened)))
	defer calm.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case _, open := <-changed:
			if !open { // ctx ended or the node was closed
				return nil, ctx.Err()
			}
			calm.Reset(max(quiet, discovery-time.Since(opened)))
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

// AwaitSubscribers waits until each publisher has a subscriber. Every five seconds it logs the topics without one. The
// error is the error of ctx.
func AwaitSubscribers(ctx context.Context, node bridge.Node, list []Offer) error {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	logged := time.Now()
	for {
		var missing []string
		for _, p := range list {
			if p.Subscribers() == 0 {
				missing = append(missing, p.Topic())
			}
		}
		if missing == nil {
			return nil
		}
		if time.Since(logged) > 5*time.Second {
			logged = time.Now()
			node.Log(bridge.Info, "waiting for subscribers of %s", strings.Join(missing, ", "))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
}

// Patient returns a context that ends after patience. A patience of 0 is no limit. With a negative one the context has
// ended already.
func Patient(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	if patience == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, patience)
}

// Flush waits, at most for patience, until reliable subscribers have acknowledged everything, and warns if they have
// not. A patience of 0 is no limit. A negative one does not wait.
func Flush(ctx context.Context, node bridge.Node, list []Offer, patience time.Duration) {
	if patience < 0 || ctx.Err() != nil {
		return
	}
	limited, cancel := Patient(ctx, patience)
	defer cancel()
	for _, p := range list {
		if err := p.Flush(limited); err != nil {
			if ctx.Err() == nil {
				node.Log(bridge.Warn, "subscribers have not acknowledged everything: %v", err)
			}
			return
		}
	}
}

// Close closes the publishers concurrently, because each may take a second if a subscriber does not answer. Blocked
// calls of Publish then fail.
func Close(list []Offer) {
	var closing sync.WaitGroup
	for _, p := range list {
		closing.Go(func() { _ = p.Close() })
	}
	closing.Wait()
}
