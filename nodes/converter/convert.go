package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tapedeck/codec/store"
	"tapedeck/codec/text/human"
	"tapedeck/codec/text/printable"
	"tapedeck/codec/training/episode"
	"tapedeck/config"
	"tapedeck/nodes/internal/convert"
	"tapedeck/nodes/internal/progress"
)

// convertOptions are the options of the converter without a subcommand.
type convertOptions struct {
	places
	convert.Options

	Inputs []string `param:"input_paths" flag:"input" short:"i" several:"storage" group:"Paths" value:"FILE"`
	Output string   `param:"output_path" flag:"output" short:"o" alias:"output-file" group:"Paths" value:"OUT"`

	Verbose bool `param:"verbose" short:"v" group:"Messages"`

	OutputFolder string `param:"output_folder" group:"Several recordings" value:"FOLDER"`
	Shard        string `param:"shard" group:"Several recordings" value:"I/N|auto|auto/N" bare:"auto"`
	JSON         bool   `param:"json" group:"Several recordings"`
	Jobs         int    `param:"jobs" short:"j" group:"Several recordings" min:"0"`
}

func (*convertOptions) OptionTexts() string { return optionTexts }

func defaultConvertOptions() *convertOptions {
	return &convertOptions{Options: convert.DefaultOptions()}
}

// convert converts all paths but the last to one recording at the last. With OutputFolder it converts each path by
// itself into that folder.
func (o *convertOptions) convert(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	paths = append(slices.Clone(o.Inputs), paths...)
	if o.OutputFolder != "" && o.Output != "" {
		return config.Usagef("output_path, output_folder: give one of them")
	}
	if o.OutputFolder != "" {
		return o.convertEach(ctx, paths, stdout, stderr)
	}
	if o.Shard != "" || o.JSON {
		return config.Usagef("--shard and --json are for recordings that are converted each by itself: give " +
			"--output-folder FOLDER --to FORMAT, too")
	}
	if o.Output != "" {
		paths = append(paths, o.Output)
	}
	last := len(paths) - 1
	if last < 1 {
		return config.Usagef("got %s; the usage is: converter IN... OUT, or converter IN... --output-folder "+
			"FOLDER --to FORMAT", human.Count(len(paths), "path"))
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil && strings.Contains(path, ":=") {
			return config.Usagef("%s is no recording; to rename a topic use --remap %[1]s", path)
		}
	}
	if ext := filepath.Ext(paths[last]); ext == ".yaml" || ext == ".yml" {
		return config.Usagef("%s: the output is a recording, not a file with options of it as in ros2 bag convert; "+
			"name the recording: converter IN... -o OUT, with --storage, --compression-mode, --topics and the like "+
			"as flags", paths[last])
	}
	job := o.newJob(o.Options, paths[:last]...)
	job.Output, job.Workers, job.Stdout = paths[last], o.Jobs, human.Data(stdout)
	reports := stdout
	if job.Output == convert.StandardOutput {
		reports = stderr
	}
	var bar *progress.Bar
	begun := false
	job.Warn = func(text string) {
		bar.Hide()
		fmt.Fprintln(stderr, "warning:", text)
	}
	job.Progress = func(done, total time.Duration) {
		if !begun { // bar stays nil without a terminal
			begun, bar = true, progress.Seconds(os.Stderr, "converting", total)
		}
		bar.Set(int64(done))
	}
	result, err := job.Run(ctx)
	bar.Close()
	if err != nil {
		return err
	}
	for _, line := range result.Lines(o.Verbose) {
		fmt.Fprintln(reports, line)
	}
	return nil
}

// convertEach converts each recording by itself, several at once.
func (o *convertOptions) convertEach(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	if o.To == "" {
		return config.Usagef("--output-folder needs the format to write: --to")
	}
	format, err := convert.FormatOf(known, "", o.To)
	if err != nil {
		return err
	}
	if err := o.newJob(o.Options).Check(); err != nil {
		return err
	}
	if store.IsURL(o.OutputFolder) {
		if err := store.CanUpload(o.OutputFolder); err != nil {
			return config.Usagef("--output-folder: %w", err)
		}
	} else if err := os.MkdirAll(o.OutputFolder, 0o777); err != nil {
		return fmt.Errorf("create %s: %w", o.OutputFolder, err)
	}
	ownShard, err := parseShard(o.Shard, os.Getenv)
	if err != nil {
		return err
	}
	found, err := o.search(paths, os.Stdin, o.OutputFolder)
	if err != nil {
		return err
	}
	splits := o.MaxBagSize > 0 || o.MaxBagDuration > 0 || o.MaxBagMessages > 0
	names, err := convert.OutputNames(found.paths, found.folders, format, splits)
	if err != nil {
		return err
	}
	paths, names = ownShard.pick(found.paths, names)
	s := batch{places: o.places, stdout: stdout, stderr: stderr, json: o.JSON, verbose: o.Verbose,
		bar: progress.Bytes(os.Stderr, "converting", int64(len(paths))*fullShare)}
	each(ctx, len(paths), o.Jobs, func(i int) {
		job := o.newJob(o.Options, paths[i])
		job.Workers = 1
		s.run(ctx, job, o.OutputFolder, names[i])
	})
	return s.checkFailures(ctx, len(paths), "converted")
}

