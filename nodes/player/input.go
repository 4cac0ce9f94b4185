package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/codec/store"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/formats/allformats"
	"tapedeck/nodes/internal/readahead"
	"tapedeck/nodes/internal/timerange"
)

// sourceInput plays a source: it orders the messages and reads them ahead.
type sourceInput struct {
	source     *source
	publishers publishers
	order      string
	stamps     map[*codec.Channel]*cdr.Stamps // for order by header
	readAhead  int64
	damaged    func(error)
	labels     func(error) // see codec.Query.Mislabelled
	ready      func()      // called when more was read
}

func (r *sourceInput) from(t, end int64) (feed, error) {
	it, err := r.read(t, end)
	if err != nil {
		return nil, err
	}
	return readahead.New(it, r.readAhead, r.ready), nil
}

func (r *sourceInput) read(t, end int64) (codec.Iterator, error) {
	q := codec.Query{Start: t, End: end, Topics: r.published, Damaged: r.damaged,
		Mislabelled: r.labels}
	time := sendTime
	switch r.order {
	case byReceipt:
		return r.source.read(q)
	case byHeader:
		time = func(m *codec.Message) int64 { return headerTime(r.stamps[m.Channel], m) }
	}
	q.Start -= disorder
	q.End += disorder
	it, err := r.source.read(q)
	return &ordered{it: it, time: time, start: t, end: end, first: r.source.start, last: r.source.end}, err
}

func (r *sourceInput) published(c *codec.Channel) bool { return r.publishers[c] != nil }

func (r *sourceInput) latched(t int64, publish func(*codec.Message) error) error {
	if t <= r.source.start {
		return nil
	}
	published := func(c *codec.Channel) bool { return r.published(c) && r.publishers[c].caller == nil }
	it, err := r.source.read(codec.Query{End: t, Topics: published, Damaged: r.damaged,
		Last: func(c *codec.Channel) int { return r.publishers[c].latchedDepth(c) }})
	if err != nil {
		return err
	}
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return it.Close()
		}
		if err == nil {
			err = publish(m)
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
	}
}

// source is the recordings to be played, merged in time.
type source struct {
	files      *store.Files
	recordings []recording
	channels   []*codec.Channel // selected by the filter, in the order of the files
	all        []*codec.Channel // with those that are not selected
	messages   uint64           // of all channels
	start      int64            // ns since the Unix epoch, of the earliest message of all
	end        int64            // of the latest
	warnings   []string         // for the log
	wants      func(*codec.Channel) bool
	options    formats.ReadOptions
}

// recording is one of a source.
type recording struct {
	codec.Reader
	info *codec.Info
}

// openSource opens the recordings at paths. offsets are by path, in ns that a recording is played later; with
// alignStarts they count from the earliest start. Reading the source ends with ctx. The caller closes it.
func openSource(ctx context.Context, files *store.Files, paths []string, offsets map[string]int64, alignStarts bool,
	wants func(*codec.Channel) bool, o formats.ReadOptions) (_ *source, err error) {
	s := &source{files: files, wants: wants, options: o}
	var opened []string
	paths = allformats.List().Recordings(files, paths)
	for i, path := range paths {
		err := s.add(ctx, path)
		switch {
		case errors.Is(err, codec.ErrUnwritten) && (opened != nil || i < len(paths)-1):
			s.warnings = append(s.warnings, path+" is unfinished and empty; nothing of it is played")
		case err != nil:
			return nil, errors.Join(err, s.close())
		default:
			opened = append(opened, path)
		}
	}
	paths = opened
	shifts := make([]int64, len(paths))
	if alignStarts {
		shifts = timerange.Aligned(s.infos())
	}
	for i := range s.recordings {
		r := &s.recordings[i]
		if r.Reader, err = timerange.Shift(r.Reader, shifts[i]+offsets[paths[i]]); err == nil {
			r.info, err = r.Info()
		}
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.cover(r.info)
	}
	for _, text := range timerange.FarApart(s.infos()) {
		s.warnings = append(s.warnings, text+", --skip-empty skips the time between")
	}
	if !alignStarts {
		readers := make([]codec.Reader, len(s.recordings))
		for i, r := range s.recordings {
			readers[i] = r.Reader
		}
		s.warnings = append(s.warnings, timerange.Doubled(readers)...)
	}
	return s, nil
}

