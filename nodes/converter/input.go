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

// places is where a command reads and writes recordings.
type places struct {
	files  *store.Files // local ones, and those in stores; nil: local ones alone
	bucket *s3.Store    // for outputs that are URLs
}

// newPlaces returns the places that URLs and paths name.
func newPlaces() places {
	bucket := s3.New()
	return places{store.New(bucket, http.New()), bucket}
}

// newJob returns a job that converts recordings.
func (here places) newJob(o convert.Options, inputs ...string) *convert.Job {
	return &convert.Job{Files: here.files, Store: here.bucket, Formats: known, Inputs: inputs, Options: o}
}

// firsts returns paths without further files of recordings whose first files are among them.
func (here places) firsts(paths []string) []string {
	return series.Firsts(here.files, known.Codecs(), paths)
}

// source is where a command reads recordings, with the definitions that they may lack.
type source struct {
	places
	formats.DefinitionOptions
}

// input is a recording opened for reading.
type input struct {
	path   string
	reader *recordings.Recording
	info   *codec.Info
	left   []error // about channels that are not translated
}

// openInput opens a recording as it is.
func (s *source) openInput(path string) (*input, error) { return s.openAs(path, true) }

// openROS2 opens a recording as one of ROS 2 messages. What is not translated stays as it is.
func (s *source) openROS2(path string) (*input, error) { return s.openAs(path, false) }

func (s *source) openAs(path string, asRecorded bool) (*input, error) {
	read := formats.ReadOptions{DefinitionOptions: s.DefinitionOptions}
	o := read.Options(known, s.files)
	o.AsRecorded, o.Outlying = asRecorded, true
	r, err := recordings.Open([]string{path}, o)
	if err != nil {
		return nil, err
	}
	info, err := r.Info()
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &input{path: path, reader: r, info: info, left: r.Parts[0].Left}, nil
}

// note tells which files of a recording were read, where that may surprise.
func note(stderr io.Writer, info *codec.Info) {
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

// each calls do with each message that q selects, and shows on a terminal how far it is.
func (i *input) each(ctx context.Context, q codec.Query, do func(*codec.Message)) error {
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
