package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"tapedeck/codec/text/printable"
	"tapedeck/config"
	"tapedeck/nodes/internal/diff"
	"tapedeck/nodes/internal/progress"
)

// diffOptions are the options of diff.
type diffOptions struct {
	diff.Options
	JSON  bool `param:"json" group:"Output"`
	Brief bool `param:"brief" short:"q" group:"Output"`

	readOptions
}

func (*diffOptions) OptionTexts() string { return optionTexts }

// notCompared is the exit code if recordings cannot be compared. As in cmp and diff, 1 means that they differ.
const notCompared = 2

// diff compares the recordings at two paths.
func (o *diffOptions) diff(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	err := o.compare(ctx, paths, stdout, stderr)
	if err != nil && !errors.Is(err, diff.ErrDifferent) {
		return config.Exit(notCompared, err)
	}
	return err
}

func (o *diffOptions) compare(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	if err := o.Check(); err != nil {
		return err
	}
	comparison := diff.Comparison{
		Options: o.Options,
		Warn:    func(text string) { fmt.Fprintln(stderr, "warning:", printable.Line(text)) },
		Bar: func(doing string, span time.Duration) *progress.Bar {
			return progress.Seconds(os.Stderr, doing, span)
		},
	}
	for i, to := range []*diff.Recording{&comparison.A, &comparison.B} {
		in, err := o.openInput(paths[i])
		if err != nil {
			return err
		}
		defer in.Close()
		printNotes(stderr, in.info)
		*to = diff.Recording{Path: in.path, Reader: in.reader, Info: in.info}
	}
	report, err := comparison.Run(ctx)
	if err != nil {
		return err
	}
	switch {
	case o.JSON:
		err = report.WriteJSON(stdout)
	case o.Brief:
		_, err = fmt.Fprintln(stdout, report.Verdict)
	default:
		err = report.WriteText(stdout)
	}
	if err != nil {
		return err
	}
	return report.Err()
}
