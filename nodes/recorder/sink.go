package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"tapedeck/codec"
	"tapedeck/nodes/internal/split"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/schedule"
)

// How the sink works through the backlog.
const (
	sinkPace  = 10 * time.Millisecond // between two looks at it
	sinkBatch = 8 << 20               // bytes taken from it at once
	retryPace = time.Second           // between attempts to go on after an error
)

// sink writes the backlog into a recording, in the order of reception, from one goroutine.
type sink struct {
	backlog *queue.Queue
	writer  codec.Writer
	desk    desk
	guard   *diskguard.Guard // nil: the first error of the disk ends everything
	files   split.Limits
	limits  totalLimits
	reorder time.Duration // how long messages wait for earlier ones of other topics
	always  bool          // after each round everything is put on the disk

	requests  chan splitRequest
	splitting atomic.Pointer[schedule.Deadline] // when a message begins another file; nil: never
	position  atomic.Int64                      // receive time until which everything is written, ns since the Unix epoch
	bytes     atomic.Uint64                     // of payloads
	path      atomic.Pointer[string]            // of the file that is being written

	mu       sync.Mutex
	declared []*codec.Channel // to be declared, in order
	failure  error            // of a Sync beside

	pending []*queue.Item // taken from the backlog, not yet written
	sorted  int           // the first so many of them are in order
	held    int64         // their bytes
	written uint64        // messages
	payload uint64        // bytes of these
	stored  int64         // the same in files, roughly
	size    int64         // of the files, as a writer says that is sized
	part    split.File    // that is being written
	end     int64         // log time of the last message
	request *splitRequest
	retry   time.Time           // not before that is another file tried again
	broken  error               // of the disk: nothing is written until there is another file
	missing *codec.MissingError // the last one
	full    bool                // a limit is reached
	scratch codec.Message
}

// desk is what a sink needs of the recording that it writes. Its methods are called from the sink's goroutine.
type desk interface {
	// happened returns the events to be written now.
	happened() []codec.Event
	// ended returns the events to be written at the end of a file, whose messages have log times from start to end.
	ended(start, end int64, last bool) []codec.Event
	// latched returns the messages to be repeated in a file that begins with what was received at t, each with a reference
	// for the caller.
	latched(t int64) []*queue.Item
	// wrote is called for each of these events that the writer took.
	wrote(codec.Event)
	// split is told that a file was closed and another one opened, at the log time t.
	split(closed, opened string, t int64)
	// failed is told of an error of the disk: a *codec.MissingError where messages that were counted as written are not.
	failed(error)
	// refused is told why a message or, without a topic, what goes with them cannot be written.
	refused(*queue.Topic, error)
	// enough is told of the limit that is reached.
	enough(limit string)
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

func newSink(b *queue.Queue, w codec.Writer, d desk) *sink {
	s := &sink{backlog: b, writer: w, desk: d, reorder: queue.Reorder, requests: make(chan splitRequest)}
	path := ""
	if splitter, ok := w.(codec.Splitter); ok {
		path = splitter.File()
	}
	s.path.Store(&path)
	return s
}

// file returns the path of the file that is being written, "" where the writer does not tell.
func (s *sink) file() string { return *s.path.Load() }

// requestSplit has what is received after until, ns since the Unix epoch, written to another file, and returns once
// that is open, or when ctx ends.
func (s *sink) requestSplit(ctx context.Context, until int64) (closed, opened string, err error) {
	answer := make(chan splitAnswer, 1)
	select {
	case s.requests <- splitRequest{until, answer}:
	case <-ctx.Done():
		return "", "", errNotRecording
	}
	select {
	case a := <-answer:
		return a.closed, a.opened, a.err
	case <-ctx.Done():
		return "", "", errNotRecording
	}
}

func (s *sink) declare(c *codec.Channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.declared = append(s.declared, c)
}

// sync puts what was written on the disk. It may be called beside run, which deals with the error.
func (s *sink) sync() {
	if err := s.writer.Sync(); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failure = err
	}
}

// run writes until stop is closed and everything queued before is written, or the disk fails and is not to be waited
// for. The writer is left open.
func (s *sink) run(stop <-chan struct{}) error {
	pace := time.NewTicker(sinkPace)
	defer pace.Stop()
	at := make(chan time.Time) // once
	close(at)
	for next := pace.C; ; {
		stopping := false
		requests := s.requests
		if s.request != nil {
			requests = nil // one after the other
		}
		select {
		case <-stop:
			stopping = true
		case request := <-requests:
			s.request = &request
		case <-next:
		}
		next = pace.C
		if s.round(stopping) {
			next = at
		}
		for stopping && s.makeRoom() {
			s.round(true)
		}
		if s.broken != nil && (stopping || !s.waits()) {
			return s.broken
		}
		if stopping {
			return nil
		}
	}
}

