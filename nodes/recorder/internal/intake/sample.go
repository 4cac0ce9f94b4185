package intake

import (
	"sync/atomic"

	"tapedeck/nodes/recorder/internal/queue"
)

// Sample holds one of the messages of a topic, for who looks at them now and then: the first one after each Take.
// Nobody waits for it.
type Sample struct {
	wanted atomic.Bool
	item   atomic.Pointer[queue.Item] // with a reference
}

// offer keeps an item if one is wanted. It is called by one goroutine at a time.
func (s *Sample) offer(it *queue.Item) {
	if s.wanted.Load() {
		s.wanted.Store(false)
		it.Retain()
		if old := s.item.Swap(it); old != nil { // a call of Take came between
			queue.Release(old)
		}
	}
}

// Take returns the sample with its reference, nil if there is none, and has another one taken.
func (s *Sample) Take() *queue.Item {
	it := s.item.Swap(nil)
	s.wanted.Store(true)
	return it
}
