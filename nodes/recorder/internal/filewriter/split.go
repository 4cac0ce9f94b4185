package filewriter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tapedeck/codec"
	"tapedeck/nodes/internal/split"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/schedule"
)

// splitRequest asks for a split behind what was received until a time.
type splitRequest struct {
	until  int64
	begin  func() (codec.Writer, error) // begins the recording to go on in; nil: the same
	answer chan<- splitResult           // has room
}

type splitResult struct {
	closed, opened string // files
	err            error
}

// Split starts a new file for what is received after until. It returns once that is open, or when ctx ends, with the
// cause of that.
func (w *Writer) Split(ctx context.Context, until int64) (closed, opened string, err error) {
	return w.Continue(ctx, until, nil)
}

// Continue is Split with another Output, which Run begins with begin. The one before belongs to OnSplit then.
func (w *Writer) Continue(ctx context.Context, until int64, begin func() (codec.Writer, error),
) (closed, opened string, err error) {
	answer := make(chan splitResult, 1)
	select {
	case w.requests <- splitRequest{until, begin, answer}:
	case <-ctx.Done():
		return "", "", context.Cause(ctx)
	}
	select {
	case a := <-answer:
		return a.closed, a.opened, a.err
	case <-ctx.Done():
		return "", "", context.Cause(ctx)
	}
}

// SplitAt starts a new file with the first message that reaches a deadline; nil: with none.
func (w *Writer) SplitAt(d *schedule.Deadline) { w.splitAt.Store(d) }

func (w *Writer) answer(r splitResult) {
	w.request.answer <- r
	w.request = nil
}

// prepare starts another file if that is due before an item, and reports whether the item can be written then.
func (w *Writer) prepare(it *queue.Item) bool {
	switch {
	case w.broken != nil || w.full:
	case w.request != nil && it.ReceiveTime > w.request.until:
		w.answer(w.split(it.LogTime, it.ReceiveTime, w.request.begin))
	case w.splitDue(it):
		if r := w.split(it.LogTime, it.ReceiveTime, nil); r.err != nil {
			w.check(r.err)
		}
	case w.file.Full(&w.Files, it.LogTime, sizeOf(it)) && !time.Now().Before(w.retry):
		if r := w.split(it.LogTime, it.ReceiveTime, nil); r.err != nil {
			w.retry = time.Now().Add(retryDelay)
			w.check(r.err)
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
func (w *Writer) split(t, received int64, begin func() (codec.Writer, error)) splitResult {
	splitter, ok := w.Output.(codec.Splitter)
	var next codec.Writer
	if begin != nil {
		var err error
		if next, err = begin(); err != nil {
			return splitResult{err: err}
		}
	} else if !ok {
		return splitResult{err: errors.New("recordings of this format cannot be split")}
	}
	if w.broken == nil {
		w.writeEvents(w.callbacks.FileEvents(w.file.Start(), w.end, next != nil))
		if w.broken != nil && next == nil {
			return splitResult{err: w.broken}
		}
	}
	closed := w.File()
	if next != nil {
		w.replace(next)
	} else if err := splitter.Split(); err != nil {
		return splitResult{err: fmt.Errorf("start another file after %s: %w", closed, err)}
	} else {
		w.file.Next()
	}
	w.updateFile()
	w.broken = nil
	w.callbacks.OnSplit(closed, w.File(), t)
	if next != nil || !w.KeepsState {
		w.repeat(w.callbacks.Latched(received), t)
	}
	return splitResult{closed: closed, opened: w.File()}
}

// replace goes on in another recording.
func (w *Writer) replace(next codec.Writer) {
	w.mu.Lock()
	w.Output = next
	w.mu.Unlock()
	w.size, w.file = 0, split.File{}
	for _, c := range w.known {
		w.check(next.Declare(c))
	}
}

// follow notes that Output has begun another file by itself, if it has, with a message of the log time t.
func (w *Writer) follow(t int64) {
	closed := w.File()
	if w.updateFile(); w.File() == closed {
		return
	}
	w.file.Next()
	w.file.Begin(&w.Files, t)
	w.callbacks.OnSplit(closed, w.File(), t)
}

// repeat writes latched messages with the log time t. They count as bytes of the recording, not of the file:
// else a file that they fill would end with its first message.
func (w *Writer) repeat(list []*queue.Item, t int64) {
	defer queue.Release(list...)
	var repeated int64
	for _, it := range list {
		m := w.message(it, t)
		err := w.Output.Write(m)
		if w.check(err); err != nil {
			continue
		}
		w.payload += uint64(len(m.Data))
		bytes := w.grown(sizeOf(it))
		w.stored += bytes
		repeated += bytes
	}
	if split.Repeats(&w.Files, repeated) {
		w.callbacks.OnRepeats(repeated)
	}
}
