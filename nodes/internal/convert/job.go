// Package convert turns recordings of any format into one of any other.
package convert

import (
	"context"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/align"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/human"
)

// Job is one conversion: of recordings, which are merged in time, to one.
type Job struct {
	Formats formats.List // known ones
	Inputs  []string
	Output  string
	Options Options

	// Damaged, unless it is nil, is told of damaged places in the inputs, in another goroutine than Progress is, and
	// all that is behind them is read. The output has at least one message then.
	Damaged func(error)
	// Open opens an input; nil is Formats.Open.
	Open func(path string) (codec.Reader, error)

	Warn     func(text string)               // nil: nobody hears of what is odd
	Progress func(done, total time.Duration) // unless it is nil it is told often how much of the recorded time is written
	// episodes that are worked on at once, where each becomes a file; 0 is as many as there are processors
	Workers int
}

// Result says what was written.
type Result struct {
	Path      string
	Files     []string // one, or several when it was split
	Messages  uint64
	Topics    int           // names
	Bytes     int64         // of payloads
	Start     int64         // LogTime of the first message written, ns since the Unix epoch
	End       int64         // of the last one
	Took      time.Duration // from opening the output to its end
	Losses    []Loss        // what is not in the output though it was in what was selected
	Throttled Loss          // what Options.Throttle left out
	Episodes  []Episode     // of formats that keep these; there are no Messages then
}

// Episode says what was written of an episode.
type Episode struct {
	Name   string
	Start  int64         // ns since the Unix epoch
	End    int64         // likewise
	Frames int           // of all cameras
	Report *align.Report // nil where there are no rows, as in a session
}

// Run converts. Unless its error is nil there is no output.
func (j *Job) Run(ctx context.Context) (*Result, error) {
	p, err := j.Options.parse()
	if err != nil {
		return nil, err
	}
	format, err := FormatOf(j.Formats, j.Output, p.To)
	if err != nil {
		return nil, err
	}
	if format.Episodes != nil {
		return j.runEpisodes(ctx, p, format)
	}
	t, err := newTarget(format, p)
	if err != nil {
		return nil, err
	}
	var ins inputs
	defer func() { ins.Close() }()
	for _, path := range j.Inputs {
		in, err := j.open(path, p, t)
		if err != nil {
			return nil, err
		}
		ins = append(ins, in)
	}
	return j.convert(ctx, p, t, ins)
}

func (j *Job) convert(ctx context.Context, p *plan, t *target, ins inputs) (*Result, error) {
	if err := p.selection.Check(ins.infos(), j.warn); err != nil {
		return nil, err
	}
	first, last := ins.window()
	window, err := p.window(first)
	if err != nil {
		return nil, err
	}
	if p.start != nil && window.Start > last {
		j.warn("there are no messages from --start on: the recording ends before it")
	}
	for _, in := range ins {
		if !in.original.Complete && j.Damaged == nil {
			j.warn(in.path + " is not complete; what can be read of it is converted")
		}
		if len(in.still) > 0 {
			j.warn("stamps are known in messages of ROS 2 alone, not in those of " + human.List(in.still))
		}
	}
	s := newSource(p, t, ins, window)
	s.observer.damaged = j.Damaged
	if err := s.refuse(j.Output); err != nil {
		return nil, err
	}
	out, err := newOutput(j.Output, j.Formats, t.format, p.Overwrite, ins.originals())
	if err != nil {
		return nil, err
	}
	defer out.Close()
	begin := time.Now()
	w := newWriter(s, out, j.Progress)
	w.start, w.end = max(first, window.Start), last
	if window.End > 0 {
		w.end = min(last, window.End)
	}
	metadata := ins.metadata()
	if s.authored {
		t.author.Inherit(metadata)
	}
	options := p.create(metadata)
	options.Salvaged = j.Damaged != nil
	if err := w.run(ctx, options); err != nil {
		return nil, err
	}
	if p.Strict {
		if err := losses(w.result.Losses).strict(out.path); err != nil {
			return nil, err
		}
	}
	w.result.Took = time.Since(begin)
	w.result.Files, err = out.commit()
	return &w.result, err
}

// open opens an input.
func (j *Job) open(path string, p *plan, t *target) (*input, error) {
	open := j.Open
	if open == nil {
		open = j.Formats.Open
	}
	source, err := open(path)
	if err != nil {
		return nil, err
	}
	if j.Damaged == nil {
		source = intact{source}
	}
	return newInput(path, source, p, t)
}

func (j *Job) warn(text string) {
	if j.Warn != nil {
		j.Warn(text)
	}
}
