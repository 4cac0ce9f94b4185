// Package filewriter writes received messages into the files of recordings and snapshots.
package filewriter

import (
	"cmp"
	"fmt"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/owner"
	"tapedeck/nodes/recorder/internal/queue"
)

// Pace is the time between two looks at the source.
const Pace = 10 * time.Millisecond

const retryDelay = time.Second // between attempts to continue after an error

// Writer takes items from a source and writes them into a recording, in the order of their reception.
//
// One goroutine calls Run, which alone writes to the output and calls the callbacks, and then Discard. The other
// methods may be called beside it. Times are ns since the Unix epoch, receive times those of the items.
type Writer struct {
	// Set before Run.
	Guard       *diskguard.Guard   // nil: the first error of the disk ends everything
	Files       series.SplitLimits // of one file
	MaxBytes    int64              // of all files, with what they repeat, roughly; 0: no limit
	MaxMessages uint64             // of all files, without what they repeat; 0: no limit
	SyncAlways  bool               // after each round everything is put on the disk
	KeepsState  bool               // the output begins further files with the state by itself: nothing is repeated
	// Snapshot says that the items are those of a recording, which counts them and waits for their definitions. A
	// snapshot begins with latched messages, and its events are not earlier than its trigger.
	Snapshot bool

	source    Source
	owner     *owner.Owner // Run
	callbacks Callbacks

	requests chan request
	splitAt  atomic.Pointer[queue.Deadline] // when a message begins another file; nil: never
	position atomic.Int64                   // receive time until which everything is written
	bytes    atomic.Uint64                  // of payloads that were written, repeated ones too
	totals   totals
	path     atomic.Pointer[string] // of the file that is being written
	shared   atomic.Pointer[Output] // output, for all goroutines

	// What follows belongs to Run.

	output   Output
	events   EventLog
	declared []*codec.Channel // to be declared, in order

	pending []*queue.Item    // taken from the source, not yet written
	sorted  int              // the first so many of them are in order
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
	latched bool // the snapshot has begun with latched messages
	full    bool // MaxBytes or MaxMessages is reached
	scratch codec.Message
}

// Output is a recording that is written to.
type Output struct {
	codec.Writer
	Size func() int64 // returns the bytes of all files; nil: they are about as large as the messages
}

// Callbacks report what happens to a recording. All are set, but for a snapshot, which has neither totals nor limits,
// Recorded, OnLimit and OnRepeats.
type Callbacks struct {
	// OnFileEnd is called to note events at the end of a file, the last one of a recording or not, whose messages have
	// log times from start to end.
	OnFileEnd func(start, end int64, last bool)
	// NoteLosses is called now and then to note losses.
	NoteLosses func()
	// Recorded returns the topics of the recording. It may be called by the goroutines that complete files.
	Recorded func() []Counted
	// Now returns the log time of now, or of the trigger of a snapshot.
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

// New returns a Writer from a source to output.
func New(source Source, output Output, c Callbacks) *Writer {
	w := &Writer{
		output: output, source: source, owner: owner.New(), callbacks: c,
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

// Run writes until the source ends, which stop makes it do when it is closed, or until an error of the disk that Guard
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
		more, ended := w.round(stopping)
		for stopping && !ended && (w.broken == nil || w.makeRoom()) {
			more, ended = w.round(true)
		}
		if w.broken != nil && (stopping || !w.waits()) {
			return w.broken
		}
		if ended {
			return nil
		}
		next = pace.C
		if more {
			next = now
		}
	}
}

// round writes a batch. It reports whether there is more to write, and whether all is written.
func (w *Writer) round(stopping bool) (more, ended bool) {
	if !w.ready(stopping) {
		return false, false
	}
	w.declareAll()
	before := w.written
	var s State
	w.pending, s = w.source.Read(w.pending, stopping)
	w.write(s)
	if w.request != nil && !s.More && !s.Ended && w.request.until < s.Settled &&
		(len(w.pending) == 0 || w.pending[0].ReceiveTime > w.request.until) {
		w.answer(w.request.do(w.end, w.request.until+1))
	}
	now := time.Now()
	if now.Sub(w.noted) >= MergeTime {
		w.noted = now
		w.callbacks.NoteLosses()
	}
	w.owner.Turn()
	if w.broken == nil {
		w.writeEvents(w.events.Take(now, false))
	}
	if s.Ended && w.broken == nil {
		if w.Snapshot {
			w.beginSnapshot(w.callbacks.Now())
		}
		w.endFile(true)
		w.totals.end(w.file.Start(), w.end, true)
	}
	deletes := w.Guard != nil && w.Guard.Action == diskguard.Delete
	if w.broken == nil && (w.SyncAlways && w.written > before || s.Ended && deletes) {
		w.fail(w.output.Sync()) // while files can be deleted to make room
	}
	return s.More, s.Ended && w.broken == nil
}

func (w *Writer) declareAll() {
	w.known = append(w.known, w.declared...)
	for _, c := range w.declared {
		w.check(w.output.Declare(c))
	}
	w.declared = nil
}

// write writes the pending items that may be written.
func (w *Writer) write(s State) {
	queue.Sort(w.pending, w.sorted)
	now := bridge.Now()
	var bytes int64
	n := 0
	for ; n < len(w.pending); n++ {
		it := w.pending[n]
		early := it.ReceiveTime >= s.Settled || !s.Ended && !w.Snapshot && it.Waits(now)
		if early && bytes >= s.Excess || !w.prepare(it) || !w.put(it) {
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
	w.source.Done(bytes)
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
	if !w.Snapshot {
		it.Topic.StopAwaiting()
	}
	bytes, err := w.store(it, it.LogTime)
	w.follow(it.LogTime)
	switch {
	case err == nil:
		w.count(&it.Topic.Written)
		w.written++
		w.file.Add(bytes)
	case isDiskError(err):
		w.fail(err)
		return false
	default:
		w.count(&it.Topic.Dropped)
		w.callbacks.OnRefused(it.Topic, err)
	}
	return true
}

// count counts a message of a topic.
func (w *Writer) count(messages *atomic.Uint64) {
	if !w.Snapshot {
		messages.Add(1)
	}
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

// store writes an item with the log time t, and returns how many bytes it takes in the file.
func (w *Writer) store(it *queue.Item, t int64) (bytes int64, err error) {
	w.scratch = codec.Message{
		Channel: it.Topic.Channel.Load(), LogTime: t, PublishTime: it.PublishTime, Data: it.Payload.Data,
	}
	if err := w.output.Write(&w.scratch); err != nil {
		return 0, err
	}
	bytes = sizeOf(it)
	if w.output.Size != nil {
		before := w.size
		w.size = w.output.Size()
		bytes = w.size - before
	}
	w.payload += uint64(len(it.Payload.Data))
	w.stored += bytes
	return bytes, nil
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
			t := w.end
			if w.Snapshot {
				t = max(t, w.callbacks.Now())
			}
			m.LogTime = cmp.Or(t, m.LogTime)
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
	for s := (State{}); !s.Ended; {
		w.pending, s = w.source.Read(w.pending, true)
	}
	var bytes int64
	for _, it := range w.pending {
		bytes += it.Size()
		if !w.full {
			w.count(&it.Topic.Dropped)
		}
	}
	w.source.Done(bytes)
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