// round writes a batch, or when stopping everything, and says whether there is more to write.
func (s *sink) round(stopping bool) (more bool) {
	if !s.ready(stopping) {
		return false
	}
	s.declareAll()
	before := s.written
	for again := true; again && s.broken == nil; again = more && stopping {
		first := len(s.pending)
		s.pending = s.backlog.Pop(min(sinkBatch, s.backlog.MaxBytes/4), s.pending) // the rest may be given up for newer ones
		for _, it := range s.pending[first:] {
			s.held += it.Size()
		}
		more = len(s.pending) > first
		s.write(stopping && !more)
	}
	if s.request != nil && !more && time.Now().Add(-s.reorder).UnixNano() > s.request.until &&
		(len(s.pending) == 0 || s.pending[0].ReceiveTime > s.request.until) {
		s.answer(s.split(s.end, s.request.until+1))
	}
	s.record(s.desk.happened())
	if stopping && s.broken == nil {
		s.record(s.desk.ended(s.part.Start(), s.end, true))
	}
	deletes := s.guard != nil && s.guard.Action == diskguard.Delete
	if s.broken == nil && (s.always && s.written > before || stopping && deletes) {
		s.fault(s.writer.Sync()) // while files can be deleted to make room
	}
	return more
}

// makeRoom makes room for the end of the recording where the disk is full, and reports whether it could.
func (s *sink) makeRoom() bool {
	if s.broken == nil || s.guard == nil || !s.guard.Waits(s.broken) {
		return false
	}
	_ = s.writer.Sync() // the files before are complete when it returns
	return s.guard.MakeRoom(s.broken)
}

// ready says whether the disk takes what there is to write. After an error of the disk another file is needed for that.
func (s *sink) ready(stopping bool) bool {
	s.mu.Lock()
	failure := s.failure
	s.failure = nil
	s.mu.Unlock()
	s.fault(failure)
	// At the end what waits is written all the same, if it can be: it is no more than the backlog, and would be lost.
	hold := s.guard != nil && s.guard.Holds() && !stopping
	if s.broken != nil && !hold && s.waits() && (stopping || !time.Now().Before(s.retry)) {
		if _, _, err := s.split(s.end, s.position.Load()+1); err != nil {
			s.retry = time.Now().Add(retryPace)
		}
	}
	if s.broken == nil && !hold {
		return true
	}
	if s.request != nil {
		s.answer("", "", errors.Join(errors.New("nothing can be written at present"), s.broken))
	}
	return false
}

// waits says whether to wait, after an error of the disk, until writing can go on.
func (s *sink) waits() bool { return s.guard != nil && s.guard.Waits(s.broken) }

func (s *sink) declareAll() {
	s.mu.Lock()
	declared := s.declared
	s.declared = nil
	s.mu.Unlock()
	for _, c := range declared {
		s.check(s.writer.Declare(c))
	}
}

// check deals with an error about anything but a message that was received.
func (s *sink) check(err error) {
	if err == nil || diskFailed(err) {
		s.fault(err)
	} else {
		s.desk.refused(nil, err)
	}
}

// write writes the pending items that nothing earlier can overtake any more, or all.
func (s *sink) write(all bool) {
	queue.Sort(s.pending, s.sorted)
	now := time.Now().UnixNano()
	var bytes int64
	n := 0
	for ; n < len(s.pending); n++ {
		it := s.pending[n]
		// What waits, for earlier messages or a definition, must not take the memory of messages that come.
		early := (now-it.ReceiveTime < int64(s.reorder) || it.Waits(now)) && s.held-bytes <= s.backlog.MaxBytes/4
		if early && !all || !s.prepare(it) {
			break
		}
		if !s.put(it) {
			break
		}
		bytes += it.Size()
	}
	if n > 0 {
		s.position.Store(s.pending[n-1].ReceiveTime)
	}
	s.bytes.Store(s.payload)
	queue.Release(s.pending[:n]...)
	s.pending = s.pending[:copy(s.pending, s.pending[n:])]
	s.sorted = len(s.pending)
	s.held -= bytes
	s.backlog.Done(bytes)
}

// prepare goes on in another file where that is due before an item, and says whether the item can be written then.
func (s *sink) prepare(it *queue.Item) bool {
	switch {
	case s.broken != nil || s.full:
	case s.request != nil && it.ReceiveTime > s.request.until:
		s.answer(s.split(it.LogTime, it.ReceiveTime))
	case s.told(it):
		if _, _, err := s.split(it.LogTime, it.ReceiveTime); err != nil {
			s.check(err)
		}
	case s.part.Full(&s.files, it.LogTime, stored(it)) && !time.Now().Before(s.retry):
		if _, _, err := s.split(it.LogTime, it.ReceiveTime); err != nil {
			s.retry = time.Now().Add(retryPace)
			s.check(err)
		}
	}
	return s.broken == nil
}

// told says whether an item begins another file, as a service was asked for.
func (s *sink) told(it *queue.Item) bool {
	m := s.splitting.Load()
	return m != nil && m.ReachedBy(it.Topic.Channel.Load().Topic, it.PublishTime, it.LogTime) &&
		s.splitting.CompareAndSwap(m, nil)
}

