// Package filewriter writes the messages of a queue into the files of a recording.
package filewriter

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/config"
	"tapedeck/nodes/internal/human"
	"tapedeck/nodes/recorder/internal/accounting"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/owner"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/schedule"
)

// Pace is the time between two looks at the queue.
const Pace = 10 * time.Millisecond

const (
	batchSize  = 8 << 20     // bytes taken from the queue at once
	retryDelay = time.Second // between attempts to continue after an error
)

// Writer takes items from a queue and writes them into a recording, in the order of their reception.
//
// One goroutine calls Run, which alone writes to the output and calls the callbacks, and then Discard. The other
// methods may be called beside it. Times are ns since the Unix epoch, receive times those of the queue.
type Writer struct {
	// Set before Run.
	Guard       *diskguard.Guard   // nil: the first error of the disk ends everything
	Files       series.SplitLimits // of one file
	MaxBytes    int64              // of all files, with what they repeat, roughly; 0: no limit
	MaxMessages uint64             // likewise
	Reorder     time.Duration      // how long messages wait at most for earlier ones of other topics
	Delivered   func() int64       // the queue has all that was received before; nil: that is not known
	SyncAlways  bool               // after each round everything is put on the disk
	KeepsState  bool               // the output begins further files with the state by itself: nothing is repeated

	queue     *queue.Queue
	owner     *owner.Owner // Run
	callbacks Callbacks

	requests chan request
	splitAt  atomic.Pointer[schedule.Deadline] // when a message begins another file; nil: never
	position atomic.Int64                      // receive time until which everything is written
	bytes    atomic.Uint64                     // of payloads that were written, repeated ones too
	totals   totals
	path     atomic.Pointer[string] // of the file that is being written
	shared   atomic.Pointer[Output] // output, for all goroutines

	// What follows belongs to Run.

	output   Output
	events   accounting.EventLog
	declared []*codec.Channel // to be declared, in order

	pending []*queue.Item    // taken from the queue, not yet written
	sorted  int              // the first so many of them are in order
	settled int64            // nothing comes any more that was received before
	held    int64            // their bytes
	written uint64           // messages
	payload uint64           // bytes of these
	stored  int64            // the same in files, roughly
	size    int64            // Output.Size, if that is set
	known   []*codec.Channel // that were declared
	file    series.Split     // that is being written
	end     int64            // log time of the last message
	request *request         // nil: none waits
	noted   time.Time        // losses, last
	retry   time.Time        // no other file is tried before
	broken  error            // of the disk: nothing is written until there is another file
	missing *codec.MissingError
	full    bool // MaxBytes or MaxMessages is reached
	scratch codec.Message
}

// Output is a recording that is written to.
type Output struct {
	codec.Writer
	Size func() int64 // returns the bytes of all files; nil: they are about as large as the messages
}

// Callbacks report what happens to a recording. All are set.
type Callbacks struct {
	// OnFileEnd is called to note events at the end of a file, the last one of a recording or not, whose messages have
	// log times from start to end.
	OnFileEnd func(start, end int64, last bool)
	// NoteLosses is called now and then to note losses.
	NoteLosses func()
	// Recorded returns the topics of the recording. It may be called by the goroutines that complete files.
	Recorded func() []Counted
	// Now returns the log time of now.
	Now func() int64
	// Latched returns the messages to repeat in a file that begins with what was received at that time, each with a
	// reference for the caller.
	Latched func(received int64) []*queue.Item
	// OnEvent is called for each event that was written.
	OnEvent func(codec.Event)
	// OnSplit is called when a file was closed and another one opened, which begins at the log time t.
	OnSplit func(closed, opened string, t int64)
	// OnError is called with an error of the disk: a *codec.MissingError if messages that were counted as written are
	// not in the file.
	OnError func(error)
	// OnRefused is called with the reason why a message of the topic cannot be written, or else, if that is nil, an
	// event or a declaration.
	OnRefused func(*queue.Topic, error)
	// OnLimit is called with the limit of the recording that is reached.
	OnLimit func(limit string)
	// OnRepeats is called when a file begins with so many bytes of repeated messages that they are much of it.
	OnRepeats func(bytes int64)
}

