package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"tapedeck/nodes/internal/convert"
	"tapedeck/nodes/internal/progress"
)

// convertOptions are the parameters of the conversion.
type convertOptions struct {
	convert.Options
}

func defaultConvertOptions() *convertOptions {
	return &convertOptions{Options: convert.DefaultOptions()}
}

// convert writes what o selects of the recordings at paths as one, to the last of paths.
func (o *convertOptions) convert(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	last := len(paths) - 1
	job := convert.Job{Inputs: paths[:last], Output: paths[last], Options: o.Options}
	job.Warn = func(text string) { fmt.Fprintln(stderr, "warning:", text) }
	var bar *progress.Bar
	job.Progress = func(done, total time.Duration) {
		if bar == nil {
			bar = progress.Seconds(os.Stderr, "converting", total)
		}
		bar.Set(int64(done))
	}
	result, err := job.Run(ctx)
	bar.Close()
	if err != nil {
		return err
	}
	for _, line := range report(result) {
		fmt.Fprintln(stdout, line)
	}
	return nil
}

// report says in lines what was written, and what was not.
func report(r *convert.Result) []string {
	speed := int64(float64(r.Bytes) / max(r.Took.Seconds(), 1e-9))
	lines := []string{fmt.Sprintf("%s: %s, %s, %s of payload, %s s; written in %.3f s (%s/s)", r.Path, count(r.Messages, "message"),
		count(r.Topics, "topic"), size(r.Bytes), seconds(r.End-r.Start), r.Took.Seconds(), size(speed))}
	if len(r.Files) > 1 {
		lines[0] += ", " + count(len(r.Files), "file")
	}
	if r.Throttled.Messages > 0 {
		lines = append(lines, "left out: "+r.Throttled.String())
	}
	for _, loss := range r.Losses {
		lines = append(lines, "lost: "+loss.String())
	}
	return lines
}
