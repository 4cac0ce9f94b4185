package filewriter

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"tapedeck/codec/series"
	"tapedeck/nodes/recorder/internal/queue"
)

// request asks Run to call a function between the messages received until a time and the later ones.
type request struct {
	until  int64
	do     func(t, received int64) error // the next message has the log time t and the receive time received
	answer chan<- error                  // has room
}

// Successor is a recording that takes the place of the current one.
type Successor struct {
	SizedWriter
	// OnBegin is called once the Writer no longer uses its recording before, with the log time t at which this one
	// begins. OnSplit follows.
	OnBegin func(t int64)
}

// Split starts a new file for the messages received after until. If next is not nil, Run calls it, and the file is the
// first one of the Successor that it returns. Split returns once the file is open. When ctx ends before, it returns the
// cause.
func (w *Writer) Split(ctx context.Context, until int64, next func() (*Successor, error),
) (closed, opened string, err error) {
	var files [2]string
	err = w.ask(ctx, until, func(t, received int64) (err error) {
		files[0], files[1], err = w.split(t, received, next)
		return err
	})
	if err != nil {
		return "", "", err
	}
	return files[0], files[1], nil
}

// Do makes Run call do between the messages received until a time and the later ones, and returns its error. When ctx
// ends before, it returns the cause, and do may still be called.
func (w *Writer) Do(ctx context.Context, until int64, do func() error) error {
	return w.ask(ctx, until, func(int64, int64) error { return do() })
}

// ask sends a request to Run and returns its answer, or the cause when ctx ends before.
func (w *Writer) ask(ctx context.Context, until int64, do func(t, received int64) error) error {
	answer := make(chan error, 1)
	select {
	case w.requests <- request{until, do, answer}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// SplitAt starts a new file with the first message that reaches the deadline d. It replaces the deadline of an earlier
// call; nil removes that.
func (w *Writer) SplitAt(d *queue.Deadline) { w.splitAt.Store(d) }

// answer answers the waiting request.
func (w *Writer) answer(err error) {
	w.request.answer <- err
	w.request = nil
}

// prepare answers a request or starts another file if that is due before an item. It reports whether the item can be
// written.
func (w *Writer) prepare(item *queue.Item) bool {
	switch {
	case w.broken != nil || w.full:
	case w.Snapshot:
		w.beginSnapshot(item.LogTime)
	case w.request != nil && item.ReceiveTime > w.request.until:
		w.answer(w.request.do(item.LogTime, item.ReceiveTime))
	case w.splitDue(item):
		if _, _, err := w.split(item.LogTime, item.ReceiveTime, nil); err != nil {
			w.check(err)
		}
	case w.file.Full(&w.Files, item.LogTime, sizeOf(item)) && !time.Now().Before(w.retry):
		if _, _, err := w.split(item.LogTime, item.ReceiveTime, nil); err != nil {
			w.retry = time.Now().Add(retryDelay)
			w.check(err)
		}
	}
	return w.broken == nil
}

// splitDue reports whether a split that SplitAt asked for happens before an item.
func (w *Writer) splitDue(item *queue.Item) bool {
	d := w.splitAt.Load()
	return d != nil && d.ReachedBy(item.Topic.Name(), item.PublishTime, item.LogTime) &&
		w.splitAt.CompareAndSwap(d, nil)
}

// split starts another file. Its first message has the log time t and the receive time received. Unless next is nil,
// the file belongs to the Successor that next returns.
func (w *Writer) split(t, received int64, next func() (*Successor, error)) (closed, opened string, err error) {
	var successor *Successor
	if next != nil {
		successor, err = next()
		if err != nil {
			return "", "", err
		}
	}
	if w.broken == nil {
		w.endFile(successor != nil)
		if w.broken != nil && successor == nil {
			return "", "", w.broken
		}
	}
	if w.broken == nil {
		w.totals.end(w.file.Start(), w.end, successor != nil)
	} else {
		w.totals.end(0, 0, false) // messages may be missing
	}
	closed = w.File()
	recording := w.totals.open.recording
	begins := cmp.Or(t, w.callbacks.Now())
	if successor != nil {
		recording = &recordingTotals{began: begins}
		w.replace(successor.SizedWriter)
	} else if err := w.output.Split(); err != nil {
		return "", "", fmt.Errorf("start another file after %s: %w", closed, err)
	} else {
		w.file.Next()
	}
	w.updateFile()
	w.broken = nil
	w.totals.begin(w.File(), recording)
	if successor != nil {
		successor.OnBegin(begins)
	}
	w.callbacks.OnSplit(closed, w.File(), begins)
	if successor != nil || !w.KeepsState {
		w.repeat(w.callbacks.Latched(received), t)
	}
	return closed, w.File(), nil
}

// replace makes next the output, and declares the known channels there.
func (w *Writer) replace(next SizedWriter) {
	w.output = next
	w.shared.Store(&next)
	w.size, w.file = 0, series.Split{}
	for _, c := range w.known {
		w.check(next.Declare(c))
	}
}

// follow handles a file that the output has begun by itself, with a message of the log time t.
func (w *Writer) follow(t int64) {
	closed := w.File()
	w.updateFile()
	if w.File() == closed {
		return
	}
	w.totals.begin(w.File(), w.totals.open.recording)
	w.file.Next()
	w.file.Begin(&w.Files, t)
	w.callbacks.OnSplit(closed, w.File(), t)
}

// beginSnapshot writes the latched messages of a snapshot, with the log time t of its first message. Later calls do
// nothing.
func (w *Writer) beginSnapshot(t int64) {
	if !w.latched {
		w.latched = true
		w.repeat(w.callbacks.Latched(0), t)
	}
}

// repeat writes latched messages with the log time t. They count as bytes of the recording, but not of the file:
// otherwise a file that they fill would end with its first message.
func (w *Writer) repeat(list []*queue.Item, t int64) {
	defer queue.Release(list...)
	var repeated int64
	for _, item := range list {
		bytes, err := w.store(item, t)
		w.check(err)
		repeated += bytes
	}
	if series.Repeats(&w.Files, repeated) {
		w.callbacks.OnRepeats(repeated)
	}
}