// someFailed is the exit code if some recordings failed and all others were handled.
const someFailed = 4

// fullShare is the share of one recording in the progress bar.
const fullShare = 1000

// batch prints the results of a command that handles several recordings at once.
type batch struct {
	places
	mu             sync.Mutex // guards the fields below
	stdout, stderr io.Writer
	json           bool // print JSON instead of text to stdout
	verbose        bool // list each loss
	bar            *progress.Bar
	progressDone   int64 // value of bar
	failed         int
}

// run runs a conversion to an output called name in folder, and prints its result.
func (b *batch) run(ctx context.Context, job *convert.Job, folder, name string) {
	job.Warn = func(text string) { b.say(b.stderr, "warning: "+about(job.Inputs[0], text)) }
	job.Progress = b.progressOfOne()
	line := eachLine{Input: job.Inputs[0], Output: store.Join(folder, name)}
	result, err := b.runClaimed(ctx, job, folder, name)
	job.Progress(1, 1)
	switch {
	case err != nil && ctx.Err() != nil:
		return // checkFailures reports the interruption
	case errors.Is(err, episode.ErrDiscarded):
		line.Status, line.Error = discarded, err.Error()
	case err != nil:
		b.fail(line.Input, err)
		line.Status, line.Error = "failed", err.Error()
	case result == nil:
		line.Status = "skipped"
	default:
		line.Status, line.Messages, line.Bytes, line.Seconds = "converted", result.Messages, result.Bytes,
			result.Took.Seconds()
		line.Damaged = result.Damaged
		for _, loss := range result.AllLosses() {
			line.Losses = append(line.Losses, loss.String())
		}
	}
	switch {
	case b.json:
		text, _ := json.Marshal(&line) // line has only types that JSON supports
		b.say(b.stdout, string(text))
	case result != nil:
		b.say(b.stdout, result.Lines(b.verbose)...)
	case line.Status == discarded:
		b.say(b.stdout, printable.Line("left out: "+about(line.Input, line.Error)))
	case err == nil:
		b.say(b.stdout, printable.Line(line.Output+": converted before"))
	}
}

// about returns text with path in front, unless text contains path.
func about(path, text string) string {
	if strings.Contains(text, path) {
		return text
	}
	return path + ": " + text
}

// progressOfOne returns a function that moves the progress bar by the progress of one recording.
func (b *batch) progressOfOne() func(now, total time.Duration) {
	var done int64
	return func(now, total time.Duration) {
		reached := min(int64(float64(now)/max(float64(total), 1)*fullShare), fullShare)
		b.mu.Lock()
		defer b.mu.Unlock()
		if reached > done {
			b.progressDone += reached - done
			done = reached
			b.bar.Set(b.progressDone)
		}
	}
}

// fail counts and prints an error about a recording.
func (b *batch) fail(path string, err error) {
	b.mu.Lock()
	b.failed++
	b.mu.Unlock()
	b.say(b.stderr, about(path, err.Error()))
}

// checkFailures returns the error of the command. done is the participle for what the command does with n recordings,
// such as "converted".
func (b *batch) checkFailures(ctx context.Context, n int, done string) error {
	b.bar.Close()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if n == 0 {
		b.say(b.stderr, "warning: there are no recordings to be "+done)
	}
	if b.failed > 0 {
		return config.Exit(someFailed, fmt.Errorf("not %s: %d of %s", done, b.failed, human.Count(n, "recording")))
	}
	return nil
}

func (b *batch) say(to io.Writer, lines ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bar.Hide()
	for _, line := range lines {
		fmt.Fprintln(to, line)
	}
}
