package main

import (
	"math"
	"sync/atomic"

	"tapedeck/nodes/recorder/internal/queue"
)

// latches bound what the streams keep of latched topics.
type latches struct {
	maxBytes int64
	since    func() int64       // nobody will ask for what was latched before that time
	full     func(*queue.Topic) // is told when messages cannot be kept any more
	bytes    atomic.Int64
}

// keep notes the latest message of a publisher, whose stream is locked. Where there is no room the publisher's own
// oldest messages go.
func (l *latches) keep(from *source, it *queue.Item) {
	bytes := l.bytes.Add(from.keep(it, l.since()))
	for bytes > l.maxBytes && len(from.kept) > 0 {
		l.full(it.Topic)
		bytes = l.bytes.Add(-from.forget(1))
	}
}

// latched returns what a subscriber that came late, at the time t (ns since the Unix epoch, as messages are received),
// would have got of the topics of the recording: the last messages of each latched publisher, in the order of
// reception. Each has one reference more, which is the caller's to release.
func (r *recorder) latched(t int64) []*queue.Item {
	var list []*queue.Item
	for _, rec := range r.recorded() {
		list = rec.latched(t, list)
	}
	queue.Sort(list, 0)
	return list
}

// latchedBytes is how much is kept of latched topics beside what waits or is kept for snapshots.
const latchedBytes = 64 << 20

// neededSince returns the receive time before which nobody asks any more what was latched.
func (r *recorder) neededSince() int64 {
	since := int64(math.MaxInt64)
	if s := r.session.Load(); s.sink != nil {
		since = s.sink.position.Load()
	}
	if r.snapshots != nil {
		since = min(since, r.snapshots.ring.Since())
	}
	return since
}
