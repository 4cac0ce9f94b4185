package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"tapedeck/codec/store"
	"tapedeck/codec/text/human"
	"tapedeck/codec/text/printable"
	"tapedeck/config"
	"tapedeck/nodes/internal/describe"
	"tapedeck/nodes/internal/fleet/catalogue"
	"tapedeck/nodes/internal/progress"
)

// indexOptions are the options of index.
type indexOptions struct {
	Output string   `param:"output" short:"o" value:"FOLDER"`
	Fields []string `param:"fields" value:"'/TOPIC FIELD'"`
	Shard  string   `param:"shard" value:"I/N|auto|auto/N" bare:"auto" pattern:"|auto(/[0-9]+)?|[0-9]+/[0-9]+"`
	JSON   bool     `param:"json"`
	Jobs   int      `param:"jobs" short:"j" min:"0"`

	readOptions
}

func (*indexOptions) OptionTexts() string { return optionTexts }

// indexLine is the line of JSON about a recording to be indexed.
type indexLine struct {
	Recording string  `json:"recording"`
	Status    string  `json:"status"` // indexed, skipped (indexed before) or failed
	Error     string  `json:"error,omitempty"`
	Messages  uint64  `json:"messages,omitempty"`
	Seconds   float64 `json:"seconds,omitempty"`

	Warnings []string `json:"warnings,omitempty"` // about damage, missing files and wrong labels
}

// index adds the recordings at paths to a catalogue.
func (o *indexOptions) index(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	if o.Output == "" {
		return config.Usagef("name the folder of the catalogue with --output FOLDER")
	}
	if store.IsURL(o.Output) {
		if err := store.CanUpload(o.Output); err != nil {
			return config.Usagef("--output: %w", err)
		}
	}
	fields, err := catalogue.Parse(o.Fields)
	if err != nil {
		return config.Usagef("--fields %w", err)
	}
	ownShard, err := parseShard(o.Shard, os.Getenv)
	if err != nil {
		return err
	}
	found, err := o.search(paths, os.Stdin, o.Output)
	if err != nil {
		return err
	}
	for i := range found.paths {
		found.paths[i], err = absolute(found.paths[i])
		if err != nil {
			return err
		}
	}
	paths, _ = ownShard.pick(found.paths, found.paths)
	c, err := catalogue.Create(ctx, o.files, o.bucket, o.Output)
	if err != nil {
		return err
	}
	s := batch{stdout: stdout, stderr: stderr, json: o.JSON,
		bar: progress.Bytes(os.Stderr, "indexing", int64(len(paths))*fullShare)}
	skipped := 0
	missing, topics := fields, []string(nil)
	each(ctx, len(paths), o.Jobs, func(i int) {
		line := indexLine{Recording: paths[i], Status: "indexed"}
		begin, advance := time.Now(), s.progressOfOne()
		row, warnings, known, err := o.addTo(ctx, c, paths[i], fields, advance)
		advance(1, 1)
		if err == nil && len(fields) > 0 {
			lacking, there, err := c.Unindexed(paths[i], fields)
			s.mu.Lock()
			missing = slices.DeleteFunc(slices.Clone(missing), func(text string) bool {
				return err == nil && !slices.Contains(lacking, text)
			})
			topics = append(topics, there...)
			s.mu.Unlock()
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return // checkFailures reports the interruption
		case err != nil:
			s.fail(paths[i], err)
			line.Status, line.Error = "failed", err.Error()
		case known:
			line.Status = "skipped"
		default:
			line.Messages, line.Seconds, line.Warnings = row.Messages, time.Since(begin).Seconds(), warnings
		}
		switch {
		case o.JSON:
			text, _ := json.Marshal(&line) // line has only types that JSON supports
			s.say(s.stdout, string(text))
		case known:
			s.mu.Lock()
			skipped++
			s.mu.Unlock()
		case err == nil:
			s.say(s.stdout, printable.Line(fmt.Sprintf("%s: %s, %s s", paths[i], human.Count(row.Messages, "message"),
				human.UnsignedSeconds(uint64(row.End)-uint64(row.Start)))))
			if len(warnings) > 0 {
				more := ""
				if len(warnings) > 1 {
					more = fmt.Sprintf("; and %d more, which 'converter info' lists", len(warnings)-1)
				}
				s.say(s.stderr, printable.Line(fmt.Sprintf("warning: %s: %s%s", paths[i], warnings[0], more)))
			}
		}
	})
	if skipped > 0 {
		s.say(s.stdout, human.Count(skipped, "recording")+" unchanged")
	}
	for _, text := range missing {
		topic, _, _ := strings.Cut(text, " ")
		s.say(s.stderr, printable.Line(fmt.Sprintf("warning: --fields: no recording has numbers of %s%s", text,
			human.DidYouMean(topic, others(topic, topics)))))
	}
	return s.checkFailures(ctx, len(paths), "indexed")
}

// others returns the names that differ from name, each once.
func others(name string, names []string) []string {
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(other string) bool { return catalogue.SameTopic(name, other) })
}

// addTo adds a recording to a catalogue, unless the catalogue has it in its present state. warnings are about damage,
// missing files and wrong labels.
func (o *indexOptions) addTo(ctx context.Context, c *catalogue.Catalogue, path string, fields catalogue.Fields,
	advance func(now, total time.Duration)) (row catalogue.Recording, warnings []string, unchanged bool, err error) {
	state, err := o.stateOf(path)
	if err != nil {
		return row, nil, false, err
	}
	row = catalogue.Recording{Recording: path, Size: state.Size, Modified: state.Modified.UnixNano(), ETag: state.ETag,
		Fields: strings.Join(append(slices.Clone(fields), o.DefinitionPaths...), "\n")}
	// An entry that cannot be read is replaced.
	if was, err := c.Recording(path); err == nil && was.Same(row) && was.Fields == row.Fields {
		return was, nil, true, nil
	}
	in, err := o.openROS2(path)
	if err != nil {
		return row, nil, false, err
	}
	defer in.Close()
	row, events, err := c.Add(ctx, row, fields, in.reader, func(ns int64) {
		advance(time.Duration(ns-in.info.StartTime), describe.Span(in.info))
	})
	warnings = slices.Concat(in.info.Notes, warningsOf(events))
	if !in.info.Complete && len(warnings) == 0 {
		warnings = append(warnings, "it was not finished")
	}
	return row, warnings, false, err
}
