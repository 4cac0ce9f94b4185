package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/carla"
	"tapedeck/codec"
	layout "tapedeck/codec/carla"
	"tapedeck/nodes/internal/readahead"
)

// writing is an output that is being written.
type writing struct {
	recording *recording
	out       *output
	result    Result
	progress  func(done, total time.Duration)
	start     int64 // LogTime of the first message that there may be, ns since the Unix epoch
	end       int64 // of the last one

	writer   codec.Writer
	splitter codec.Splitter // nil unless there are limits
	limits   limits
	part     part
	refused  error // of the first message that the format does not take
	lost     losses
}

func newWriting(r *recording, out *output, progress func(done, total time.Duration)) *writing {
	return &writing{recording: r, out: out, progress: progress, limits: r.plan.limits(), result: Result{Path: out.path}}
}

// run writes all messages.
func (w *writing) run(ctx context.Context, options codec.CreateOptions) error {
	var written uint64
	options.Completed = func(f codec.FileInfo, _ error) { written += f.MessageCount }
	err := w.open(options)
	if err != nil {
		return err
	}
	err = w.copy(ctx)
	if closing := w.writer.Close(); err == nil {
		err = closing
	}
	r := w.recording
	var missing *codec.MissingError
	switch {
	case errors.As(err, &missing): // nothing is kept of what was written before
		return fmt.Errorf("write %s: %w", w.out.path, missing.Err)
	case err != nil:
		return err
	case w.result.Messages == 0 && cmp.Or(w.refused, r.failure()) != nil:
		return cmp.Or(w.refused, r.failure())
	case w.result.Messages == 0 && r.damaged != nil:
		return errors.New("no message could be saved")
	}
	if r.authors() {
		w.result.Messages, w.result.Topics = written, 1
	}
	var lost losses
	lost, w.result.Throttled = r.finish()
	lost = append(lost, w.lost...)
	if lossy, ok := w.writer.(bridge.Lossy); ok {
		lost.addAll(lossy.Losses())
	}
	w.result.Losses = lost
	return nil
}

// open creates the output.
func (w *writing) open(options codec.CreateOptions) (err error) {
	if w.writer, err = w.out.create(options); err != nil {
		return err
	}
	switch log := w.recording.plan.carla; {
	case w.recording.authors():
		w.writer = carla.NewWriter(w.writer, log)
	case log.Profile.Name != "" && w.out.format.Name == layout.Name:
		w.writer = carla.NewTranscoder(w.writer, log.Profile)
	}
	if w.limits == (limits{}) {
		return nil
	}
	splitter, ok := w.writer.(codec.Splitter)
	if !ok {
		return errors.Join(fmt.Errorf("write %s: recordings of the format %s cannot be split", w.out.path, w.out.format.Name), w.writer.Close())
	}
	w.splitter = splitter
	return nil
}

func (w *writing) copy(ctx context.Context) error {
	r := w.recording
	if author, ok := w.writer.(*carla.Writer); ok {
		if err := author.Expect(r); err != nil {
			return err
		}
	}
	topics := map[string]bool{}
	for _, t := range r.info.Topics {
		topics[t.Channel.Topic] = true
		var missing *codec.MissingError
		if err := w.writer.Declare(t.Channel); errors.As(err, &missing) {
			return err
		} else if err != nil {
			return w.plain(err)
		}
	}
	w.result.Topics = len(topics)
	it, err := r.Read(codec.Query{})
	if err != nil {
		return err
	}
	return copyMessages(ctx, it, w.write)
}

// readAheadSize is how many bytes of messages are read ahead of the one that is written.
const readAheadSize = 4 << 20

// copyMessages reads messages in a goroutine of its own and calls write with each in this one. It closes it.
func copyMessages(ctx context.Context, it codec.Iterator, write func(*codec.Message) error) (err error) {
	more := make(chan struct{}, 1)
	r := readahead.New(it, readAheadSize, func() {
		select {
		case more <- struct{}{}:
		default:
		}
	})
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		m, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%w; 'converter recover' saves what is behind the damage", err)
		case m == nil:
			<-more
			continue
		}
		if err := write(m); err != nil {
			return err
		}
	}
}

// write writes a message.
func (w *writing) write(m *codec.Message) error {
	if m.LogTime < 0 { // no reader would find it
		w.refuse(m, "messages before 1970", errors.New("all messages are before 1970"))
		return nil
	}
	if err := w.split(m); err != nil {
		return err
	}
	if err := w.writer.Write(m); err != nil {
		var missing *codec.MissingError
		if errors.As(err, &missing) {
			return err
		}
		// It is about this message alone.
		err = w.plain(err)
		w.refuse(m, fmt.Sprintf("messages that a %s does not take: %v", w.out.format.Name, cmp.Or(w.refused, err)), err)
		return nil
	}
	if w.result.Messages == 0 {
		w.result.Start = m.LogTime
	}
	w.result.End = m.LogTime
	w.result.Messages++
	w.result.Bytes += int64(len(m.Data))
	if w.progress != nil && w.result.Messages%16 == 0 {
		done := m.LogTime - int64(w.recording.plan.Offset) - w.start
		w.progress(time.Duration(done), time.Duration(w.end-w.start))
	}
	return nil
}

// plain returns an error that names the output as its user does.
func (w *writing) plain(err error) error {
	return errors.New(strings.ReplaceAll(err.Error(), w.out.part+"/", ""))
}

// refuse notes that a message is left out.
func (w *writing) refuse(m *codec.Message, what string, err error) {
	w.refused = cmp.Or(w.refused, err)
	w.lost.add(what, m.Channel.Topic, 1)
}

// split has the message go into another file if it belongs there.
func (w *writing) split(m *codec.Message) error {
	if w.splitter == nil {
		return nil
	}
	if w.part.enough(&w.limits, m) {
		if err := w.splitter.Split(); err != nil {
			return err
		}
		w.part.next()
	}
	w.part.add(&w.limits, m)
	return nil
}
