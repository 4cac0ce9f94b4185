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
	source
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

// foundLine is the line of JSON about a run of messages.
type foundLine struct {
	Recording string `json:"recording"`
	Topic     string `json:"topic"`
	Start     int64  `json:"start"`
	End       int64  `json:"end"`
	Messages  uint64 `json:"messages"`
	Values    string `json:"values"` // of the first message
	Clip      string `json:"clip,omitempty"`
}

// found is what was found in a recording.
type found struct {
	lines    []foundLine
	warnings []string
	err      error
	read     bool     // else the catalogue was enough
	topics   []string // of the recording
	topic    bool     // the condition's topic is among them
	fits     bool     // the topic is known to have the fields of the condition
	unfit    error    // why it does not
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
	results := make([]*found, len(rows))
	next, runs, with, read, failed := 0, 0, 0, 0, 0
	reading := make(chan struct{}, cmp.Or(o.Jobs, runtime.NumCPU()))
	each(ctx, len(rows), max(cap(reading), catalogue.ReadAtOnce), func(i int) {
		result := o.one(ctx, c, rows[i], cond, names[i], reading)
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
			if f.read {
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
	switch err := o.unknown(rows, results, cond); {
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

// unknown returns an error if no recording has the topic of the condition, or none that has it has the fields.
func (o *findOptions) unknown(rows []catalogue.Recording, results []*found, cond *condition.Condition) error {
	var topics []string
	var unfit error
	there := false
	for _, f := range results {
		if f.fits {
			return nil
		}
		there = there || f.topic
		unfit = cmp.Or(unfit, f.unfit)
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
	for i, f := range results { // the tables have ruled these out by other fields
		if !f.topic || f.read {
			continue
		}
		in, err := o.openROS2(rows[i].Recording)
		if err != nil {
			return nil // so it stays unknown
		}
		f.compare(in, cond)
		in.Close()
		if f.fits {
			return nil
		}
		unfit = cmp.Or(unfit, f.unfit)
	}
	return unfit
}

// compare finds out whether the topic of the condition has its fields.
func (f *found) compare(in *input, cond *condition.Condition) {
	for _, t := range in.info.Topics {
		f.topics = append(f.topics, t.Channel.Topic)
		if !catalogue.SameTopic(t.Channel.Topic, cond.Topic) {
			continue
		}
		f.topic = true
		if _, err := catalogue.Detector(cond, t.Channel); err != nil {
			f.unfit = err
		} else {
			f.fits = true
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

// one searches a recording. If it has to be read, it does so while it has a place in reading.
func (o *findOptions) one(ctx context.Context, c *catalogue.Catalogue, row catalogue.Recording,
	cond *condition.Condition, name string, reading chan struct{}) (f *found) {
	f = &found{}
	var mu sync.Mutex
	warn := func(err error) { // several goroutines of a conversion call it
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
		windows, f.topics, f.topic, f.fits = s.Windows, s.Topics, s.Topic, s.Fields
	}
	if len(windows) == 0 {
		return f
	}
	reading <- struct{}{}
	defer func() { <-reading }()
	f.read = true
	in, err := o.openROS2(row.Recording)
	if err != nil {
		f.err = err
		return f
	}
	f.compare(in, cond)
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

// clipNames returns the names of the clips of each recording, without their times.
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

// clip cuts out the times of lines, those that are near each other together, and adds the names of the clips to lines.
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

// exactTime returns a time as --begin and --end take it.
func exactTime(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
