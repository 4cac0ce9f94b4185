package filewriter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/schedule"
)

// request asks Run to do something behind what was received until a time.
type request struct {
	until  int64
	do     func(t, received int64) error // what comes then has the log time t and was received at received
	answer chan<- error                  // has room
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

// Continue is Split with another output, which Run begins with begin. The one before belongs to OnSplit then.
func (w *Writer) Continue(ctx context.Context, until int64, begin func() (codec.Writer, error),
) (closed, opened string, err error) {
	var r splitResult
	err = w.ask(ctx, until, func(t, received int64) error {
		r = w.split(t, received, begin)
		return r.err
	})
	if err != nil {
		return "", "", err
	}
	return r.closed, r.opened, nil
}

// Discarder is an output that holds episodes.
type Discarder interface {
	// Discard marks the episode that is being recorded, or else the one that ended last, as discarded. It returns which
	// one that is, in words, and the paths of its files. It may be called after Close.
	Discard() (what string, paths []string, err error)
	// Discarded returns how many episodes were discarded. It may be called beside all other methods.
	Discarded() int
}

// DiscardEpisode calls Discard of the output, which is a Discarder, behind what was received until then.
func (w *Writer) DiscardEpisode(ctx context.Context, until int64) (what string, paths []string, err error) {
	var r struct {
		what  string
		paths []string
	}
	err = w.ask(ctx, until, func(int64, int64) (err error) {
		r.what, r.paths, err = w.output.(Discarder).Discard()
		return err
	})
	if err != nil {
		return "", nil, err
	}
	return r.what, r.paths, nil
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
func (w *Writer) SplitAt(d *schedule.Deadline) { w.splitAt.Store(d) }

func (w *Writer) answer(err error) {
	w.request.answer <- err
	w.request = nil
}

// prepare starts another file if that is due before an item, and reports whether the item can be written then.
func (w *Writer) prepare(it *queue.Item) bool {
	switch {
	case w.broken != nil || w.full:
	case w.request != nil && it.ReceiveTime > w.request.until:
		w.answer(w.request.do(it.LogTime, it.ReceiveTime))
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
	splitter, ok := w.output.(codec.Splitter)
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
		w.endFile(next != nil)
		if w.broken != nil && next == nil {
			return splitResult{err: w.broken}
		}
	}
	if w.broken == nil {
		w.totals.end(w.file.Start(), w.end, next != nil)
	} else {
		w.totals.end(0, 0, false) // its messages may be missing
	}
	closed := w.File()
	recording := w.totals.open.recording
	begins := cmp.Or(t, w.callbacks.Now())
	if next != nil {
		recording = &recordingTotals{began: begins}
		w.replace(next)
	} else if err := splitter.Split(); err != nil {
		return splitResult{err: fmt.Errorf("start another file after %s: %w", closed, err)}
	} else {
		w.file.Next()
	}
	w.updateFile()
	w.broken = nil
	w.totals.begin(w.File(), recording)
	w.callbacks.OnSplit(closed, w.File(), begins)
	if next != nil || !w.KeepsState {
		w.repeat(w.callbacks.Latched(received), t)
	}
	return splitResult{closed: closed, opened: w.File()}
}

// replace goes on in another recording.
func (w *Writer) replace(next codec.Writer) {
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
	if w.updateFile(); w.File() == closed {
		return
	}
	w.totals.begin(w.File(), w.totals.open.recording)
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
		err := w.output.Write(m)
		if w.check(err); err != nil {
			continue
		}
		w.payload += uint64(len(m.Data))
		bytes := w.grown(sizeOf(it))
		w.stored += bytes
		repeated += bytes
	}
	if series.Repeats(&w.Files, repeated) {
		w.callbacks.OnRepeats(repeated)
	}
}
