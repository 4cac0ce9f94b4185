// Package chunked reads recordings whose messages are in chunks. Chunks may overlap in time, and their messages may be
// out of order. A format describes the file as Contents, and reads its chunks and records as a Loader. If payloads are
// not compressed, a Loader may first read only the heads of messages, and then only the payloads that are wanted.
package chunked

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"tapedeck/codec"
)

// Contents describes a file before its messages are read.
type Contents struct {
	Path     string
	Channels []*codec.Channel // by number; nil if there is none
	Counts   []uint64         // number of messages by channel; missing entries are 0; nil: unknown
	Segments []Segment        // in the order of the file
	Damage   []Damage         // found before reading, in the order of the file
	Events   []codec.Event
	Scanned  bool       // the whole file was read: Damage is complete
	Heads    bool       // records are heads of messages; each payload is read when its message is returned
	Remote   codec.File // file whose segments are fetched ahead; nil for a local file

	stored  bool       // Reader.Stored
	times   bool       // start and end are set
	start   int64      // LogTime of the earliest message
	end     int64      // LogTime of the latest message
	byStart []*Segment // segments by the time of their first message
	latest  []int64    // for each segment of byStart: the latest end of it and the segments before it
	byEnd   []*Segment // segments by end, the latest first; nil until needed
}

// Damage is damage to a chunk, or to the records between segments.
type Damage struct {
	Offset int64 // in the file
	Err    error
}

// Known reports whether there is a channel with this number.
func (c *Contents) Known(channel int) bool {
	return channel < len(c.Channels) && c.Channels[channel] != nil
}

// Count adds n messages of a channel.
func (c *Contents) Count(channel int, n uint64) {
	if missing := channel + 1 - len(c.Counts); missing > 0 {
		c.Counts = append(c.Counts, make([]uint64, missing)...)
	}
	c.Counts[channel] += n
}

func (c *Contents) count(channel int) uint64 {
	if channel < len(c.Counts) {
		return c.Counts[channel]
	}
	return 0
}

// Cover extends the time of the messages to include start to end, in ns.
func (c *Contents) Cover(start, end int64) {
	if !c.times {
		c.times, c.start, c.end = true, start, end
	}
	c.start, c.end = min(c.start, start), max(c.end, end)
}

// Covered returns the time of the messages in ns, and whether there are any.
func (c *Contents) Covered() (start, end int64, ok bool) { return c.start, c.end, c.times }

// Event adds an event that has no time.
func (c *Contents) Event(kind, text string) {
	c.Events = append(c.Events, codec.Event{Kind: kind, Text: text})
}

// Damaged adds damage at an offset.
func (c *Contents) Damaged(offset int64, err error) {
	c.Damage = append(c.Damage, Damage{offset, fmt.Errorf("read %s: %w", c.Path, err)})
	c.Event(codec.EventDamage, err.Error())
}

// DamagedHead adds damage of the beginning of the file, unless there is damage at offset 0 already.
func (c *Contents) DamagedHead() {
	if len(c.Damage) > 0 && c.Damage[0].Offset == 0 {
		return
	}
	c.Damaged(0, errors.New("the beginning of the file is missing or damaged"))
	last := len(c.Damage) - 1
	c.Damage = slices.Insert(c.Damage[:last], 0, c.Damage[last])
}

// Sort prepares the segments for searching by time. They must not be changed afterwards.
func (c *Contents) Sort() {
	c.byStart = make([]*Segment, len(c.Segments))
	c.latest = make([]int64, len(c.Segments))
	for i := range c.Segments {
		c.byStart[i] = &c.Segments[i]
	}
	if !slices.IsSortedFunc(c.byStart, byStart) {
		slices.SortStableFunc(c.byStart, byStart)
	}
	latest := int64(math.MinInt64)
	for i, s := range c.byStart {
		latest = max(latest, s.End)
		c.latest[i] = latest
	}
}

func byStart(a, b *Segment) int { return cmp.Compare(a.Start, b.Start) }

// fromEnd returns the segments by their end, the latest first.
func (c *Contents) fromEnd() []*Segment {
	if c.byEnd == nil {
		c.byEnd = slices.Clone(c.byStart)
		slices.Reverse(c.byEnd)
		slices.SortFunc(c.byEnd, func(a, b *Segment) int {
			return cmp.Or(cmp.Compare(b.End, a.End), cmp.Compare(b.Offset, a.Offset))
		})
	}
	return c.byEnd
}

// from returns the segments by start, without the first segments that all end before t.
func (c *Contents) from(t int64) []*Segment {
	i, _ := slices.BinarySearch(c.latest, t)
	return c.byStart[i:]
}

// Info describes the file of size bytes, with the events that a recorder stored among the messages. l loads the events.
func (c *Contents) Info(format string, size int64, l Loader) *codec.Info {
	info := &codec.Info{Format: format, Path: c.Path, Size: size, Indexed: !c.Scanned}
	info.Events = append(c.storedEvents(l), c.Events...)
	slices.SortStableFunc(info.Events, func(a, b codec.Event) int { return cmp.Compare(a.Time, b.Time) })
	for id, channel := range c.Channels {
		if channel != nil {
			n := c.count(id)
			info.MessageCount += n
			info.Topics = append(info.Topics, codec.TopicInfo{Channel: channel, MessageCount: n})
		}
	}
	info.StartTime, info.EndTime, _ = c.Covered()
	info.Files = []codec.FileInfo{{
		Path: c.Path, Size: size, MessageCount: info.MessageCount, StartTime: info.StartTime, EndTime: info.EndTime,
	}}
	return info
}

// storedEvents returns the events that a recorder stored among the messages.
func (c *Contents) storedEvents(l Loader) []codec.Event {
	if !slices.ContainsFunc(c.Channels, func(c *codec.Channel) bool { return c != nil && codec.IsEvents(c) }) {
		return nil
	}
	events, _ := Events(c.Read(l, codec.Query{Topics: codec.IsEvents, Damaged: func(error) {}}))
	return events
}

// Events returns the events among the messages of an iterator, and the error that ended it, nil for io.EOF. It
// closes the iterator.
func Events(it codec.Iterator) (events []codec.Event, err error) {
	for m, err := range codec.Each(it) {
		if err != nil {
			return events, err
		}
		if e, ok := codec.ParseEvent(m); ok {
			events = append(events, e)
		}
	}
	return events, nil
}
