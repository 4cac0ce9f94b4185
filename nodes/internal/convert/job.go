// Package convert turns recordings of any format into one of any other.
package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/carla"
	"tapedeck/codec"
)

// Job is one conversion: of recordings, which are merged in time, to one.
type Job struct {
	Inputs  []string
	Output  string
	Options Options

	// Damaged, unless it is nil, is told of damaged places in the inputs, and all that is behind them is read. The output has at
	// least one message then.
	Damaged func(error)
	// Open opens an input; nil is codec.Open.
	Open func(path string) (codec.Reader, error)

	Warn     func(text string)               // nil: nobody hears of what is odd
	Progress func(done, total time.Duration) // unless it is nil it is told often how much of the recorded time is written
}

// Result says what was written.
type Result struct {
	Path      string
	Files     []string // one, or several when it was split
	Messages  uint64
	Topics    int
	Bytes     int64         // of payloads
	Start     int64         // LogTime of the first message written, ns since the Unix epoch
	End       int64         // of the last one
	Took      time.Duration // from opening the output to its end
	Losses    []Loss        // what is not in the output though it was in what was selected
	Throttled Loss          // what Options.Throttle left out
}

// Run converts. Unless its error is nil there is no output.
func (j *Job) Run(ctx context.Context) (*Result, error) {
	p, err := j.Options.parse()
	if err != nil {
		return nil, err
	}
	format, err := FormatOf(j.Output, p.To)
	if err != nil {
		return nil, err
	}
	h, err := newHolding(format, p.Storage, p.Encoding)
	if err != nil {
		return nil, err
	}
	var ins inputs
	defer func() { ins.Close() }()
	for _, path := range j.Inputs {
		in, err := j.open(path, p, h)
		if err != nil {
			return nil, err
		}
		ins = append(ins, in)
	}
	return j.convert(ctx, p, h, ins)
}

func (j *Job) convert(ctx context.Context, p *plan, h *holding, ins inputs) (*Result, error) {
	if err := p.selection.Check(ins.infos(), j.warn); err != nil {
		return nil, err
	}
	first, last := ins.window()
	window, err := p.window(first)
	if err != nil {
		return nil, err
	}
	for _, in := range ins {
		if !in.original.Complete && j.Damaged == nil {
			j.warn(in.path + " is not complete; what can be read of it is converted")
		}
		if len(in.still) > 0 {
			j.warn("stamps are known in messages of ROS 2 alone, not in those of " + list(in.still))
		}
	}
	r := newRecording(p, h, ins, window)
	r.damaged = j.Damaged
	if err := r.refuse(j.Output); err != nil {
		return nil, err
	}
	out, err := newOutput(j.Output, h.format, p.Overwrite, ins.originals())
	if err != nil {
		return nil, err
	}
	defer out.Close()
	w := &writing{limits: p.limits(), result: Result{Path: out.path}, format: h.format.Name, start: max(first, window.Start), total: last - max(first, window.Start)}
	if window.End > 0 {
		w.total = min(last, window.End) - w.start
	}
	w.start += int64(p.Offset)
	w.progress = j.Progress
	begin := time.Now()
	options := p.create(ins.metadata())
	options.Salvaged = j.Damaged != nil
	if err := w.open(out, r, options); err != nil {
		return nil, err
	}
	err = w.run(ctx, r)
	if closing := w.writer.Close(); err == nil && closing != nil {
		err = fmt.Errorf("write %s: %w", out.path, closing)
	}
	if err == nil && w.result.Messages == 0 {
		if err = cmp.Or(w.refused, r.failure()); err == nil && j.Damaged != nil {
			err = errors.New("no message could be saved")
		}
	}
	var missing *codec.MissingError
	if errors.As(err, &missing) { // nothing is kept of what was written before
		err = fmt.Errorf("write %s: %w", out.path, missing.Err)
	}
	if err != nil {
		return nil, err
	}
	result := &w.result
	var lost losses
	lost, result.Throttled = r.finish()
	lost = append(lost, w.lost...)
	if lossy, ok := w.writer.(bridge.Lossy); ok {
		lost.addAll(lossy.Losses())
	}
	result.Losses = lost
	if p.Strict {
		if err := lost.strict(out.path); err != nil {
			return nil, err
		}
	}
	result.Took = time.Since(begin)
	result.Files, err = out.commit()
	return result, err
}