// New returns a Writer from q to output.
func New(q *queue.Queue, output Output, c Callbacks) *Writer {
	w := &Writer{
		output: output, Reorder: queue.Reorder, queue: q, owner: owner.New(), callbacks: c,
		requests: make(chan request), totals: totals{recorded: c.Recorded},
	}
	w.shared.Store(&output)
	w.path.Store(new(string))
	w.updateFile()
	w.totals.begin(w.File(), new(recordingTotals))
	return w
}

// File returns the path of the file that is being written.
func (w *Writer) File() string { return *w.path.Load() }

// updateFile updates what File returns.
func (w *Writer) updateFile() {
	if path := w.output.File(); path != w.File() {
		w.path.Store(&path)
	}
}

// Position returns the receive time until which everything is written.
func (w *Writer) Position() int64 { return w.position.Load() }

// PayloadBytes returns how many bytes of payloads were written, with those that further files repeat.
func (w *Writer) PayloadBytes() uint64 { return w.bytes.Load() }

// Declare has a channel declared, in the order of calls. It waits for nothing.
func (w *Writer) Declare(c *codec.Channel) {
	w.owner.Post(func() { w.declared = append(w.declared, c) })
}

// Note writes an event soon. It waits for nothing.
func (w *Writer) Note(e codec.Event) {
	w.owner.Post(func() { w.events.Note(e) })
}

// Sync puts what was written on the disk. Run handles its error.
func (w *Writer) Sync() {
	if err := w.shared.Load().Sync(); err != nil {
		w.owner.Post(func() { w.fail(err) })
	}
}

// Run writes until stop is closed and everything queued before is written, or until an error of the disk that Guard
// does not wait for. It leaves the output open.
func (w *Writer) Run(stop <-chan struct{}) error {
	w.totals.open.recording.began = w.callbacks.Now()
	pace := time.NewTicker(Pace)
	defer pace.Stop()
	now := make(chan time.Time)
	close(now)
	for next := pace.C; ; {
		stopping := false
		requests := w.requests
		if w.request != nil {
			requests = nil // one after the other
		}
		select {
		case <-stop:
			stopping = true
		case request := <-requests:
			w.request = &request
		case <-next:
		}
		next = pace.C
		if w.round(stopping) {
			next = now
		}
		for stopping && w.makeRoom() {
			w.round(true)
		}
		if w.broken != nil && (stopping || !w.waits()) {
			return w.broken
		}
		if stopping {
			return nil
		}
	}
}

// round writes a batch, or when stopping everything, and reports whether there is more to write.
func (w *Writer) round(stopping bool) (more bool) {
	if !w.ready(stopping) {
		return false
	}
	w.declareAll()
	before := w.written
	for again := true; again && w.broken == nil; again = more && stopping {
		var delivered int64
		if w.Delivered != nil {
			delivered = w.Delivered()
		}
		first, held := len(w.pending), w.held
		batch := min(batchSize, w.queue.MaxBytes/4) // the rest may be dropped for newer ones
		w.pending = w.queue.Pop(batch, w.pending)
		for _, it := range w.pending[first:] {
			w.held += it.Size()
		}
		if w.held-held < batch { // the queue is empty
			w.settled = delivered
		}
		more = len(w.pending) > first
		w.write(stopping && !more)
	}
	if w.request != nil && !more && bridge.Now()-int64(w.Reorder) > w.request.until &&
		(len(w.pending) == 0 || w.pending[0].ReceiveTime > w.request.until) {
		w.answer(w.request.do(w.end, w.request.until+1))
	}
	now := time.Now()
	if now.Sub(w.noted) >= accounting.MergeTime {
		w.noted = now
		w.callbacks.NoteLosses()
	}
	w.writeEvents(w.events.Take(now, false))
	if stopping && w.broken == nil {
		w.endFile(true)
		w.totals.end(w.file.Start(), w.end, true)
	}
	deletes := w.Guard != nil && w.Guard.Action == diskguard.Delete
	if w.broken == nil && (w.SyncAlways && w.written > before || stopping && deletes) {
		w.fail(w.output.Sync()) // while files can be deleted to make room
	}
	return more
}

func (w *Writer) declareAll() {
	w.known = append(w.known, w.declared...)
	for _, c := range w.declared {
		w.check(w.output.Declare(c))
	}
	w.declared = nil
}

