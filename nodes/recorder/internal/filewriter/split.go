package filewriter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/schedule"
)

// splitRequest asks for a split behind what was received until a time.
type splitRequest struct {
	until  int64
	answer chan<- splitResult // has room
}

type splitResult struct {
	closed, opened string // files
	err            error
}

// Split starts a new file for what is received after until. It returns once that is open, or when ctx ends, with the
// cause of that.
func (w *Writer) Split(ctx context.Context, until int64) (closed, opened string, err error) {
	answer := make(chan splitResult, 1)
	select {
	case w.requests <- splitRequest{until, answer}:
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
		w.answer(w.split(it.LogTime, it.ReceiveTime))
	case w.splitDue(it):
		if r := w.split(it.LogTime, it.ReceiveTime); r.err != nil {
			w.check(r.err)
		}
	case w.file.Full(&w.Files, it.LogTime, sizeOf(it)) && !time.Now().Before(w.retry):
		if r := w.split(it.LogTime, it.ReceiveTime); r.err != nil {
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

// split starts another file, which begins at the log time t with what was received at received.
func (w *Writer) split(t, received int64) splitResult {
	splitter, ok := w.Output.(codec.Splitter)
	if !ok {
		return splitResult{err: errors.New("recordings of this format cannot be split")}
	}
	if w.broken == nil {
		if w.writeEvents(w.callbacks.FileEvents(w.file.Start(), w.end, false)); w.broken != nil {
			return splitResult{err: w.broken}
		}
	}
	closed := splitter.File()
	if err := splitter.Split(); err != nil {
		return splitResult{err: fmt.Errorf("start another file after %s: %w", closed, err)}
	}
	w.updateFile()
	w.broken = nil
	w.file.Next()
	w.callbacks.OnSplit(closed, w.File(), t)
	if !w.KeepsState {
		w.repeat(w.callbacks.Latched(received), t)
	}
	return splitResult{closed: closed, opened: w.File()}
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

// repeat writes latched messages with the log time t.
func (w *Writer) repeat(list []*queue.Item, t int64) {
	defer queue.Release(list...)
	for _, it := range list {
		w.check(w.Output.Write(w.message(it, t)))
		w.file.Add(0, w.grown(sizeOf(it)))
	}
}
