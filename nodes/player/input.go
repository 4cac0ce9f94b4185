package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/cdr"
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
	ready      func() // called when more was read
}

func (r *sourceInput) from(t, end int64) (feed, error) {
	it, err := r.read(t, end)
	if err != nil {
		return nil, err
	}
	return readahead.New(it, r.readAhead, r.ready), nil
}

func (r *sourceInput) read(t, end int64) (codec.Iterator, error) {
	q := codec.Query{Start: t, End: end, Topics: r.published, Damaged: r.damaged}
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
	it, err := r.source.latest(codec.Query{End: t, Topics: r.published, Damaged: r.damaged}, func(c *codec.Channel) int {
		return r.publishers[c].latchedDepth(c)
	})
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
	offset int64 // ns by which it is played later
	files  []codec.FileInfo
	path   string
	some   bool  // it has messages
	start  int64 // ns since the Unix epoch, when the first message is played
	end    int64 // likewise, of the last one
}

// openSource opens the recordings at paths. offsets are by path, in ns that a recording is played later. The caller
// closes the source.
func openSource(paths []string, offsets map[string]int64, wants func(*codec.Channel) bool,
	o formats.ReadOptions) (*source, error) {
	s := &source{wants: wants, options: o}
	for _, path := range paths {
		if err := s.add(path, offsets[path]); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (s *source) add(path string, offset int64) error {
	r, left, err := formats.All().OpenROS2(path, s.options)
	if err != nil {
		return err
	}
	s.recordings = append(s.recordings, recording{Reader: r, offset: offset})
	info, err := r.Info()
	if err != nil {
		return err
	}
	added := &s.recordings[len(s.recordings)-1]
	added.files, added.path, added.some = info.Files, path, info.MessageCount > 0
	added.start, added.end = info.StartTime+offset, info.EndTime+offset
	if !info.Complete {
		s.warnings = append(s.warnings, fmt.Sprintf("%s is unfinished or damaged%s; playing what is readable (for "+
			"details: converter info)", path, damage(info)))
	}
	for _, err := range left {
		s.warnings = append(s.warnings, fmt.Sprintf("%s: not played: %v", path, err))
	}
	if info.MessageCount > 0 {
		s.cover(added)
		s.messages += info.MessageCount
	}
	for _, t := range info.Topics {
		s.all = append(s.all, t.Channel)
		if s.wants(t.Channel) {
			s.channels = append(s.channels, t.Channel)
		}
	}
	return nil
}

// cover extends the time of the source to a recording, the first one with messages if there are none yet.
func (s *source) cover(r *recording) {
	if s.messages == 0 {
		s.start, s.end = r.start, r.end
	}
	s.start, s.end = min(s.start, r.start), max(s.end, r.end)
}

// alignStarts moves all recordings in time so that they begin with the earliest one, before their input_offset.
func (s *source) alignStarts() {
	earliest, some := int64(0), false
	for i := range s.recordings {
		if r := &s.recordings[i]; r.some && (!some || r.start-r.offset < earliest) {
			earliest, some = r.start-r.offset, true
		}
	}
	messages := s.messages
	s.messages = 0
	for i := range s.recordings {
		r := &s.recordings[i]
		if !r.some {
			continue
		}
		by := earliest - (r.start - r.offset)
		r.offset, r.start, r.end = r.offset+by, r.start+by, r.end+by
		s.cover(r)
		s.messages = messages
	}
}

// farApart is the time between recordings that are hardly meant to be played after one another.
const farApart = 24 * time.Hour

// checkDistance warns of recordings between which nothing is played for a long time.
func (s *source) checkDistance() {
	var sorted []recording
	for _, r := range s.recordings {
		if r.some {
			sorted = append(sorted, r)
		}
	}
	slices.SortFunc(sorted, func(a, b recording) int { return cmp.Compare(a.start, b.start) })
	for i := 1; i < len(sorted); i++ {
		before, after := &sorted[i-1], &sorted[i]
		if gap := after.start - before.end; gap > int64(farApart) {
			s.warnings = append(s.warnings, fmt.Sprintf("%s begins %.1f days after the end of %s; --align-starts plays them at "+
				"the same time, --skip-empty skips the time between", after.path, float64(gap)/float64(farApart), before.path))
		}
		after.end = max(after.end, before.end)
	}
}

// damage returns the first damage found, "" if there is none.
func damage(info *codec.Info) string {
	for _, e := range info.Events {
		if e.Kind == codec.EventDamage {
			return ": " + e.Text
		}
	}
	return ""
}

// read returns the messages that q and the filter select, in time order.
func (s *source) read(q codec.Query) (codec.Iterator, error) {
	return s.merge(q, func(r codec.Reader, q codec.Query) (codec.Iterator, error) { return r.Read(q) })
}

// latest returns the last messages that q and the filter select: keep(c) of each channel c.
func (s *source) latest(q codec.Query, keep func(*codec.Channel) int) (codec.Iterator, error) {
	return s.merge(q, func(r codec.Reader, q codec.Query) (codec.Iterator, error) { return codec.Latest(r, q, keep) })
}

func (s *source) merge(q codec.Query, read func(codec.Reader,
	codec.Query) (codec.Iterator, error)) (codec.Iterator, error) {
	selected := q
	q.Topics = func(c *codec.Channel) bool { return s.wants(c) && selected.Wants(c) }
	var its []codec.Iterator
	for _, r := range s.recordings {
		q.Start, q.End = selected.Start-r.offset, selected.End
		if q.End != 0 {
			if q.End -= r.offset; q.End <= 0 {
				continue // 0 would be no end
			}
		}
		it, err := read(r.Reader, q)
		if err != nil {
			return nil, errors.Join(err, codec.Merge(its...).Close())
		}
		if r.offset != 0 {
			it = &shifted{Iterator: it, by: r.offset}
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

// shifted moves messages in time.
type shifted struct {
	codec.Iterator
	by      int64 // ns
	message codec.Message
}

func (s *shifted) Next() (*codec.Message, error) {
	m, err := s.Iterator.Next()
	if err != nil {
		return nil, err
	}
	s.message = *m
	s.message.LogTime += s.by
	if m.PublishTime != 0 {
		s.message.PublishTime += s.by
	}
	return &s.message, nil
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
			return nil, config.Usagef("input_offset: %q: %q is no duration, want FILE=1.5s or FILE=-200ms", text, text[at+1:])
		}
		if !slices.Contains(paths, path) {
			return nil, config.Usagef("input_offset: %q: %s is not among the recordings to play", text, path)
		}
		offsets[path] = int64(d)
	}
	return offsets, nil
}
