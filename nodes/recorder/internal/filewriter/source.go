package filewriter

import (
	"math"
	"time"

	"tapedeck/bridge"
	"tapedeck/nodes/recorder/internal/queue"
)

const batchSize = 8 << 20 // bytes taken from the queue at once

// Source is where a Writer takes items from. Only the goroutine of Writer.Run calls its methods.
type Source interface {
	// Read appends the next items to list, each with a reference for the caller. With stopping it does not wait for
	// items that are still to be received.
	Read(list []*queue.Item, stopping bool) ([]*queue.Item, State)
	// Done is called when items of so many bytes are written.
	Done(bytes int64)
}

// State says which items a Source has given, and which of them may be written.
type State struct {
	More    bool  // there may be others already
	Ended   bool  // there will be no others; the last ones do not wait for their definitions
	Settled int64 // receive time: all that was received before is given, and may be written
	Excess  int64 // so many bytes are written even if they are not settled, the oldest first
}

// Live is a queue of what is being received. What was received earlier may come later, from other topics.
type Live struct {
	Queue     *queue.Queue
	Reorder   time.Duration // how long items wait at most for earlier ones of other topics
	Delivered func() int64  // the queue has all that was received before; nil: that is not known

	bytes     int64 // of items that were read and are not done with
	delivered int64 // what Delivered returned when the queue was last empty
}

var _ Source = (*Live)(nil)

// Read implements Source.
func (l *Live) Read(list []*queue.Item, stopping bool) ([]*queue.Item, State) {
	var delivered int64
	if l.Delivered != nil {
		delivered = l.Delivered()
	}
	limit := l.Queue.MaxBytes / 4 // the rest may be dropped for newer ones
	batch, before, first := min(batchSize, limit), l.bytes, len(list)
	list = l.Queue.Pop(batch, list)
	for _, it := range list[first:] {
		l.bytes += it.Size()
	}
	if l.bytes-before < batch { // the queue is empty
		l.delivered = delivered
	}
	more := len(list) > first
	s := State{
		More: more, Ended: stopping && !more,
		Settled: max(l.delivered, bridge.Now()-int64(l.Reorder)+1),
		Excess:  l.bytes - limit, // what waits must not take the memory of messages that come
	}
	if s.Ended {
		s.Settled = math.MaxInt64
	}
	return list, s
}

// Done implements Source.
func (l *Live) Done(bytes int64) {
	l.bytes -= bytes
	l.Queue.Done(bytes)
}
