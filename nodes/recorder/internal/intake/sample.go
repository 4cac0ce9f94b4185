package intake

import (
	"sync/atomic"

	"tapedeck/nodes/recorder/internal/queue"
)

// Sample keeps one message of a topic, the first one after each Take, for a goroutine that looks at messages now and
// then. No method waits.
type Sample struct {
	wanted atomic.Bool
	item   atomic.Pointer[queue.Item] // with a reference
}

// offer keeps an item if one is wanted. Only one goroutine at a time may call it.
func (s *Sample) offer(item *queue.Item) {
	if s.wanted.Load() {
		s.wanted.Store(false)
		item.Retain()
		if old := s.item.Swap(item); old != nil { // a call of Take came between
			queue.Release(old)
		}
	}
}

// Take returns the kept item with its reference, nil if there is none. The next item will be kept.
func (s *Sample) Take() *queue.Item {
	item := s.item.Swap(nil)
	s.wanted.Store(true)
	return item
}
