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

// Pace is the time between two rounds of writing.
const Pace = 10 * time.Millisecond

const retryDelay = time.Second // between attempts to continue after an error

// Writer writes items into a recording, in the order of their reception.
//
// One goroutine calls Run and then Discard. Only Run writes to the output and calls the callbacks. The other methods
// may be called meanwhile. Log times are ns since the Unix epoch, receive times are by the clock of bridge.Monotonic.
type Writer struct {
	// Set before Run.
	Guard       *diskguard.Guard   // nil: the first error of the disk ends the recording
	Files       series.SplitLimits // limits of one file
	MaxBytes    int64              // approximate limit of all files, with repeated messages; 0: no limit
	MaxMessages uint64             // limit of all files, without repeated messages; 0: no limit
	SyncAlways  bool               // sync after each round that wrote messages
	KeepsState  bool               // the output itself begins files with the latest state: no messages are repeated
	// Snapshot is set if the items are also in a recording, which counts them and waits for their definitions. A
	// snapshot begins with latched messages, and its events are not earlier than its trigger.
	Snapshot bool

	items     ItemReader
	owner     *owner.Owner // the goroutine of Run
	callbacks Callbacks

	requests chan request
	splitAt  atomic.Pointer[queue.Deadline] // a message that reaches it begins another file; nil: none does
	position atomic.Int64                   // receive time until which everything is written
	bytes    atomic.Uint64                  // payload, for all goroutines
	totals   totals
	path     atomic.Pointer[string]      // path of the file that is being written
	shared   atomic.Pointer[SizedWriter] // output, for all goroutines

	// Owned by the goroutine of Run.

	output   SizedWriter
	events   EventLog
	declared []*codec.Channel // waiting to be declared, in order

	pending []*queue.Item       // items that were read and not written yet
	sorted  int                 // the first sorted items of pending are in order
	written uint64              // messages, without repeated ones
	payload uint64              // bytes of written payloads, with repeated ones
	stored  int64               // approximate bytes of messages in all files, with repeated ones
	size    int64               // latest result of output.Size, if that is set
	known   []*codec.Channel    // channels that were declared
	file    series.Split        // the file that is being written
	end     int64               // log time of the last message
	request *request            // nil: none waits
	noted   time.Time           // time of the last call of NoteLosses
	retry   time.Time           // no other file is tried before
	broken  error               // error of the disk: nothing is written until another file is begun
	missing *codec.MissingError // the latest one that was handled
	latched bool                // the snapshot has begun with latched messages
	full    bool                // MaxBytes or MaxMessages is reached
	scratch codec.Message
}

// SizedWriter is a writer of a recording that may know its size.
type SizedWriter struct {
	codec.Writer
	Size func() int64 // returns the bytes of all files; nil: they are about as large as the messages
}

// Callbacks report what happens to a recording. All must be set. A snapshot, which has neither totals nor limits, needs
// no Recorded, OnLimit and OnRepeats.
type Callbacks struct {
	// OnFileEnd is called to note events at the end of a file, whose messages have log times from start to end. It is
	// last if no other file of the recording follows.
	OnFileEnd func(start, end int64, last bool)
	// NoteLosses is called once in MergeTime to note losses.
	NoteLosses func()
	// Recorded returns the topics of the recording. Goroutines that complete files may call it, too.
	Recorded func() []Counted
	// Now returns the log time of now, or of the trigger of a snapshot.
	Now func() int64
	// Latched returns the messages to repeat in a file whose first message was received at the time received, each with
	// a reference for the caller.
	Latched func(received int64) []*queue.Item
	// OnEvent is called for each event that was written.
	OnEvent func(codec.Event)
	// OnSplit is called when a file was closed and another one opened, which begins at the log time t.
	OnSplit func(closed, opened string, t int64)
	// OnError is called with an error of the disk. It is a *codec.MissingError if messages that were counted as written
	// are not in the file.
	OnError func(error)
	// OnRefused is called with the reason why a message of the topic cannot be written or, if the topic is nil, an
	// event or a channel.
	OnRefused func(*queue.Topic, error)
	// OnLimit is called with the limit of the recording that is reached.
	OnLimit func(limit string)
	// OnRepeats is called when repeated messages, of so many bytes, take much of a file.
	OnRepeats func(bytes int64)
}