// put writes one item, unless a limit is reached, and says whether it is done with.
func (s *sink) put(it *queue.Item) bool {
	if s.full {
		return true
	}
	if limit := s.limits.reached(s.written, s.stored, stored(it)); limit != "" {
		s.full = true
		s.desk.enough(limit)
		return true
	}
	s.part.Begin(&s.files, it.LogTime)
	s.end = it.LogTime
	it.Topic.StopAwaiting()
	m := s.message(it, it.LogTime)
	switch err := s.writer.Write(m); {
	case err == nil:
		it.Topic.Written.Add(1)
		s.written++
		s.payload += uint64(len(m.Data))
		bytes := s.grown(stored(it))
		s.stored += bytes
		s.part.Add(1, bytes)
	case diskFailed(err):
		s.fault(err)
		return false // it may be written to another file
	default:
		it.Topic.Dropped.Add(1)
		s.desk.refused(it.Topic, err)
	}
	return true
}

// sized is a writer whose files are not about as large as the messages that are written.
type sized interface {
	// Size returns the bytes of all files.
	Size() int64
}

// stored returns how many bytes an item takes in a file, roughly.
func stored(it *queue.Item) int64 { return split.Size(it.Topic.Channel.Load().Topic, it.Payload.Data) }

// grown returns how many bytes a message has added to the file: about as many as it has, unless the writer knows
// better.
func (s *sink) grown(bytes int64) int64 {
	if w, ok := s.writer.(sized); ok {
		bytes, s.size = w.Size()-s.size, w.Size()
	}
	return bytes
}

// message returns an item as a message, valid until the next call.
func (s *sink) message(it *queue.Item, t int64) *codec.Message {
	s.scratch = codec.Message{Channel: it.Topic.Channel.Load(), LogTime: t, PublishTime: it.PublishTime,
		Data: it.Payload.Data}
	return &s.scratch
}

// record writes events, as the last that happened until now.
func (s *sink) record(events []codec.Event) {
	for _, e := range events {
		m, err := codec.EventMessage(e)
		if err == nil {
			if s.end != 0 {
				m.LogTime = s.end
			}
			err = s.writer.Write(m)
		}
		if err == nil {
			s.desk.wrote(e)
		}
		s.check(err)
	}
}

// split goes on in another file, which begins at the log time t with what was received at received.
func (s *sink) split(t, received int64) (closed, opened string, err error) {
	splitter, ok := s.writer.(codec.Splitter)
	if !ok {
		return "", "", errors.New("recordings of this format cannot be split")
	}
	if s.broken == nil {
		if s.record(s.desk.ended(s.part.Start(), s.end, false)); s.broken != nil {
			return "", "", s.broken
		}
	}
	closed = splitter.File()
	if err := splitter.Split(); err != nil {
		return "", "", fmt.Errorf("go on in another file after %s: %w", closed, err)
	}
	opened = splitter.File()
	s.path.Store(&opened)
	s.broken = nil
	s.part.Next()
	s.desk.split(closed, opened, t)
	s.repeat(s.desk.latched(received), t)
	return closed, opened, nil
}

// repeat writes latched messages with the log time t.
func (s *sink) repeat(list []*queue.Item, t int64) {
	defer queue.Release(list...)
	for _, it := range list {
		m := s.message(it, t)
		s.check(s.writer.Write(m))
		s.part.Add(0, s.grown(stored(it)))
	}
}

func (s *sink) answer(closed, opened string, err error) {
	s.request.answer <- splitAnswer{closed, opened, err}
	s.request = nil
}

// fault notes an error of the disk. Nothing more is written to the file then.
func (s *sink) fault(err error) {
	if err == nil || s.broken != nil {
		return
	}
	var missing *codec.MissingError
	if errors.As(err, &missing) {
		if missing == s.missing {
			return // it was said of a file before
		}
		s.missing = missing
		if file := s.file(); file != "" && missing.Path != file {
			s.desk.failed(err) // of a file before, as of a Sync beside a split
			return
		}
	}
	s.broken = err
	if !diskguard.DiskFull(err) { // else the guard knows when
		s.retry = time.Now().Add(retryPace)
	}
	s.desk.failed(err)
	if s.guard != nil {
		s.guard.Hit(err)
	}
}

// diskFailed says whether an error of a writer is the disk's, not one about a single message.
func diskFailed(err error) bool {
	var missing *codec.MissingError
	var errno syscall.Errno
	return errors.As(err, &missing) || errors.As(err, &errno)
}

// discard counts what run could not write as dropped.
func (s *sink) discard() {
	s.pending = s.backlog.Pop(math.MaxInt64, s.pending)
	for _, it := range s.pending {
		if !s.full {
			it.Topic.Dropped.Add(1)
		}
	}
	queue.Release(s.pending...)
	s.pending = nil
}
