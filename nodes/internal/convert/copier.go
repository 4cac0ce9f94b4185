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

// copier copies the messages of a reader to an output, which it splits into files.
type copier struct {
	reader       *messageReader
	out          *output
	result       Result
	progress     func(done, total time.Duration)
	warn         func(text string)    // may be nil
	events       func() []codec.Event // Job.Events
	warnedOfSize bool                 // that latched messages fill files
	start        int64                // earliest possible LogTime without Options.Offset, ns since the Unix epoch
	end          int64                // latest possible LogTime without Options.Offset, ns since the Unix epoch

	writer       codec.Writer
	composing    live.ComposingWriter // writer, if it composes messages; else nil
	limits       series.SplitLimits
	file         series.Split
	latched      *latchedCache    // latest latched messages, with which further files begin; nil if there is one file
	firstRefusal error            // error of the first message that is skipped
	refusals     map[string]error // first error of each topic, from the format's writer
	lost         losses
	repeated     losses
}

// repeatedLatched is the text of Result.Repeated.
const repeatedLatched = "latched messages at the start of files"

func newCopier(r *messageReader, out *output, progress func(done, total time.Duration)) *copier {
	return &copier{reader: r, out: out, progress: progress, limits: r.settings.splitLimits(),
		refusals: map[string]error{}, result: Result{Path: out.path}}
}

// run writes all messages.
func (c *copier) run(ctx context.Context, options codec.CreateOptions) error {
	var written uint64
	options.Completed = func(f codec.FileInfo, _ error) { written += f.MessageCount }
	err := c.open(options)
	if err != nil {
		return err
	}
	err = c.copy(ctx)
	if err == nil {
		err = c.writeEvents()
	}
	if closing := c.writer.Close(); err == nil {
		err = closing
	}
	r := c.reader
	var missing *codec.MissingError
	switch {
	case errors.As(err, &missing): // the messages written before are not kept
		return fmt.Errorf("write %s: %w", c.out.path, missing.Err)
	case err != nil:
		return err
	case c.result.Messages == 0 && cmp.Or(c.firstRefusal, r.failure()) != nil:
		return cmp.Or(c.firstRefusal, r.failure())
	case c.result.Messages == 0 && r.salvages && len(options.Attachments) == 0:
		return errors.New("no message could be saved")
	}
	if r.composed {
		c.result.Messages, c.result.Topics = written, 1
	}
	lost := r.lost()
	lost.addAll(r.Losses())
	lost = append(lost, c.lost...)
	c.result.Throttled = r.throttled()
	lost.addAll(c.writer.Losses())
	c.result.Losses, c.result.Unplaced = lost.divide(r.target.format)
	if c.result.Messages == 0 && !r.salvages || c.composing != nil && c.composing.Empty() {
		return c.emptyError()
	}
	for _, m := range r.latched {
		c.repeated.add(repeatedLatched, m.Channel.Topic, 1)
	}
	if len(c.repeated) > 0 {
		c.result.Repeated = c.repeated[0]
	}
	return nil
}

// emptyError returns an error that says why no message was written.
func (c *copier) emptyError() error {
	lost := slices.IndexFunc(c.result.Losses, func(l Loss) bool { return l.Messages > 0 })
	switch {
	case c.reader.info.MessageCount == 0 && lost < 0:
		return fmt.Errorf("%s is not written: there are no messages, or none on the selected topics", c.out.path)
	case lost >= 0:
		return fmt.Errorf("%s is not written, because it would hold no message: %s", c.out.path, c.result.Losses[lost])
	case c.reader.start != 0 || c.reader.end != 0:
		return fmt.Errorf("%s is not written: the selected topics have no messages in the selected time", c.out.path)
	}
	return fmt.Errorf("%s is not written: no message could be read", c.out.path)
}

// open creates the output.
func (c *copier) open(options codec.CreateOptions) (err error) {
	c.writer, err = c.out.create(options)
	if err != nil {
		return c.out.withOutputPath(err)
	}
	if composer := c.reader.target.composer; composer != nil && !c.reader.composed {
		c.writer = composer.Transcoder(c.writer)
	} else if composer != nil {
		composing := composer.Writer(c.writer)
		c.composing, c.writer = composing, composing
	}
	if c.limits != (series.SplitLimits{}) && !c.reader.composed {
		c.latched = newLatchedCache(c.reader.settings)
	}
	return nil
}

func (c *copier) copy(ctx context.Context) error {
	r := c.reader
	if c.composing != nil {
		if err := c.composing.Expect(r); err != nil {
			return err
		}
	}
	topics := map[string]bool{}
	for _, t := range r.info.Topics {
		topics[t.Channel.Topic] = true
		var missing *codec.MissingError
		if err := c.writer.Declare(t.Channel); errors.As(err, &missing) {
			return err
		} else if err != nil {
			return c.out.withOutputPath(err)
		}
	}
	c.result.Topics = len(topics)
	it, err := r.Read(codec.Query{})
	if err != nil {
		return err
	}
	wrote := error(nil)
	err = copyMessages(ctx, it, func(m *codec.Message) error {
		wrote = c.write(m)
		return wrote
	})
	if wrote == nil && ctx.Err() == nil {
		return r.settings.damageError(err)
	}
	return err
}

// writeEvents writes the events of the job after the messages if the format can hold them.
func (c *copier) writeEvents() error {
	t := c.reader.target
	if c.events == nil || c.reader.composed || t.format.OpenFrom == nil {
		return nil
	}
	for _, e := range c.events() {
		m, err := codec.EventMessage(e)
		if err != nil {
			return err
		}
		if !t.holds(m.Channel.Encoding) {
			m = codec.EventMessage1(e)
		}
		if c.reader.unfit(m.Channel, nil) != "" {
			return nil
		}
		m.LogTime = c.result.End
		if err := c.writer.Write(m); err != nil {
			return c.out.withOutputPath(err)
		}
	}
	return nil
}