// New returns a Writer from items to output.
func New(items ItemReader, output SizedWriter, c Callbacks) *Writer {
	w := &Writer{
		output: output, items: items, owner: owner.New(), callbacks: c,
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

// updateFile updates the result of File.
func (w *Writer) updateFile() {
	if path := w.output.File(); path != w.File() {
		w.path.Store(&path)
	}
}

// Position returns the receive time until which everything is written.
func (w *Writer) Position() int64 { return w.position.Load() }

// PayloadBytes returns the number of bytes of payloads that were written, with repeated ones.
func (w *Writer) PayloadBytes() uint64 { return w.bytes.Load() }

// Declare makes Run declare a channel soon. It waits for nothing.
func (w *Writer) Declare(c *codec.Channel) {
	w.owner.Post(func() { w.declared = append(w.declared, c) })
}

// Note makes Run write an event soon. It waits for nothing.
func (w *Writer) Note(e codec.Event) {
	w.owner.Post(func() { w.events.Note(e) })
}

// Sync flushes the written messages to the disk. Run handles the error.
func (w *Writer) Sync() {
	if err := w.shared.Load().Sync(); err != nil {
		w.owner.Post(func() { w.fail(err) })
	}
}

// Run writes until the items end, or until an error of the disk that Guard does not wait for. Closing stop makes the
// items end. Run leaves the output open.
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
			requests = nil // one request at a time
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
	w.pending, s = w.items.Read(w.pending, stopping)
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
		w.fail(w.output.Sync()) // at the end while files can be deleted to make room
	}
	return s.More, s.Ended && w.broken == nil
}

// declareAll declares the waiting channels.
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
		item := w.pending[n]
		early := item.ReceiveTime >= s.Settled || !s.Ended && !w.Snapshot && item.Waits(now)
		if early && bytes >= s.Excess || !w.prepare(item) || !w.put(item) {
			break
		}
		bytes += item.Size()
	}
	if n > 0 {
		w.position.Store(w.pending[n-1].ReceiveTime)
	}
	w.bytes.Store(w.payload)
	queue.Release(w.pending[:n]...)
	w.pending = w.pending[:copy(w.pending, w.pending[n:])]
	w.sorted = len(w.pending)
	w.items.Done(bytes)
}

// put writes one item, unless a limit is reached. It returns false if the item must be tried again in another file.
func (w *Writer) put(item *queue.Item) bool {
	if w.full {
		return true
	}
	if limit := w.limit(sizeOf(item)); limit != "" {
		w.full = true
		w.callbacks.OnLimit(limit)
		return true
	}
	w.file.Begin(&w.Files, item.LogTime)
	w.end = item.LogTime
	if !w.Snapshot {
		item.Topic.StopAwaiting()
	}
	bytes, err := w.store(item, item.LogTime)
	w.follow(item.LogTime)
	switch {
	case err == nil:
		w.count(&item.Topic.Written)
		w.written++
		w.file.Add(bytes)
	case isDiskError(err):
		w.fail(err)
		return false
	default:
		w.count(&item.Topic.Dropped)
		w.callbacks.OnRefused(item.Topic, err)
	}
	return true
}

// count counts a message of a topic.
func (w *Writer) count(messages *atomic.Uint64) {
	if !w.Snapshot {
		messages.Add(1)
	}
}

// limit returns the limit that a message of size bytes would exceed, "" if there is none.
func (w *Writer) limit(size int64) string {
	switch {
	case w.MaxMessages > 0 && w.written >= w.MaxMessages:
		return human.Count(w.MaxMessages, "message") + " recorded"
	case w.MaxBytes > 0 && w.stored+size > w.MaxBytes:
		return fmt.Sprintf("%v are recorded", config.Size(w.MaxBytes))
	}
	return ""
}

// sizeOf returns roughly how many bytes an item takes in a file.
func sizeOf(item *queue.Item) int64 { return series.MessageSize(item.Topic.Name(), item.Payload.Data) }

// store writes an item with the log time t, and returns how many bytes it takes in the file.
func (w *Writer) store(item *queue.Item, t int64) (bytes int64, err error) {
	w.scratch = codec.Message{
		Channel: item.Topic.Channel.Load(), LogTime: t, PublishTime: item.PublishTime, Data: item.Payload.Data,
	}
	if err := w.output.Write(&w.scratch); err != nil {
		return 0, err
	}
	bytes = sizeOf(item)
	if w.output.Size != nil {
		before := w.size
		w.size = w.output.Size()
		bytes = w.size - before
	}
	w.payload += uint64(len(item.Payload.Data))
	w.stored += bytes
	return bytes, nil
}

// endFile writes the events at the end of a file.
func (w *Writer) endFile(last bool) {
	w.callbacks.OnFileEnd(w.file.Start(), w.end, last)
	w.owner.Turn()
	if w.broken == nil {
		w.writeEvents(w.events.Take(time.Now(), true))
	}
}

// writeEvents writes events with the log time of the last message.
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

// Discard counts the items that Run could not write as dropped.
func (w *Writer) Discard() {
	for s := (State{}); !s.Ended; {
		w.pending, s = w.items.Read(w.pending, true)
	}
	var bytes int64
	for _, item := range w.pending {
		bytes += item.Size()
		if !w.full {
			w.count(&item.Topic.Dropped)
		}
	}
	w.items.Done(bytes)
	queue.Release(w.pending...)
	w.pending = nil
}

// check handles an error of writing events, channels and repeated messages.
func (w *Writer) check(err error) {
	if err == nil || isDiskError(err) {
		w.fail(err)
	} else {
		w.callbacks.OnRefused(nil, err)
	}
}
