package filewriter

import (
	"math"
	"time"

	"tapedeck/bridge"
	"tapedeck/nodes/recorder/internal/queue"
)

const batchSize = 8 << 20 // bytes taken from the queue at once

// ItemReader yields the items that a Writer writes. Only the goroutine of Writer.Run calls its methods.
type ItemReader interface {
	// Read appends the next items to list, each with a reference for the caller. If stopping, it does not wait for
	// items that are still to be received.
	Read(list []*queue.Item, stopping bool) ([]*queue.Item, State)
	// Done is called when items of so many bytes are written.
	Done(bytes int64)
}

// State is how far an ItemReader has come.
type State struct {
	More    bool  // there may be further items already
	Ended   bool  // there are no further items, and the last ones do not wait for their definitions
	Settled int64 // receive time: all items received before were read, and may be written
	Excess  int64 // so many bytes of the oldest items are written even if they are not settled
}

// LiveReader reads items from the queue while messages are received. Items of different topics may come in the wrong
// order.
type LiveReader struct {
	Queue     *queue.Queue
	Reorder   time.Duration // time that items wait for earlier ones of other topics
	Delivered func() int64  // returns a receive time: all messages received before are in the queue; nil: unknown

	bytes     int64 // size of the items that were read, before Done
	delivered int64 // result of Delivered before the last Read that emptied the queue
}

var _ ItemReader = (*LiveReader)(nil)

// Read implements ItemReader.
func (l *LiveReader) Read(list []*queue.Item, stopping bool) ([]*queue.Item, State) {
	var delivered int64
	if l.Delivered != nil {
		delivered = l.Delivered()
	}
	limit := l.Queue.MaxBytes / 4 // items that stay in the queue may be dropped for newer ones
	batch, before, first := min(batchSize, limit), l.bytes, len(list)
	list = l.Queue.Pop(batch, list)
	for _, item := range list[first:] {
		l.bytes += item.Size()
	}
	if l.bytes-before < batch { // the queue is empty
		l.delivered = delivered
	}
	more := len(list) > first
	s := State{
		More: more, Ended: stopping && !more,
		Settled: max(l.delivered, bridge.Now()-int64(l.Reorder)+1),
		Excess:  l.bytes - limit, // items that wait must leave memory for new messages
	}
	if s.Ended {
		s.Settled = math.MaxInt64
	}
	return list, s
}

// Done implements ItemReader.
func (l *LiveReader) Done(bytes int64) {
	l.bytes -= bytes
	l.Queue.Done(bytes)
}
