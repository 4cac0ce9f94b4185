package rospub

import (
	"context"
	"strings"
	"sync"
	"time"

	"tapedeck/bridge"
)

// AwaitSubscribers waits until each publisher has a subscriber, and logs every five seconds which have none. The error
// is that of ctx.
func AwaitSubscribers(ctx context.Context, node bridge.Node, list []Offer) error {
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

// Flush waits, at most for patience, until reliable subscribers have acknowledged everything, and warns if they have
// not.
func Flush(ctx context.Context, node bridge.Node, list []Offer, patience time.Duration) {
	if patience <= 0 || ctx.Err() != nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, patience)
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

// Close closes the publishers at once, as each may take a second if a subscriber does not answer. Blocked Publish calls
// then fail.
func Close(list []Offer) {
	var closing sync.WaitGroup
	for _, p := range list {
		closing.Go(func() { _ = p.Close() })
	}
	closing.Wait()
}
