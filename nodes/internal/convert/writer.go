package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tapedeck/bridge/recordings"
	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
	"tapedeck/codec/text/human"
	"tapedeck/nodes/internal/formats/live"
	"tapedeck/nodes/internal/readahead"
)

// writer writes the messages of a source to an output.
type writer struct {
	source   *source
	out      *output
	result   Result
	progress func(done, total time.Duration)
	warn     func(text string)    // may be nil
	events   func() []codec.Event // Job.Events
	warned   bool                 // about repeated messages
	start    int64                // LogTime of the first message that there may be, ns since the Unix epoch
	end      int64                // of the last one

	writer    codec.Writer
	composing live.ComposingWriter // the writer if it composes messages; else nil
	limits    series.SplitLimits
	file      series.Split
	latched   *state           // with which further files begin; nil if there are none
	refused   error            // of the first message that the format does not accept
	refusals  map[string]error // likewise of each topic
	lost      losses
	repeated  losses
}

// repeatedLatched is what Result.Repeated is about.
const repeatedLatched = "latched messages at the start of files"

func newWriter(s *source, out *output, progress func(done, total time.Duration)) *writer {
	return &writer{source: s, out: out, progress: progress, limits: s.plan.limits(),
		refusals: map[string]error{}, result: Result{Path: out.path}}
}

// run writes all messages.
func (w *writer) run(ctx context.Context, options codec.CreateOptions) error {
	var written uint64
	options.Completed = func(f codec.FileInfo, _ error) { written += f.MessageCount }
	err := w.open(options)
	if err != nil {
		return err
	}
	err = w.copy(ctx)
	if err == nil {
		err = w.note()
	}
	if closing := w.writer.Close(); err == nil {
		err = closing
	}
	s := w.source
	var missing *codec.MissingError
	switch {
	case errors.As(err, &missing): // nothing is kept of what was written before
		return fmt.Errorf("write %s: %w", w.out.path, missing.Err)
	case err != nil:
		return err
	case w.result.Messages == 0 && cmp.Or(w.refused, s.failure()) != nil:
		return cmp.Or(w.refused, s.failure())
	case w.result.Messages == 0 && s.salvages && len(options.Attachments) == 0:
		return errors.New("no message could be saved")
	}
	if s.composed {
		w.result.Messages, w.result.Topics = written, 1
	}
	lost := s.lost()
	lost.addAll(s.Losses())
	lost = append(lost, w.lost...)
	w.result.Throttled = s.throttled()
	lost.addAll(w.writer.Losses())
	w.result.Losses, w.result.Unplaced = lost.divide(s.target.format)
	if w.result.Messages == 0 && !s.salvages || w.composing != nil && w.composing.Empty() {
		return w.nothing()
	}
	for _, m := range s.state {
		w.repeated.add(repeatedLatched, m.Channel.Topic, 1)
	}
	if len(w.repeated) > 0 {
		w.result.Repeated = w.repeated[0]
	}
	return nil
}

// nothing returns why no message was written.
func (w *writer) nothing() error {
	lost := slices.IndexFunc(w.result.Losses, func(l Loss) bool { return l.Messages > 0 })
	switch {
	case w.source.info.MessageCount == 0 && lost < 0:
		return fmt.Errorf("%s is not written: there are no messages, or none on the selected topics", w.out.path)
	case lost >= 0:
		return fmt.Errorf("%s is not written, because it would hold no message: %s", w.out.path, w.result.Losses[lost])
	case w.source.start != 0 || w.source.end != 0:
		return fmt.Errorf("%s is not written: the selected topics have no messages in the selected time", w.out.path)
	}
	return fmt.Errorf("%s is not written: no message could be read", w.out.path)
}

// open creates the output.
func (w *writer) open(options codec.CreateOptions) (err error) {
	w.writer, err = w.out.create(options)
	if err != nil {
		return w.out.renamed(err)
	}
	if composer := w.source.target.composer; composer != nil && !w.source.composed {
		w.writer = composer.Transcoder(w.writer)
	} else if composer != nil {
		composing := composer.Writer(w.writer)
		w.composing, w.writer = composing, composing
	}
	if w.limits != (series.SplitLimits{}) && !w.source.composed {
		w.latched = newState(w.source.plan)
	}
	return nil
}

func (w *writer) copy(ctx context.Context) error {
	s := w.source
	if w.composing != nil {
		if err := w.composing.Expect(s); err != nil {
			return err
		}
	}
	topics := map[string]bool{}
	for _, t := range s.info.Topics {
		topics[t.Channel.Topic] = true
		var missing *codec.MissingError
		if err := w.writer.Declare(t.Channel); errors.As(err, &missing) {
			return err
		} else if err != nil {
			return w.out.renamed(err)
		}
	}
	w.result.Topics = len(topics)
	it, err := s.Read(codec.Query{})
	if err != nil {
		return err
	}
	wrote := error(nil)
	err = copyMessages(ctx, it, func(m *codec.Message) error {
		wrote = w.write(m)
		return wrote
	})
	if wrote == nil && ctx.Err() == nil {
		return s.plan.damaged(err)
	}
	return err
}

// note writes the events of the job behind the messages, if the format can hold them.
func (w *writer) note() error {
	t := w.source.target
	if w.events == nil || w.source.composed || t.format.OpenFrom == nil {
		return nil
	}
	for _, e := range w.events() {
		m, err := codec.EventMessage(e)
		if err != nil {
			return err
		}
		if !t.can(m.Channel.Encoding) {
			m = codec.EventMessage1(e)
		}
		if w.source.unfit(m.Channel, nil) != "" {
			return nil
		}
		m.LogTime = w.result.End
		if err := w.writer.Write(m); err != nil {
			return w.out.renamed(err)
		}
	}
	return nil
}

