package main

import (
	"errors"
	"fmt"
	"io"

	"tapedeck/bridge/recordings"
	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/store/http"
	"tapedeck/codec/store/s3"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/timerange"
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

// input is a recording opened for reading.
type input struct {
	path   string
	reader *recordings.Recording
	info   *codec.Info
	left   []error // about channels that are not translated
}

// openInput opens a recording as it is, with the definitions that it may lack.
func (here places) openInput(path string, o formats.DefinitionOptions) (*input, error) {
	return here.open(path, o, true)
}

// openROS2 opens a recording as one of ROS 2 messages. What is not translated stays as it is.
func (here places) openROS2(path string, o formats.DefinitionOptions) (*input, error) {
	return here.open(path, o, false)
}

func (here places) open(path string, definitions formats.DefinitionOptions, asRecorded bool) (*input, error) {
	read := formats.ReadOptions{DefinitionOptions: definitions}
	o := read.Options(known, here.files)
	o.AsRecorded = asRecorded
	r, err := recordings.Open([]string{path}, o)
	if err != nil {
		return nil, err
	}
	info, err := r.Info()
	if err == nil {
		info, err = timerange.WithOutlying(r, info)
	}
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

func (i *input) Close() error { return i.reader.Close() }
