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

// recordingInput is the input of recordings: it orders their messages and reads them ahead.
type recordingInput struct {
	recordings  *mergedRecordings
	publishers  publishers
	order       string
	stamps      map[*codec.Channel]*cdr.Stamps // of each channel; for order byHeader
	readAhead   int64
	damaged     func(error)
	mislabelled func(error) // called as codec.Query.Mislabelled
	ready       func()      // called when more messages are read
}

func (i *recordingInput) from(t, end int64) (feed, error) {
	it, err := i.read(t, end)
	if err != nil {
		return nil, err
	}
	return readahead.New(it, i.readAhead, i.ready), nil
}

func (i *recordingInput) read(t, end int64) (codec.Iterator, error) {
	q := codec.Query{Start: t, End: end, Topics: i.published, Damaged: i.damaged,
		Mislabelled: i.mislabelled}
	time := sendTime
	switch i.order {
	case byReceipt:
		return i.recordings.Read(q)
	case byHeader:
		time = func(m *codec.Message) int64 { return headerTime(i.stamps[m.Channel], m) }
	}
	q.Start -= disorder
	q.End += disorder
	it, err := i.recordings.Read(q)
	return &orderedIterator{it: it, time: time, start: t, end: end, first: i.recordings.start,
		last: i.recordings.end}, err
}

func (i *recordingInput) published(c *codec.Channel) bool { return i.publishers[c] != nil }

func (i *recordingInput) latched(t int64, publish func(*codec.Message) error) error {
	if t <= i.recordings.start {
		return nil
	}
	published := func(c *codec.Channel) bool { return i.published(c) && i.publishers[c].caller == nil }
	q := codec.Query{End: t, Topics: published, Damaged: i.damaged,
		Last: func(c *codec.Channel) int { return i.publishers[c].latchedDepth(c) }}
	for m, err := range codec.Messages(i.recordings, q) {
		if err == nil {
			err = publish(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mergedRecordings are the recordings to be played, merged in time, with the selected topics.
type mergedRecordings struct {
	*recordings.Edited
	options     recordings.Options // with which the recordings were opened
	channels    []*codec.Channel   // selected, in the order of the files
	allChannels []*codec.Channel   // selected or not
	start       int64              // time of the earliest message, ns since the Unix epoch
	end         int64              // time of the latest message, ns since the Unix epoch
	warnings    []string           // for the log
}

// openRecordings opens the recordings at paths. offsets are by path, in ns by which a recording is played later; with
// alignStarts they count from the earliest start. Reading fails after ctx has ended. The caller must call Close.
func openRecordings(ctx context.Context, files *store.Files, paths []string, offsets map[string]int64, alignStarts bool,
	wants func(*codec.Channel) bool, o formats.ReadOptions) (*mergedRecordings, error) {
	options := o.Options(formats.All(), files)
	options.Context, options.SkipUnwritten, options.Outlying = ctx, true, true
	options.Align, options.Shift = alignStarts, offsets
	opened, err := recordings.Open(paths, options)
	if err != nil {
		return nil, err
	}
	merged := &mergedRecordings{Edited: opened.Edit(recordings.Edits{Select: wants}), options: options}
	for _, path := range opened.Unwritten {
		merged.warnings = append(merged.warnings, path+" is unfinished and empty; nothing of it is played")
	}
	for _, p := range opened.Parts {
		merged.addPart(p)
	}
	merged.start, merged.end = opened.Window()
	for _, text := range recordings.FarApart(opened.Infos()) {
		merged.warnings = append(merged.warnings, text+", --skip-empty skips the time between")
	}
	if !alignStarts {
		var readers []codec.Reader
		for _, p := range opened.Parts {
			readers = append(readers, p.Reader)
		}
		merged.warnings = append(merged.warnings, recordings.Doubled(readers)...)
	}
	return merged, nil
}

// addPart adds the channels of a recording, and warnings about it.
func (r *mergedRecordings) addPart(p *recordings.Part) {
	for _, e := range p.Info.Events {
		if e.Kind == codec.EventTimes {
			r.warnings = append(r.warnings, p.Path+": "+e.Text+"; the player waits as long as times are apart, "+
				"--skip-empty skips that")
		}
	}
	r.warnings = append(r.warnings, p.Info.Notes...)
	if !p.Info.Complete {
		r.warnings = append(r.warnings, fmt.Sprintf("%s is unfinished or damaged%s; playing what is readable (for "+
			"details: converter info)", p.Path, damage(p.Info)))
	}
	for _, e := range p.Info.Events {
		if e.Kind == codec.EventLabel || e.Kind == codec.EventNote {
			r.warnings = append(r.warnings, p.Path+": "+e.Text)
		}
	}
	for _, err := range p.Untranslatable {
		r.warnings = append(r.warnings, fmt.Sprintf("%s: not played: %v", p.Path, err))
	}
	for _, t := range p.Info.Topics {
		r.allChannels = append(r.allChannels, t.Channel)
		if r.Selects(t.Channel) {
			r.channels = append(r.channels, t.Channel)
		}
	}
}

// lastTime returns the end of playback for a requested end, 0 for no requested end.
func (r *mergedRecordings) lastTime(end int64) int64 {
	if end == 0 || end > r.end {
		return max(r.end, r.end+1) // r.end+1 overflows at the latest time, in 2262
	}
	return end
}

// damage returns the first damage found as ": TEXT", "" if there is none.
func damage(info *codec.Info) string {
	for _, e := range info.Events {
		if e.Kind == codec.EventDamage || e.Kind == codec.EventMissing {
			return ": " + e.Text
		}
	}
	return ""
}

// checkMissing returns an error if a missing file of a recording would have messages to be played.
func (r *mergedRecordings) checkMissing() error {
	for _, p := range r.Parts {
		for _, e := range p.Info.Events {
			if e.Kind == codec.EventMissing && (e.Topic == "" ||
				slices.ContainsFunc(r.channels, func(c *codec.Channel) bool { return c.Topic == e.Topic })) {
				return fmt.Errorf("%s: %s; without --stop-at-damage everything else is played", p.Info.Path, e.Text)
			}
		}
	}
	return nil
}

// offsets parses the option InputOffset. The result is by path, in ns by which a recording is played later.
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
