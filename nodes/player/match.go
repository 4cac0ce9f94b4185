package main

import (
	"context"
	"strings"
	"time"

	"tapedeck/bridge"
)

// quiet is for how long the graph has not changed when all who are there are taken to be known.
const quiet = 500 * time.Millisecond

// awaitMatches waits until the subscribers that are there have met the publishers, at most for that long, and says which have not.
func awaitMatches(ctx context.Context, node bridge.Node, list []*publisher, patience time.Duration) (missing []string, err error) {
	if patience <= 0 {
		return nil, nil
	}
	deadline := time.After(patience)
	changed := node.Watch(ctx)
	calm := time.NewTimer(min(quiet, patience))
	defer calm.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
			calm.Reset(quiet)
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
func unmatched(topics []bridge.Topic, list []*publisher) (missing []string) {
	for _, p := range list {
		expected := 0
		for _, topic := range topics {
			if topic.Name != p.Topic() {
				continue
			}
			for _, s := range topic.Subscribers {
				if ok, _ := bridge.Compatible(p.qos, s.QoS); ok && s.Type == p.typeName {
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

// awaitSubscribers waits until each publisher has a subscriber.
func awaitSubscribers(ctx context.Context, node bridge.Node, list []*publisher) error {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	told := time.Now()
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
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			node.Log(bridge.Info, "waiting for subscribers of %s", strings.Join(missing, ", "))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
}