// write writes the pending items that nothing earlier can overtake any more, or all.
func (w *Writer) write(all bool) {
	queue.Sort(w.pending, w.sorted)
	now := bridge.Now()
	var bytes int64
	n := 0
	for ; n < len(w.pending); n++ {
		it := w.pending[n]
		// What waits, for earlier messages or a definition, must not take the memory of messages that come.
		early := (it.ReceiveTime >= w.settled && now-it.ReceiveTime < int64(w.Reorder) || it.Waits(now)) &&
			w.held-bytes <= w.queue.MaxBytes/4
		if early && !all || !w.prepare(it) || !w.put(it) {
			break
		}
		bytes += it.Size()
	}
	if n > 0 {
		w.position.Store(w.pending[n-1].ReceiveTime)
	}
	w.bytes.Store(w.payload)
	queue.Release(w.pending[:n]...)
	w.pending = w.pending[:copy(w.pending, w.pending[n:])]
	w.sorted = len(w.pending)
	w.held -= bytes
	w.queue.Done(bytes)
}

// put writes one item, unless a limit is reached. It returns false if the item may be written to another file.
func (w *Writer) put(it *queue.Item) bool {
	if w.full {
		return true
	}
	if limit := w.limit(sizeOf(it)); limit != "" {
		w.full = true
		w.callbacks.OnLimit(limit)
		return true
	}
	w.file.Begin(&w.Files, it.LogTime)
	w.end = it.LogTime
	it.Topic.StopAwaiting()
	m := w.message(it, it.LogTime)
	err := w.output.Write(m)
	w.follow(it.LogTime)
	switch {
	case err == nil:
		it.Topic.Written.Add(1)
		w.written++
		w.payload += uint64(len(m.Data))
		bytes := w.grown(sizeOf(it))
		w.stored += bytes
		w.file.Add(bytes)
	case isDiskError(err):
		w.fail(err)
		return false
	default:
		it.Topic.Dropped.Add(1)
		w.callbacks.OnRefused(it.Topic, err)
	}
	return true
}

// limit returns the limit that keeps a message of that size from being written, "" if there is none.
func (w *Writer) limit(size int64) string {
	switch {
	case w.MaxMessages > 0 && w.written >= w.MaxMessages:
		return human.Count(w.MaxMessages, "message") + " recorded"
	case w.MaxBytes > 0 && w.stored+size > w.MaxBytes:
		return fmt.Sprintf("%v are recorded", config.Size(w.MaxBytes))
	}
	return ""
}

// sizeOf returns how many bytes an item takes in a file, roughly.
func sizeOf(it *queue.Item) int64 { return series.MessageSize(it.Topic.Name(), it.Payload.Data) }

// grown returns how many bytes a message of that size has added to the file.
func (w *Writer) grown(size int64) int64 {
	if w.output.Size != nil {
		before := w.size
		w.size = w.output.Size()
		size = w.size - before
	}
	return size
}

// message returns an item as a message, valid until the next call.
func (w *Writer) message(it *queue.Item, t int64) *codec.Message {
	w.scratch = codec.Message{
		Channel: it.Topic.Channel.Load(), LogTime: t, PublishTime: it.PublishTime, Data: it.Payload.Data,
	}
	return &w.scratch
}

// endFile writes all events that the file is to have.
func (w *Writer) endFile(last bool) {
	w.callbacks.OnFileEnd(w.file.Start(), w.end, last)
	w.owner.Turn()
	if w.broken == nil {
		w.writeEvents(w.events.Take(time.Now(), true))
	}
}

// writeEvents writes events behind the messages.
func (w *Writer) writeEvents(events []codec.Event) {
	for _, e := range events {
		m, err := codec.EventMessage(e)
		if err == nil {
			if w.end != 0 {
				m.LogTime = w.end
			}
			err = w.output.Write(m)
		}
		if err == nil {
			w.callbacks.OnEvent(e)
		}
		w.check(err)
	}
}

// Discard counts what Run could not write as dropped.
func (w *Writer) Discard() {
	w.pending = w.queue.Pop(math.MaxInt64, w.pending)
	for _, it := range w.pending {
		if !w.full {
			it.Topic.Dropped.Add(1)
		}
	}
	queue.Release(w.pending...)
	w.pending = nil
}

// check handles an error of anything but a received message.
func (w *Writer) check(err error) {
	if err == nil || isDiskError(err) {
		w.fail(err)
	} else {
		w.callbacks.OnRefused(nil, err)
	}
}
