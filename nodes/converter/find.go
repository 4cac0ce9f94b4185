package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/text/human"
	"tapedeck/codec/text/printable"
	"tapedeck/config"
	"tapedeck/nodes/internal/convert"
	"tapedeck/nodes/internal/filter/condition"
	"tapedeck/nodes/internal/filter/timerange"
	"tapedeck/nodes/internal/fleet/catalogue"
	"tapedeck/nodes/internal/formats"
)

// findOptions are the options of find.
type findOptions struct {
	JSON bool `param:"json" group:"Output"`
	Jobs int  `param:"jobs" short:"j" group:"Output" min:"0"`

	clipOptions
	readOptions
}

func (*findOptions) OptionTexts() string { return optionTexts }

// clipOptions are the options of clips.
type clipOptions struct {
	Clip      string        `param:"clip" group:"Clips" value:"FOLDER"`
	Before    time.Duration `param:"before" group:"Clips" min:"0"`
	After     time.Duration `param:"after" group:"Clips" min:"0"`
	To        string        `param:"to" group:"Clips" value:"FORMAT"`
	Overwrite bool          `param:"overwrite" group:"Clips"`
}

func defaultFindOptions() *findOptions {
	return &findOptions{clipOptions: clipOptions{Before: 5 * time.Second, After: 5 * time.Second}}
}

// foundLine is the line of JSON about consecutive messages that meet the condition.
type foundLine struct {
	Recording string `json:"recording"`
	Topic     string `json:"topic"`
	Start     int64  `json:"start"`
	End       int64  `json:"end"`
	Messages  uint64 `json:"messages"`
	Values    string `json:"values"` // of the first message
	Clip      string `json:"clip,omitempty"`
}

// recordingResult is the result of searching one recording.
type recordingResult struct {
	lines     []foundLine
	warnings  []string
	err       error
	wasRead   bool     // the catalogue alone was not enough
	topics    []string // of the recording
	hasTopic  bool     // topics has the condition's topic
	hasFields bool     // the topic has the fields of the condition
	fieldsErr error    // why the topic lacks the fields
}