// readAheadSize is how many bytes of messages are read ahead of the message being written.
const readAheadSize = 4 << 20

// copyMessages calls write with each message of it, which another goroutine reads, and closes it.
func copyMessages(ctx context.Context, it codec.Iterator, write func(*codec.Message) error) error {
	return readahead.Each(ctx, it, readAheadSize, write)
}

// write writes a message.
func (w *writer) write(m *codec.Message) error {
	if m.LogTime < 0 { // no reader would find it
		when := "before 1970"
		if w.source.plan.Offset >= 0 && !slices.ContainsFunc(w.source.Parts, func(in *recordings.Part) bool {
			return !in.Original.Unsigned
		}) {
			when = "beyond 2262"
		}
		w.refuse(m, "messages "+when, errors.New("all messages are "+when))
		return nil
	}
	if w.source.plan.Offset > 0 && m.LogTime == math.MaxInt64 { // where codec.Later ends
		w.refuse(m, "messages beyond 2262", errors.New("all messages are beyond 2262"))
		return nil
	}
	if err := w.split(m); err != nil {
		return err
	}
	if err := w.put(m); err != nil {
		return err
	}
	if w.latched != nil {
		w.latched.add(m)
	}
	if w.progress != nil && w.result.Messages%16 == 0 {
		done := m.LogTime - int64(w.source.plan.Offset) - w.start
		w.progress(time.Duration(done), time.Duration(w.end-w.start))
	}
	return nil
}

// put writes a message to the current file.
func (w *writer) put(m *codec.Message) error {
	if err := w.writer.Write(m); err != nil {
		var missing *codec.MissingError
		if errors.As(err, &missing) {
			return err
		}
		// Other messages may still be written.
		err = w.out.renamed(err)
		first := w.refusals[m.Channel.Topic]
		if first == nil {
			first = err
			w.refusals[m.Channel.Topic] = err
		}
		w.refuse(m, fmt.Sprintf("messages that %s does not accept: %v", w.out.format.Name, first), err)
		return nil
	}
	if w.result.Messages == 0 {
		w.result.Start, w.result.End = m.LogTime, m.LogTime
	}
	// With --message-order times may go back.
	w.result.Start, w.result.End = min(w.result.Start, m.LogTime), max(w.result.End, m.LogTime)
	w.result.Messages++
	w.result.Bytes += int64(len(m.Data))
	return nil
}

// refuse counts a message that is left out.
func (w *writer) refuse(m *codec.Message, what string, err error) {
	w.refused = cmp.Or(w.refused, err)
	w.lost.add(what, m.Channel.Topic, 1)
}

// split starts another file if m belongs there.
func (w *writer) split(m *codec.Message) error {
	if w.limits == (series.SplitLimits{}) {
		return nil
	}
	size := series.MessageSize(m.Channel.Topic, m.Data)
	at := max(m.LogTime, w.result.End) // an early time begins no file: with --message-order many may
	if w.file.Full(&w.limits, at, size) {
		closed := w.writer.File()
		if err := w.writer.Split(); err != nil {
			return err
		}
		if err := w.out.checkSplit(w.writer.File()); err != nil {
			return err
		}
		w.file.Next()
		if err := w.mark(store.Base(closed), m.LogTime); err != nil {
			return err
		}
		if err := w.repeat(m.LogTime); err != nil {
			return err
		}
	}
	w.file.Begin(&w.limits, at)
	w.file.Add(size)
	return nil
}

// mark notes in a file, which begins at the log time t, that it continues the file called closed. Without the note
// readers would take a file behind a pause for another recording, unless metadata.yaml lists the files or Apollo's
// recorder names files so, and would not know that messages of topics are repeated that are not latched.
func (w *writer) mark(closed string, t int64) error {
	name, _ := series.Parse(closed)
	listed := name.Record() || store.Dir(w.writer.File()) != w.out.part
	if (listed || series.Adjoin(w.result.End, t)) && len(w.source.plan.repeats) == 0 {
		return nil
	}
	e := codec.SplitEvent(closed, t)
	switch target := w.source.target; {
	case target.can(codec.EncodingCDR):
	case target.can(codec.EncodingROS1):
		return w.writer.Write(codec.EventMessage1(e))
	default:
		return nil
	}
	m, err := codec.EventMessage(e)
	if err == nil {
		err = w.writer.Write(m)
	}
	return err
}

// repeat writes the last messages of latched topics, with the log time t of the first message of a file.
func (w *writer) repeat(t int64) error {
	if w.latched == nil {
		return nil
	}
	var bytes int64 // they do not count for the limits of the file, which they could fill
	for _, m := range w.latched.messages() {
		if !w.source.plan.Latched {
			w.lost.add(leftLatched, m.Channel.Topic, 1)
			continue
		}
		m.LogTime = t
		if err := w.put(&m); err != nil {
			return err
		}
		bytes += series.MessageSize(m.Channel.Topic, m.Data)
		w.repeated.add(repeatedLatched, m.Channel.Topic, 1)
	}
	if series.Repeats(&w.limits, bytes) && !w.warned && w.warn != nil {
		w.warned = true
		w.warn(fmt.Sprintf("each file begins with %s of repeated latched messages, more than a tenth of "+
			"--max-bag-size, which does not count them; use a larger one, or --latched=false", human.Bytes(bytes)))
	}
	return nil
}
