package publish

import (
	"context"
	"strings"
	"sync"
	"time"

	"tapedeck/bridge"
)

// AwaitSubscribers waits until each publisher has a subscriber, and tells every few seconds which have not. The error is that of ctx.
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

// Flush waits until reliable subscribers have everything, at most for so long, and warns if they have not.
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

// Close has publishers that block fail. Each of them may take a second, for a subscriber that does not answer: they end together.
func Close(list []Offer) {
	var closing sync.WaitGroup
	for _, p := range list {
		closing.Go(func() { _ = p.Close() })
	}
	closing.Wait()
}
