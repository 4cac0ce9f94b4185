package bridge

import (
	"sync"
	"sync/atomic"

	"tapedeck/codec"
)

// LossCounters counts the losses of a translator. Several readings may count at the same time.
type LossCounters struct {
	mu     sync.Mutex
	counts map[codec.Loss]*atomic.Uint64 // messages; the keys have no Messages
}

// Lost returns the counter of messages on a topic that lost what. The caller increases the counter.
func (l *LossCounters) Lost(topic, what string) *atomic.Uint64 {
	key := codec.Loss{Topic: topic, What: what}
	l.mu.Lock()
	defer l.mu.Unlock()
	messages := l.counts[key]
	if messages == nil {
		if l.counts == nil {
			l.counts = map[codec.Loss]*atomic.Uint64{}
		}
		messages = new(atomic.Uint64)
		l.counts[key] = messages
	}
	return messages
}

// Losses returns the losses by topic and content.
func (l *LossCounters) Losses() []codec.Loss {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := codec.LossCounts{}
	for loss, n := range l.counts {
		if n := n.Load(); n > 0 {
			all[loss] = n
		}
	}
	return all.Losses()
}
