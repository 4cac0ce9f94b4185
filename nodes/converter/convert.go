package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"tapedeck/codec"
	"tapedeck/config"
	"tapedeck/nodes/internal/progress"
)

// outputOptions say how a recording is written.
type outputOptions struct {
	To          string      `param:"to" group:"Output" help:"format to write: record, mcap, rosbag2; by default the one that the name of the output means"`
	ChunkSize   config.Size `param:"chunk_size" group:"Output" min:"0" max:"1073741824" help:"payload bytes after which a chunk is closed; 0 is the format's default"`
	Compression string      `param:"compression" group:"Output" help:"of chunks, as far as the format has it: none, lz4, zstd; by default the format's own choice"`
	Overwrite   bool        `param:"overwrite" group:"Output" help:"replace an existing output"`
}

func (o *outputOptions) create() codec.CreateOptions {
	return codec.CreateOptions{ChunkSize: int(o.ChunkSize), Compression: o.Compression}
}

// convertOptions are the parameters of the conversion.
type convertOptions struct {
	Topics  []string `param:"topics" short:"t" group:"Selection" help:"only these topics: names, or regular expressions that match a whole name; repeat it or put commas between them"`
	Exclude []string `param:"exclude" short:"x" group:"Selection" help:"without these topics; likewise"`
	Start   string   `param:"start" group:"Selection" help:"leave out what is earlier: seconds from the start (12.5), a date (2021-07-23 09:12:15) or ns since 1970"`
	End     string   `param:"end" group:"Selection" help:"leave out this moment and what is later; likewise"`

	outputOptions
}

// convert writes what o selects of the recordings at paths as one, to the last of paths.
func (o *convertOptions) convert(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	selected, start, end, err := o.parse()
	if err != nil {
		return err
	}
	last := len(paths) - 1
	ins, err := openInputs(paths[:last])
	if err != nil {
		return err
	}
	defer ins.Close()
	warn := func(text string) { fmt.Fprintln(stderr, "warning:", text) }
	if err := selected.check(ins.infos(), warn); err != nil {
		return err
	}
	q := codec.Query{Topics: selected.wants}
	first, latest := ins.window()
	if start != nil {
		q.Start = start.at(first)
	}
	if end != nil {
		q.End = end.at(first)
		if q.End <= q.Start {
			return config.Usagef("--end %s is not behind the start", o.End)
		}
		latest = min(latest, q.End)
	}
	for _, in := range ins {
		if !in.info.Complete {
			warn(in.path + " is not complete; what can be read of it is converted")
		}
	}
	out, err := newOutput(paths[last], o.To, o.Overwrite, ins)
	if err != nil {
		return err
	}
	defer out.Close()
	it, err := ins.read(q)
	if err != nil {
		return err
	}
	defer it.Close()
	options := o.create()
	options.Metadata = ins.metadata()
	c := copier{channels: newChannels(ins.infos(), selected.wants), start: max(first, q.Start)}
	c.bar = progress.Seconds(os.Stderr, "converting", time.Duration(latest-c.start))
	err = c.run(ctx, it, out, options)
	c.bar.Close()
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, c.summary(out.path))
	return nil
}

// parse reads the options that are texts, before anything is opened.
func (o *convertOptions) parse() (s selection, start, end *moment, err error) {
	if s.include, err = parsePatterns("topics", o.Topics); err != nil {
		return
	}
	if s.exclude, err = parsePatterns("exclude", o.Exclude); err != nil {
		return
	}
	if o.Start != "" {
		m, err := parseMoment("start", o.Start)
		if err != nil {
			return s, nil, nil, err
		}
		start = &m
	}
	if o.End != "" {
		m, err := parseMoment("end", o.End)
		if err != nil {
			return s, nil, nil, err
		}
		end = &m
	}
	return
}

// copier copies messages into a recording and counts them.
type copier struct {
	channels *channels
	bar      *progress.Bar
	start    int64 // where the bar begins, ns since the Unix epoch
	required bool  // that there is a message

	messages    uint64
	bytes       int64
	first, last int64 // LogTime
	took        time.Duration
}

var errNoMessages = errors.New("there is no message")

// run writes all messages of it to out and puts that in its place.
func (c *copier) run(ctx context.Context, it codec.Iterator, out *output, options codec.CreateOptions) error {
	begin := time.Now()
	w, err := out.create(options)
	if err != nil {
		return err
	}
	if err := c.copy(ctx, it, w); err != nil {
		w.Close()
		return err
	}
	if c.required && c.messages == 0 {
		w.Close()
		return errNoMessages
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write %s: %w", out.path, err)
	}
	c.took = time.Since(begin)
	return out.commit()
}

func (c *copier) copy(ctx context.Context, it codec.Iterator, w codec.Writer) error {
	for _, channel := range c.channels.all {
		if err := w.Declare(channel); err != nil {
			return err
		}
	}
	var out codec.Message
	for {
		msg, err := it.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w; 'converter recover' saves what is behind the damage", err)
		}
		out = *msg
		out.Channel = c.channels.of(msg.Channel)
		if err := w.Write(&out); err != nil {
			return err
		}
		if c.messages == 0 {
			c.first = out.LogTime
		}
		c.last = out.LogTime
		c.messages++
		c.bytes += int64(len(out.Data))
		c.bar.Set(out.LogTime - c.start)
		if c.messages%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// summary is one line about what was written to path.
func (c *copier) summary(path string) string {
	speed := float64(c.bytes) / max(c.took.Seconds(), 1e-9)
	return fmt.Sprintf("%s: %s, %s, %s of payload, %s s; written in %.3f s (%s/s)", path, count(c.messages, "message"),
		count(len(c.channels.all), "topic"), size(c.bytes), seconds(c.last-c.first), c.took.Seconds(), size(int64(speed)))
}
