package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/codec/text/printable"
	"tapedeck/config"
	"tapedeck/nodes/internal/describe"
	"tapedeck/nodes/internal/formats"
)

// infoOptions are the options of info.
type infoOptions struct {
	JSON    bool   `param:"json" group:"Output"`
	Verbose bool   `param:"verbose" short:"v" group:"Output"`
	ROS2    bool   `param:"ros2" group:"Output"`
	Names   bool   `param:"topic_name" short:"t" group:"Output"`
	Sort    string `param:"sort" group:"Output" options:"name|type|count"`
	formats.InfoOptions
	readOptions
}

func (*infoOptions) OptionTexts() string { return optionTexts }

func defaultInfoOptions() *infoOptions {
	return &infoOptions{Sort: sortName, InfoOptions: formats.DefaultInfoOptions()}
}

// info describes the recordings at paths. It continues after a recording that cannot be read.
func (o *infoOptions) info(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	if err := o.Check(o.JSON, o.ROS2); err != nil {
		return err
	}
	switch {
	case o.Names && o.Verbose:
		return config.Usagef("topic_name, verbose: give one of them")
	case (o.Names || o.Sort != sortName) && (o.JSON || o.Wanted()):
		return config.Usagef("topic_name, sort: they are for text")
	}
	paths = o.firsts(paths)
	failed, damaged := 0, 0
	for i, path := range paths {
		w := separatingWriter{Writer: stdout, pending: i > 0 && !o.JSON}
		err := o.describe(ctx, path, &w, stderr)
		if err != nil && (len(paths) == 1 || printable.Err(stdout) != nil) {
			return err
		}
		if errors.Is(err, errDamaged) || errors.Is(err, errUnfinished) {
			damaged++
		} else if err != nil {
			failed++
		}
		if err != nil {
			fmt.Fprintln(stderr, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d recordings cannot be read", failed, len(paths))
	}
	if damaged > 0 {
		return fmt.Errorf("damaged or not finished: %d of %s", damaged, human.Count(len(paths), "recording"))
	}
	return nil
}

// Errors that checkComplete returns about incomplete recordings.
var (
	errDamaged    = errors.New("is damaged")
	errUnfinished = errors.New("was not finished")
)

// checkComplete returns an error if a recording is damaged, lacks files or was not finished.
func checkComplete(path string, info *codec.Info) error {
	if slices.ContainsFunc(info.Events, func(e codec.Event) bool {
		return e.Kind == codec.EventDamage || e.Kind == codec.EventMissing
	}) {
		return fmt.Errorf("%s %w", path, errDamaged)
	}
	if !info.Complete {
		return fmt.Errorf("%s %w", path, errUnfinished)
	}
	return nil
}

// separatingWriter writes a blank line before its first output if pending is set.
type separatingWriter struct {
	io.Writer
	pending bool
}

func (s *separatingWriter) Write(b []byte) (int, error) {
	if s.pending {
		s.pending = false
		if _, err := io.WriteString(s.Writer, "\n"); err != nil {
			return 0, err
		}
	}
	return s.Writer.Write(b)
}

// describe writes the description of the recording at path.
func (o *infoOptions) describe(ctx context.Context, path string, stdout, stderr io.Writer) error {
	if o.Wanted() {
		return o.Write(o.files, known, path, o.JSON, stdout, stderr)
	}
	in, err := o.open(path, stderr)
	if err != nil {
		return err
	}
	defer in.Close()
	measured, info := (*measures)(nil), in.info
	if o.Verbose {
		measured, info, err = in.measure(ctx)
		if err != nil {
			return err
		}
	}
	write := func() error { return writeInfoText(stdout, path, info, measured, o.Sort) }
	if o.JSON {
		write = func() error { return writeInfoJSON(stdout, info, measured) }
	}
	if o.Names {
		write = func() error { return writeNames(stdout, mergedTopics(info, o.Sort)) }
	}
	if err := write(); err != nil {
		return err
	}
	return checkComplete(path, info)
}

func (o *infoOptions) open(path string, stderr io.Writer) (*input, error) {
	if !o.ROS2 {
		return o.openInput(path)
	}
	in, err := o.openROS2(path)
	if err != nil {
		return nil, err
	}
	for _, err := range in.untranslated {
		fmt.Fprintln(stderr, "warning: not translated to ROS 2:", err)
	}
	return in, nil
}

// writeInfoJSON writes info as JSON, with measures unless they are nil.
func writeInfoJSON(w io.Writer, info *codec.Info, measured *measures) error {
	out := describe.New(info, measured.counter())
	if measured != nil {
		out.Checked, out.Bytes = true, &measured.total
		for i, t := range describe.SortedTopics(info) {
			measured.describe(&out.Topics[i], measured.channels[t.Channel])
		}
	}
	return writeJSON(w, out)
}
