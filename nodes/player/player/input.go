package player

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tapedeck/bridge/recordings"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/store"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/readahead"
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
		return r.source.Read(q)
	case byHeader:
		time = func(m *codec.Message) int64 { return headerTime(r.stamps[m.Channel], m) }
	}
	q.Start -= disorder
	q.End += disorder
	it, err := r.source.Read(q)
	return &ordered{it: it, time: time, start: t, end: end, first: r.source.start, last: r.source.end}, err
}

func (r *sourceInput) published(c *codec.Channel) bool { return r.publishers[c] != nil }

func (r *sourceInput) latched(t int64, publish func(*codec.Message) error) error {
	if t <= r.source.start {
		return nil
	}
	published := func(c *codec.Channel) bool { return r.published(c) && r.publishers[c].caller == nil }
	q := codec.Query{End: t, Topics: published, Damaged: r.damaged,
		Last: func(c *codec.Channel) int { return r.publishers[c].latchedDepth(c) }}
	for m, err := range codec.Messages(r.source, q) {
		if err == nil {
			err = publish(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// source is the recordings to be played, merged in time, with the selected topics.
type source struct {
	*recordings.Edited
	options  recordings.Options // with which they were opened
	channels []*codec.Channel   // selected, in the order of the files
	all      []*codec.Channel   // with those that are not selected
	start    int64              // ns since the Unix epoch, of the earliest message of all
	end      int64              // of the latest
	warnings []string           // for the log
}

// openSource opens the recordings at paths. offsets are by path, in ns that a recording is played later; with
// alignStarts they count from the earliest start. Reading the source ends with ctx. The caller closes it.
func openSource(ctx context.Context, files *store.Files, paths []string, offsets map[string]int64, alignStarts bool,
	wants func(*codec.Channel) bool, o formats.ReadOptions) (*source, error) {
	options := o.Options(formats.All(), files)
	options.Context, options.SkipUnwritten, options.Outlying = ctx, true, true
	options.Align, options.Shift = alignStarts, offsets
	opened, err := recordings.Open(paths, options)
	if err != nil {
		return nil, err
	}
	s := &source{Edited: opened.Edit(recordings.Edits{Select: wants}), options: options}
	for _, path := range opened.Unwritten {
		s.warnings = append(s.warnings, path+" is unfinished and empty; nothing of it is played")
	}
	for _, p := range opened.Parts {
		s.add(p)
	}
	s.start, s.end = opened.Window()
	for _, text := range recordings.FarApart(opened.Infos()) {
		s.warnings = append(s.warnings, text+", --skip-empty skips the time between")
	}
	if !alignStarts {
		var readers []codec.Reader
		for _, p := range opened.Parts {
			readers = append(readers, p.Reader)
		}
		s.warnings = append(s.warnings, recordings.Doubled(readers)...)
	}
	return s, nil
}

// add adds the channels of a recording, and warnings about it.
func (s *source) add(p *recordings.Part) {
	for _, e := range p.Info.Events {
		if e.Kind == codec.EventTimes {
			s.warnings = append(s.warnings, p.Path+": "+e.Text+"; the player waits as long as times are apart, "+
				"--skip-empty skips that")
		}
	}
	s.warnings = append(s.warnings, p.Info.Notes...)
	if !p.Info.Complete {
		s.warnings = append(s.warnings, fmt.Sprintf("%s is unfinished or damaged%s; playing what is readable (for "+
			"details: converter info)", p.Path, damage(p.Info)))
	}
	for _, e := range p.Info.Events {
		if e.Kind == codec.EventLabel || e.Kind == codec.EventNote {
			s.warnings = append(s.warnings, p.Path+": "+e.Text)
		}
	}
	for _, err := range p.Left {
		s.warnings = append(s.warnings, fmt.Sprintf("%s: not played: %v", p.Path, err))
	}
	for _, t := range p.Info.Topics {
		s.all = append(s.all, t.Channel)
		if s.Selects(t.Channel) {
			s.channels = append(s.channels, t.Channel)
		}
	}
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
	for _, p := range s.Parts {
		for _, e := range p.Info.Events {
			if e.Kind == codec.EventMissing && (e.Topic == "" ||
				slices.ContainsFunc(s.channels, func(c *codec.Channel) bool { return c.Topic == e.Topic })) {
				return fmt.Errorf("%s: %s; without --stop-at-damage everything else is played", p.Info.Path, e.Text)
			}
		}
	}
	return nil
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