// find prints when messages of the recordings of the catalogue args[0] meet the condition args[1].
func (o *findOptions) find(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cond, err := condition.Parse(args[1])
	if err != nil {
		return config.Usagef("%w", err)
	}
	if o.Clip == "" && o.clipOptions != defaultFindOptions().clipOptions {
		return config.Usagef("--before, --after, --to and --overwrite are for clips; add --clip FOLDER")
	}
	c, err := catalogue.Open(o.files, args[0])
	if err != nil {
		return err
	}
	rows, err := c.Recordings()
	if err != nil {
		return err
	}
	names, err := o.clipNames(rows)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	results := make([]*recordingResult, len(rows))
	next, runs, with, read, failed := 0, 0, 0, 0, 0
	reading := make(chan struct{}, cmp.Or(o.Jobs, runtime.NumCPU()))
	each(ctx, len(rows), max(cap(reading), catalogue.ReadAtOnce), func(i int) {
		result := o.searchRecording(ctx, c, rows[i], cond, names[i], reading)
		mu.Lock()
		defer mu.Unlock()
		results[i] = result
		for ; next < len(results) && results[next] != nil; next++ { // in the order of the catalogue
			f := results[next]
			for _, text := range f.warnings {
				fmt.Fprintln(stderr, "warning:", printable.Line(text))
			}
			if f.err != nil {
				failed++
				fmt.Fprintln(stderr, printable.Line(f.err.Error()))
			}
			if f.wasRead {
				read++
			}
			if len(f.lines) > 0 {
				with++
			}
			runs += len(f.lines)
			for _, line := range f.lines {
				fmt.Fprintln(stdout, o.text(line))
			}
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	if !o.JSON {
		fmt.Fprintf(stdout, "found %s in %d of %s; %d of them had to be read\n", human.Count(runs, "time"), with,
			human.Count(len(rows), "recording"), read)
	}
	switch err := o.checkFound(rows, results, cond); {
	case failed == 0 && err != nil:
		return err
	case failed > 0:
		what := "searched"
		if o.Clip != "" {
			what += " and clipped"
		}
		return config.Exit(someFailed, fmt.Errorf("not %s: %d of %s", what, failed,
			human.Count(len(rows), "recording")))
	}
	return nil
}

// checkFound returns an error if no recording has the topic of the condition, or if no recording with the topic has the
// fields.
func (o *findOptions) checkFound(rows []catalogue.Recording, results []*recordingResult,
	cond *condition.Condition) error {
	var topics []string
	var unfit error
	there := false
	for _, f := range results {
		if f.hasFields {
			return nil
		}
		there = there || f.hasTopic
		unfit = cmp.Or(unfit, f.fieldsErr)
		for _, topic := range f.topics {
			topics = append(topics, human.Printable(topic))
		}
	}
	if !there && len(rows) > 0 {
		slices.Sort(topics)
		topics = slices.Compact(topics)
		hint := human.DidYouMean(cond.Topic, topics)
		if hint == "" {
			hint = "; there are " + human.List(topics)
		}
		return fmt.Errorf("no recording has the topic %s%s", human.Printable(cond.Topic), hint)
	}
	for i, f := range results { // the tables ruled out recordings that were not read
		if !f.hasTopic || f.wasRead {
			continue
		}
		in, err := o.openROS2(rows[i].Recording)
		if err != nil {
			return nil // whether the fields exist stays unknown
		}
		f.checkFields(in, cond)
		in.Close()
		if f.hasFields {
			return nil
		}
		unfit = cmp.Or(unfit, f.fieldsErr)
	}
	return unfit
}

// checkFields sets whether the topic of the condition has its fields.
func (f *recordingResult) checkFields(in *input, cond *condition.Condition) {
	for _, t := range in.info.Topics {
		f.topics = append(f.topics, t.Channel.Topic)
		if !catalogue.SameTopic(t.Channel.Topic, cond.Topic) {
			continue
		}
		f.hasTopic = true
		if _, err := catalogue.Detector(cond, t.Channel); err != nil {
			f.fieldsErr = err
		} else {
			f.hasFields = true
		}
	}
}

func (o *findOptions) text(line foundLine) string {
	if o.JSON {
		text, _ := json.Marshal(&line) // which has nothing that JSON does not
		return string(text)
	}
	text := fmt.Sprintf("%s: %s to %s (%.3f s, %s): %s", line.Recording, timerange.Text(line.Start),
		timerange.Text(line.End), float64(line.End-line.Start)/1e9, human.Count(line.Messages, "message"), line.Values)
	if line.Clip != "" {
		text += "; " + line.Clip
	}
	return printable.Line(text)
}

// searchRecording searches a recording. While it reads the recording, it holds a place in reading.
func (o *findOptions) searchRecording(ctx context.Context, c *catalogue.Catalogue, row catalogue.Recording,
	cond *condition.Condition, name string, reading chan struct{}) (f *recordingResult) {
	f = &recordingResult{}
	var mu sync.Mutex
	warn := func(err error) { // called by several goroutines of a conversion
		mu.Lock()
		defer mu.Unlock()
		f.warnings = append(f.warnings, about(row.Recording, err.Error()))
	}
	state, err := o.stateOf(row.Recording)
	if err != nil {
		f.err = err
		return f
	}
	windows := []catalogue.Window{{}}
	if !row.Same(catalogue.Recording{Size: state.Size, Modified: state.Modified.UnixNano(), ETag: state.ETag}) {
		warn(fmt.Errorf("it has changed since it was indexed, and is read whole; run 'converter index' again"))
	} else if s, err := c.Search(row.Recording, cond); err != nil {
		warn(err)
	} else {
		windows, f.topics, f.hasTopic, f.hasFields = s.Windows, s.Topics, s.HasTopic, s.HasFields
	}
	if len(windows) == 0 {
		return f
	}
	reading <- struct{}{}
	defer func() { <-reading }()
	f.wasRead = true
	in, err := o.openROS2(row.Recording)
	if err != nil {
		f.err = err
		return f
	}
	f.checkFields(in, cond)
	runs, err := catalogue.Find(ctx, in.reader, cond, windows, warn)
	in.Close()
	if err != nil {
		f.err = err
		return f
	}
	for _, run := range runs {
		f.lines = append(f.lines, foundLine{Recording: row.Recording, Topic: run.Topic, Start: run.Start, End: run.End,
			Messages: run.Messages, Values: run.Values})
	}
	if o.Clip != "" {
		f.err = o.clip(ctx, f.lines, in, name, warn)
	}
	return f
}

// clipNames returns the names of each recording's clips, without their times.
func (o *findOptions) clipNames(rows []catalogue.Recording) ([]string, error) {
	if o.Clip == "" {
		return make([]string, len(rows)), nil
	}
	if o.To != "" {
		if _, err := convert.FormatOf(known, "", o.To); err != nil {
			return nil, err
		}
	}
	paths := make([]string, len(rows))
	for i, row := range rows {
		paths[i] = row.Recording
	}
	return convert.OutputNames(paths, make([]string, len(paths)), formats.Format{}, false)
}

// clip writes clips of the times in lines, and sets the names of the clips in lines. Times that are near each other
// share a clip.
func (o *findOptions) clip(ctx context.Context, lines []foundLine, in *input, name string, warn func(error)) error {
	format, err := convert.FormatOf(known, "", o.To)
	if o.To == "" {
		format, err = convert.FormatOf(known, "", known.Saved(in.info.Format))
	}
	if err != nil {
		return err
	}
	for i := 0; i < len(lines); {
		first := lines[i].Start
		n := i + 1
		begin, end := codec.Later(first, -int64(o.Before)), codec.Later(lines[i].End, int64(o.After))
		for n < len(lines) && codec.Later(lines[n].Start, -int64(o.Before)) <= end {
			end = max(end, codec.Later(lines[n].End, int64(o.After)))
			n++
		}
		options := convert.DefaultOptions()
		options.To, options.Overwrite = format.Name, o.Overwrite
		options.DefinitionOptions = o.DefinitionOptions
		options.Begin = exactTime(max(begin, in.info.StartTime))
		options.End = exactTime(min(end, in.info.EndTime))
		job := o.newJob(options, in.path)
		job.Workers, job.Damaged, job.Warn = 1, warn, func(text string) { warn(errors.New(text)) }
		clip := name + time.Unix(0, first).UTC().Format("_20060102T150405.000000Z") + format.Extension
		if _, err := o.runClaimed(ctx, job, o.Clip, clip); err != nil {
			return err
		}
		for ; i < n; i++ {
			lines[i].Clip = store.Join(o.Clip, clip)
		}
	}
	return nil
}

// exactTime returns a time in the form of --begin and --end.
func exactTime(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
