package main

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/codec"
)

// How the sink works through the queue.
const (
	sinkPace  = 10 * time.Millisecond  // between two looks at the queue
	sinkBatch = 8 << 20                // bytes taken from it at once
	reorder   = 100 * time.Millisecond // how long messages wait for earlier ones of other topics
)

// sink writes the queue into a recording, in the order of reception, from one goroutine.
type sink struct {
	queue  *queue
	writer codec.Writer

	// announce is told of each split; nil: nobody.
	announce func(closed, opened string)

	requests chan splitRequest
	done     chan struct{} // closed when nothing is written any more

	mu       sync.Mutex
	declared []*codec.Channel // to be declared, in order

	pending []*item // taken from the queue, not yet written
	sorted  int     // the first so many of them are in order
	bytes   atomic.Uint64
}

// splitRequest asks for a split behind what was received until a time, ns since the Unix epoch.
type splitRequest struct {
	until  int64
	answer chan<- splitAnswer // has room
}

type splitAnswer struct {
	closed, opened string
	err            error
}

func newSink(q *queue, w codec.Writer) *sink {
	return &sink{queue: q, writer: w, requests: make(chan splitRequest), done: make(chan struct{})}
}

// file returns the path of the file that is being written, "" where the writer does not tell.
func (s *sink) file() string {
	if splitter, ok := s.writer.(codec.Splitter); ok {
		return splitter.File()
	}
	return ""
}

// requestSplit has what is received from now on written to another file, and returns once that is open.
func (s *sink) requestSplit() (closed, opened string, err error) {
	answer := make(chan splitAnswer, 1)
	select {
	case s.requests <- splitRequest{time.Now().UnixNano(), answer}:
	case <-s.done:
		return "", "", errNotRecording
	}
	select {
	case a := <-answer:
		return a.closed, a.opened, a.err
	case <-s.done:
		return "", "", errNotRecording
	}
}

// split goes on in another file.
func (s *sink) split() (closed, opened string, err error) {
	splitter, ok := s.writer.(codec.Splitter)
	if !ok {
		return "", "", errors.New("recordings of this format cannot be split")
	}
	closed = splitter.File()
	if err := splitter.Split(); err != nil {
		return "", "", fmt.Errorf("go on in another file after %s: %w", closed, err)
	}
	opened = splitter.File()
	if s.announce != nil {
		s.announce(closed, opened)
	}
	return closed, opened, nil
}

func (s *sink) declare(c *codec.Channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.declared = append(s.declared, c)
}

// run writes until stop is closed and everything queued before is written, and returns the first error of the writer.
// The writer is left open.
func (s *sink) run(stop <-chan struct{}) error {
	pace := time.NewTicker(sinkPace)
	defer pace.Stop()
	if s.done != nil {
		defer close(s.done)
	}
	for {
		stopping := false
		select {
		case <-stop:
			stopping = true
		case request := <-s.requests:
			closed, opened, err := s.split()
			request.answer <- splitAnswer{closed, opened, err}
		case <-pace.C:
		}
		for {
			before := len(s.pending)
			s.pending = s.queue.pop(sinkBatch, s.pending)
			taken := len(s.pending) - before
			if err := s.write(stopping && taken == 0); err != nil {
				return err
			}
			if taken == 0 {
				break
			}
		}
		if stopping {
			return nil
		}
	}
}

// write declares what is to be declared and writes the pending items that nothing earlier can overtake any more, or all.
func (s *sink) write(all bool) error {
	s.mu.Lock()
	declared := s.declared
	s.declared = nil
	s.mu.Unlock()
	for _, c := range declared {
		if err := s.writer.Declare(c); err != nil {
			return fmt.Errorf("declare topic %s: %w", c.Topic, err)
		}
	}
	sortByReception(s.pending, s.sorted)
	horizon := time.Now().Add(-reorder).UnixNano()
	var m codec.Message
	var err error
	n := 0
	for ; n < len(s.pending) && (all || s.pending[n].receiveTime <= horizon); n++ {
		it := s.pending[n]
		m = codec.Message{Channel: it.stream.channel.Load(), LogTime: it.logTime, PublishTime: it.publishTime, Data: it.payload.Data}
		if err = s.writer.Write(&m); err != nil {
			err = fmt.Errorf("write a message of %s: %w", m.Channel.Topic, err)
			break
		}
		it.stream.written.Add(1)
		s.bytes.Add(uint64(len(m.Data)))
	}
	releaseAll(s.pending[:n])
	s.pending = s.pending[:copy(s.pending, s.pending[n:])]
	s.sorted = len(s.pending)
	return err
}

// discard counts what run could not write as dropped.
func (s *sink) discard() {
	s.pending = s.queue.pop(math.MaxInt64, s.pending)
	for _, it := range s.pending {
		it.stream.dropped.Add(1)
	}
	releaseAll(s.pending)
}

// sortByReception sorts items of which the first so many are in order, and the others nearly: each subscription delivers
// in order.
func sortByReception(list []*item, sorted int) {
	for i := max(sorted, 1); i < len(list); i++ {
		it := list[i]
		j := i
		for ; j > 0 && list[j-1].receiveTime > it.receiveTime; j-- {
			list[j] = list[j-1]
		}
		list[j] = it
	}
}
