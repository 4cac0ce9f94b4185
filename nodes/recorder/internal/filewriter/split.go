package filewriter

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"tapedeck/codec/series"
	"tapedeck/nodes/recorder/internal/queue"
)

// request asks Run to do something behind what was received until a time.
type request struct {
	until  int64
	do     func(t, received int64) error // what comes then has the log time t and was received at received
	answer chan<- error                  // has room
}

// Split starts a new file for what is received after until: of the same recording or, unless begin is nil, of the one
// that begin begins. The recording before belongs to OnSplit then. Split returns once the file is open, or when ctx
// ends, with the cause of that.
func (w *Writer) Split(ctx context.Context, until int64, begin func() (Output, error),
) (closed, opened string, err error) {
	var files [2]string
	err = w.ask(ctx, until, func(t, received int64) (err error) {
		files[0], files[1], err = w.split(t, received, begin)
		return err
	})
	if err != nil {
		return "", "", err
	}
	return files[0], files[1], nil
}

// Do has Run call do behind what was received until then, and returns its error. If ctx ends before that is done, it
// returns the cause: do may still be called then.
func (w *Writer) Do(ctx context.Context, until int64, do func() error) error {
	return w.ask(ctx, until, func(int64, int64) error { return do() })
}

// ask has Run do something behind what was received until then. If ctx ends before that is done, it returns the cause.
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

// SplitAt starts a new file with the first message that reaches a deadline; nil: with none.
func (w *Writer) SplitAt(d *queue.Deadline) { w.splitAt.Store(d) }

func (w *Writer) answer(err error) {
	w.request.answer <- err
	w.request = nil
}

// prepare starts another file if that is due before an item, and reports whether the item can be written then.
func (w *Writer) prepare(it *queue.Item) bool {
	switch {
	case w.broken != nil || w.full:
	case w.Snapshot:
		w.beginSnapshot(it.LogTime)
	case w.request != nil && it.ReceiveTime > w.request.until:
		w.answer(w.request.do(it.LogTime, it.ReceiveTime))
	case w.splitDue(it):
		if _, _, err := w.split(it.LogTime, it.ReceiveTime, nil); err != nil {
			w.check(err)
		}
	case w.file.Full(&w.Files, it.LogTime, sizeOf(it)) && !time.Now().Before(w.retry):
		if _, _, err := w.split(it.LogTime, it.ReceiveTime, nil); err != nil {
			w.retry = time.Now().Add(retryDelay)
			w.check(err)
		}
	}
	return w.broken == nil
}

// splitDue reports whether a split that SplitAt asked for happens before an item.
func (w *Writer) splitDue(it *queue.Item) bool {
	d := w.splitAt.Load()
	return d != nil && d.ReachedBy(it.Topic.Name(), it.PublishTime, it.LogTime) && w.splitAt.CompareAndSwap(d, nil)
}

// split starts another file, which begins at the log time t with what was received at received: of the same recording,
// or of the one that begin begins.
func (w *Writer) split(t, received int64, begin func() (Output, error)) (closed, opened string, err error) {
	var next Output
	if begin != nil {
		next, err = begin()
		if err != nil {
			return "", "", err
		}
	}
	if w.broken == nil {
		w.endFile(begin != nil)
		if w.broken != nil && begin == nil {
			return "", "", w.broken
		}
	}
	if w.broken == nil {
		w.totals.end(w.file.Start(), w.end, begin != nil)
	} else {
		w.totals.end(0, 0, false) // its messages may be missing
	}
	closed = w.File()
	recording := w.totals.open.recording
	begins := cmp.Or(t, w.callbacks.Now())
	if begin != nil {
		recording = &recordingTotals{began: begins}
		w.replace(next)
	} else if err := w.output.Split(); err != nil {
		return "", "", fmt.Errorf("start another file after %s: %w", closed, err)
	} else {
		w.file.Next()
	}
	w.updateFile()
	w.broken = nil
	w.totals.begin(w.File(), recording)
	w.callbacks.OnSplit(closed, w.File(), begins)
	if begin != nil || !w.KeepsState {
		w.repeat(w.callbacks.Latched(received), t)
	}
	return closed, w.File(), nil
}

// replace goes on in another recording.
func (w *Writer) replace(next Output) {
	w.output = next
	w.shared.Store(&next)
	w.size, w.file = 0, series.Split{}
	for _, c := range w.known {
		w.check(next.Declare(c))
	}
}

// follow notes that the output has begun another file by itself, if it has, with a message of the log time t.
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

// beginSnapshot writes, once, the latched messages of a snapshot, with the log time t of its first message.
func (w *Writer) beginSnapshot(t int64) {
	if !w.latched {
		w.latched = true
		w.repeat(w.callbacks.Latched(0), t)
	}
}

// repeat writes latched messages with the log time t. They count as bytes of the recording, not of the file:
// else a file that they fill would end with its first message.
func (w *Writer) repeat(list []*queue.Item, t int64) {
	defer queue.Release(list...)
	var repeated int64
	for _, it := range list {
		bytes, err := w.store(it, t)
		w.check(err)
		repeated += bytes
	}
	if series.Repeats(&w.Files, repeated) {
		w.callbacks.OnRepeats(repeated)
	}
}
