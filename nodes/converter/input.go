package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"tapedeck/bridge/recordings"
	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
	"tapedeck/codec/store/http"
	"tapedeck/codec/store/s3"
	"tapedeck/nodes/internal/convert"
	"tapedeck/nodes/internal/describe"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/progress"
	"tapedeck/nodes/internal/readahead"
)

// places has the files and stores that a command reads from and writes to.
type places struct {
	files  *store.Files // local files, and files in stores; nil: only local files
	bucket *s3.Store    // for outputs that are URLs
}

// newPlaces returns places with all stores.
func newPlaces() places {
	bucket := s3.New()
	return places{store.New(bucket, http.New()), bucket}
}

// newJob returns a job that converts recordings.
func (p places) newJob(o convert.Options, inputs ...string) *convert.Job {
	return &convert.Job{Files: p.files, Store: p.bucket, Formats: known, Inputs: inputs, Options: o}
}

// firsts returns paths without the further files of recordings whose first files are in paths.
func (p places) firsts(paths []string) []string {
	return series.Firsts(p.files, known.Codecs(), paths)
}

// readOptions are the options of commands that read recordings.
type readOptions struct {
	places
	formats.DefinitionOptions
}

// input is a recording opened for reading.
type input struct {
	path         string
	reader       *recordings.Recording
	info         *codec.Info
	untranslated []error // errors about channels that cannot be translated
}

// openInput opens a recording without translating messages.
func (o *readOptions) openInput(path string) (*input, error) { return o.openAs(path, true) }

// openROS2 opens a recording with its messages translated to ROS 2. Channels that cannot be translated stay unchanged.
func (o *readOptions) openROS2(path string) (*input, error) { return o.openAs(path, false) }

func (o *readOptions) openAs(path string, asRecorded bool) (*input, error) {
	read := formats.ReadOptions{DefinitionOptions: o.DefinitionOptions}
	options := read.Options(known, o.files)
	options.AsRecorded, options.Outlying = asRecorded, true
	r, err := recordings.Open([]string{path}, options)
	if err != nil {
		return nil, err
	}
	info, err := r.Info()
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &input{path: path, reader: r, info: info, untranslated: r.Parts[0].Untranslatable}, nil
}

// printNotes prints notes about the recording, for example which files were not read.
func printNotes(stderr io.Writer, info *codec.Info) {
	for _, text := range info.Notes {
		fmt.Fprintln(stderr, "note:", text)
	}
}

// warningsOf returns the texts of events about damage, missing and unfinished files, times and wrong labels.
func warningsOf(events []codec.Event) (texts []string) {
	for _, e := range events {
		switch e.Kind {
		case codec.EventDamage, codec.EventMissing, codec.EventUnfinished, codec.EventTimes, codec.EventLabel:
			texts = append(texts, e.Text)
		}
	}
	return texts
}

// each calls do with each message that q selects, and shows the progress on a terminal. With q.Verify it also compares
// the checksums of all attachments.
func (i *input) each(ctx context.Context, q codec.Query, do func(*codec.Message)) error {
	for _, a := range i.info.Attachments {
		if !q.Verify || ctx.Err() != nil {
			break
		}
		_, err := io.Copy(io.Discard, a.Open(q.Damaged))
		if err != nil {
			return err
		}
	}
	it, err := i.reader.Read(q)
	if err != nil {
		return err
	}
	bar := progress.Seconds(os.Stderr, "reading", describe.Span(i.info))
	defer bar.Close()
	return readahead.Each(ctx, it, readahead.Enough, func(m *codec.Message) error {
		bar.Set(m.LogTime - i.info.StartTime)
		do(m)
		return nil
	})
}

func (i *input) Close() error { return i.reader.Close() }

// writeJSON writes a value as indented JSON.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