// readAheadSize is the limit of bytes of messages that are read ahead of the message being written.
const readAheadSize = 4 << 20

// copyMessages calls write with each message of it, which another goroutine reads. It closes it.
func copyMessages(ctx context.Context, it codec.Iterator, write func(*codec.Message) error) error {
	return readahead.Each(ctx, it, readAheadSize, write)
}

// write writes a message.
func (c *copier) write(m *codec.Message) error {
	if m.LogTime < 0 { // no reader would find the message
		when := "before 1970"
		if c.reader.settings.Offset >= 0 && !slices.ContainsFunc(c.reader.Parts, func(in *recordings.Part) bool {
			return !in.Original.Unsigned
		}) {
			when = "beyond 2262"
		}
		c.refuse(m, "messages "+when, errors.New("all messages are "+when))
		return nil
	}
	if c.reader.settings.Offset > 0 && m.LogTime == math.MaxInt64 { // codec.Later returns no later time
		c.refuse(m, "messages beyond 2262", errors.New("all messages are beyond 2262"))
		return nil
	}
	if err := c.splitBefore(m); err != nil {
		return err
	}
	if err := c.put(m); err != nil {
		return err
	}
	if c.latched != nil {
		c.latched.add(m)
	}
	if c.progress != nil && c.result.Messages%16 == 0 {
		done := m.LogTime - int64(c.reader.settings.Offset) - c.start
		c.progress(time.Duration(done), time.Duration(c.end-c.start))
	}
	return nil
}

// put writes a message to the current file. It skips a message that the format does not accept.
func (c *copier) put(m *codec.Message) error {
	if err := c.writer.Write(m); err != nil {
		var missing *codec.MissingError
		if errors.As(err, &missing) {
			return err
		}
		// Other messages may still be written.
		err = c.out.withOutputPath(err)
		first := c.refusals[m.Channel.Topic]
		if first == nil {
			first = err
			c.refusals[m.Channel.Topic] = err
		}
		c.refuse(m, fmt.Sprintf("messages that %s does not accept: %v", c.out.format.Name, first), err)
		return nil
	}
	if c.result.Messages == 0 {
		c.result.Start, c.result.End = m.LogTime, m.LogTime
	}
	// Times may go back with --message-order.
	c.result.Start, c.result.End = min(c.result.Start, m.LogTime), max(c.result.End, m.LogTime)
	c.result.Messages++
	c.result.Bytes += int64(len(m.Data))
	return nil
}

// refuse counts a message that is skipped.
func (c *copier) refuse(m *codec.Message, what string, err error) {
	c.firstRefusal = cmp.Or(c.firstRefusal, err)
	c.lost.add(what, m.Channel.Topic, 1)
}

// splitBefore starts another file if m belongs in it.
func (c *copier) splitBefore(m *codec.Message) error {
	if c.limits == (series.SplitLimits{}) {
		return nil
	}
	size := series.MessageSize(m.Channel.Topic, m.Data)
	// With --message-order many messages have earlier times, which must start no file.
	at := max(m.LogTime, c.result.End)
	if c.file.Full(&c.limits, at, size) {
		closed := c.writer.File()
		if err := c.writer.Split(); err != nil {
			return err
		}
		if err := c.out.checkSplit(c.writer.File()); err != nil {
			return err
		}
		c.file.Next()
		if err := c.writeSplitEvent(store.Base(closed), m.LogTime); err != nil {
			return err
		}
		if err := c.repeatLatched(m.LogTime); err != nil {
			return err
		}
	}
	c.file.Begin(&c.limits, at)
	c.file.Add(size)
	return nil
}

// writeSplitEvent notes in a new file, which begins at log time t, that it continues the file named closed. Without the
// note readers would take a file behind a pause for another recording, unless metadata.yaml or the name shows that it
// is a further file. They would also not know that messages of --repeat topics are repetitions.
func (c *copier) writeSplitEvent(closed string, t int64) error {
	name, _ := series.Parse(closed)
	listed := name.Record() || store.Dir(c.writer.File()) != c.out.tempFolder
	if (listed || series.Adjoin(c.result.End, t)) && len(c.reader.settings.repeats) == 0 {
		return nil
	}
	e := codec.SplitEvent(closed, t)
	switch target := c.reader.target; {
	case target.holds(codec.EncodingCDR):
	case target.holds(codec.EncodingROS1):
		return c.writer.Write(codec.EventMessage1(e))
	default:
		return nil
	}
	m, err := codec.EventMessage(e)
	if err == nil {
		err = c.writer.Write(m)
	}
	return err
}

// repeatLatched writes the latest messages of latched topics, with the log time t of a file's first message.
func (c *copier) repeatLatched(t int64) error {
	if c.latched == nil {
		return nil
	}
	var bytes int64 // of repeated messages; they do not count for the file's limits, because they could fill the file
	for _, m := range c.latched.messages() {
		if !c.reader.settings.Latched {
			c.lost.add(skippedLatched, m.Channel.Topic, 1)
			continue
		}
		m.LogTime = t
		if err := c.put(&m); err != nil {
			return err
		}
		bytes += series.MessageSize(m.Channel.Topic, m.Data)
		c.repeated.add(repeatedLatched, m.Channel.Topic, 1)
	}
	if series.Repeats(&c.limits, bytes) && !c.warnedOfSize && c.warn != nil {
		c.warnedOfSize = true
		c.warn(fmt.Sprintf("each file begins with %s of repeated latched messages, more than a tenth of "+
			"--max-bag-size, which does not count them; use a larger one, or --latched=false", human.Bytes(bytes)))
	}
	return nil
}