func (s *source) add(ctx context.Context, path string) error {
	opened, err := allformats.List().Open(s.files, path)
	if err != nil {
		return err
	}
	r, left, err := s.options.ROS2(formats.Opened{Reader: opened, Context: ctx})
	if err != nil {
		return errors.Join(err, opened.Close())
	}
	s.recordings = append(s.recordings, recording{Reader: r})
	info, err := r.Info()
	if err != nil {
		return err
	}
	s.recordings[len(s.recordings)-1].info = info
	told, err := timerange.WithOutlying(r, info)
	if err != nil {
		return err
	}
	for _, e := range told.Events {
		if e.Kind == codec.EventTimes {
			s.warnings = append(s.warnings, path+": "+e.Text+"; the player waits as long as times are apart, "+
				"--skip-empty skips that")
		}
	}
	s.warnings = append(s.warnings, info.Notes...)
	if !info.Complete {
		s.warnings = append(s.warnings, fmt.Sprintf("%s is unfinished or damaged%s; playing what is readable (for "+
			"details: converter info)", path, damage(info)))
	}
	for _, e := range info.Events {
		if e.Kind == codec.EventLabel || e.Kind == codec.EventNote {
			s.warnings = append(s.warnings, path+": "+e.Text)
		}
	}
	for _, err := range left {
		s.warnings = append(s.warnings, fmt.Sprintf("%s: not played: %v", path, err))
	}
	for _, t := range info.Topics {
		s.all = append(s.all, t.Channel)
		if s.wants(t.Channel) {
			s.channels = append(s.channels, t.Channel)
		}
	}
	return nil
}

func (s *source) infos() (all []*codec.Info) {
	for _, r := range s.recordings {
		all = append(all, r.info)
	}
	return all
}

// cover extends the time of the source to a recording, the first one with messages if there are none yet.
func (s *source) cover(info *codec.Info) {
	if info.MessageCount == 0 {
		return
	}
	if s.messages == 0 {
		s.start, s.end = info.StartTime, info.EndTime
	}
	s.start, s.end = min(s.start, info.StartTime), max(s.end, info.EndTime)
	s.messages += info.MessageCount
}

// last returns where playback ends that is to end before a time, 0 for none.
func (s *source) last(end int64) int64 {
	if end == 0 || end > s.end {
		return max(s.end, s.end+1) // of a time beyond 2262 there is no later one
	}
	return end
}

// damage returns the first damage found, "" if there is none.
func damage(info *codec.Info) string {
	for _, e := range info.Events {
		if e.Kind == codec.EventDamage || e.Kind == codec.EventMissing {
			return ": " + e.Text
		}
	}
	return ""
}

// lacks returns an error if a file of a recording is not there that would have messages to be played.
func (s *source) lacks() error {
	for _, r := range s.recordings {
		for _, e := range r.info.Events {
			if e.Kind == codec.EventMissing && (e.Topic == "" ||
				slices.ContainsFunc(s.channels, func(c *codec.Channel) bool { return c.Topic == e.Topic })) {
				return fmt.Errorf("%s: %s; without --stop-at-damage everything else is played", r.info.Path, e.Text)
			}
		}
	}
	return nil
}

// read returns the messages that q and the filter select, in time order.
func (s *source) read(q codec.Query) (codec.Iterator, error) {
	selected := q
	q.Topics = func(c *codec.Channel) bool { return s.wants(c) && selected.Wants(c) }
	var its []codec.Iterator
	for _, r := range s.recordings {
		it, err := r.Read(q)
		if err != nil {
			return nil, errors.Join(err, codec.Merge(its...).Close())
		}
		its = append(its, it)
	}
	return codec.Merge(its...), nil
}

func (s *source) close() error {
	var errs []error
	for _, r := range s.recordings {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// offsets parses input_offset: by path, by how many ns a recording is played later.
func (o *options) offsets(paths []string) (map[string]int64, error) {
	offsets := map[string]int64{}
	for _, text := range o.InputOffset {
		at := strings.LastIndexByte(text, '=')
		if at < 0 {
			return nil, config.Usagef("input_offset: %q has no '=', want FILE=1.5s", text)
		}
		path := text[:at]
		d, err := time.ParseDuration(text[at+1:])
		if err != nil {
			d, err = time.ParseDuration(text[at+1:] + "s")
		}
		if err != nil {
			return nil, config.Usagef("input_offset: %q: %q is no duration, want FILE=1.5s or FILE=-200ms", text,
				text[at+1:])
		}
		if !slices.Contains(paths, path) {
			return nil, config.Usagef("input_offset: %q: %s is not among the recordings to play", text, path)
		}
		offsets[path] = int64(d)
	}
	return offsets, nil
}