// open opens an input.
func (j *Job) open(path string, p *plan, h *holding) (*input, error) {
	open := j.Open
	if open == nil {
		open = codec.Open
	}
	source, err := open(path)
	if err != nil {
		return nil, err
	}
	if j.Damaged == nil {
		source = intact{source}
	}
	return newInput(path, source, p, h)
}

func (j *Job) warn(text string) {
	if j.Warn != nil {
		j.Warn(text)
	}
}

// refuse returns an error if something is wrong that is known before reading.
func (r *recording) refuse(path string) error {
	switch {
	case r.plan.Unmatched == "fail" && len(r.left) > 0:
		return fmt.Errorf("%s is not written, as --unmatched fail asks: %s", path, r.left[0])
	case r.plan.Strict:
		return slices.Concat(r.left, r.lost).strict(path)
	case len(r.info.Topics) == 0 && len(r.left) > 0:
		return fmt.Errorf("%s is not written, as nothing can be in it: %s", path, r.left[0])
	}
	return nil
}

// writing is a recording that is being written.
type writing struct {
	writer   codec.Writer
	splitter codec.Splitter // nil unless there are limits
	limits   limits
	part     part
	result   Result
	format   string
	refused  error // of the first message that the format does not take
	lost     losses

	progress     func(done, total time.Duration)
	start, total int64 // of time, ns
}

func (w *writing) open(out *output, r *recording, options codec.CreateOptions) (err error) {
	if w.writer, err = out.create(options); err != nil {
		return err
	}
	if r.authors() {
		w.writer = carla.NewWriter(w.writer, r.plan.carla)
	}
	if w.limits == (limits{}) {
		return nil
	}
	splitter, ok := w.writer.(codec.Splitter)
	if !ok {
		return errors.Join(fmt.Errorf("write %s: recordings of the format %s cannot be split", out.path, out.format.Name), w.writer.Close())
	}
	w.splitter = splitter
	return nil
}

func (w *writing) run(ctx context.Context, r *recording) error {
	if author, ok := w.writer.(*carla.Writer); ok {
		if err := author.Expect(r); err != nil {
			return err
		}
	}
	for _, t := range r.info.Topics {
		if err := w.writer.Declare(t.Channel); err != nil {
			return err
		}
	}
	w.result.Topics = len(r.info.Topics)
	it, err := r.Read(codec.Query{})
	if err != nil {
		return err
	}
	return pipe(ctx, it, w.write)
}

func (w *writing) write(m *codec.Message) error {
	if m.LogTime < 0 { // no reader would find it
		w.refused = cmp.Or(w.refused, errors.New("all messages are before 1970"))
		w.lost.add("messages before 1970", m.Channel.Topic, 1)
		return nil
	}
	if w.splitter != nil {
		if w.part.enough(&w.limits, m) {
			if err := w.splitter.Split(); err != nil {
				return err
			}
			w.part.next()
		}
		w.part.add(&w.limits, m)
	}
	var missing *codec.MissingError
	switch err := w.writer.Write(m); {
	case err == nil:
	case errors.As(err, &missing):
		return err
	default: // it is about this message alone
		w.refused = cmp.Or(w.refused, err)
		w.lost.add(fmt.Sprintf("messages that a %s does not take: %v", w.format, w.refused), m.Channel.Topic, 1)
		return nil
	}
	if w.result.Messages == 0 {
		w.result.Start = m.LogTime
	}
	w.result.End = m.LogTime
	w.result.Messages++
	w.result.Bytes += int64(len(m.Data))
	if w.progress != nil && w.result.Messages%16 == 0 {
		w.progress(time.Duration(m.LogTime-w.start), time.Duration(w.total))
	}
	return nil
}
