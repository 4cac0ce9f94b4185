package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
