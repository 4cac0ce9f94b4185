package chunked

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"tapedeck/codec"
)

// runSize is the approximate size of a segment of messages outside of chunks, in bytes.
const runSize = 1 << 20

// Segment is a part of a file that is loaded at once: a chunk, or a run of records outside of chunks.
type Segment struct {
	Offset      int64  // of the first record in the file
	Size        int64  // upper bound of its bytes in the file
	Index       int64  // bytes of the message index behind it; 0: unknown
	Start, End  int64  // LogTime of the earliest and the latest message
	Channels    []int  // numbers of its messages' channels; nil if unknown
	Compression string // of a chunk; "" if unknown
	Chunk       bool
	Cut         bool // the file ends within it
	Reported    bool // its damage is in Contents.Damage
	Unsorted    bool // its messages are not in the order of time; set by Load
}

func (s *Segment) String() string {
	if s.Chunk {
		return fmt.Sprintf("chunk at 0x%x", s.Offset)
	}
	return fmt.Sprintf("messages at 0x%x", s.Offset)
}

// LoadNew loads a segment that no index describes, into buf if it fits. It sets times and channels of s from its
// messages, adds its damage to c and returns the number of messages by channel.
func (c *Contents) LoadNew(l Loader, s *Segment, buf []byte) (records []byte, counts map[int]uint64) {
	records, errs := l.Load(s, buf)
	for i, err := range errs {
		c.Damaged(s.Offset, err)
		if i == 0 {
			last := &c.Damage[len(c.Damage)-1].Err
			*last = c.affected(l, s, records, *last, s.suspect(errs), func(id int, _ int64) bool { return c.Known(id) })
		}
	}
	s.Reported = true
	s.Start, s.End = math.MaxInt64, math.MinInt64
	counts = map[int]uint64{}
	for _, m := range Messages(l, records) {
		s.Start, s.End = min(s.Start, m.Time), max(s.End, m.Time)
		counts[m.Channel]++
	}
	s.Channels = append([]int{}, slices.Sorted(maps.Keys(counts))...)
	return records, counts
}

// suspect reports whether the messages of s may be damaged, given the errors of loading it: a chunk has at most one
// checksum. A chunk that the file ends within only lacks its end.
func (s *Segment) suspect(errs []error) bool { return s.Chunk && !s.Cut && len(errs) > 0 }

// affected adds the affected messages of the damaged segment s to an error: the messages in records, if they are
// suspect, and messages that its index lists but records lack.
func (c *Contents) affected(l Loader, s *Segment, records []byte, err error, suspect bool,
	wants func(channel int, t int64) bool) error {
	d := &codec.DamageError{Err: err}
	type key struct {
		channel int
		time    int64
	}
	read := map[key]int{}
	for _, m := range Messages(l, records) {
		read[key{m.Channel, m.Time}]++
		if suspect && wants(m.Channel, m.Time) {
			d.Suspect.Add(c.Channels[m.Channel].Topic, m.Time)
		}
	}
	l.Find(s, func(channel int, t, _ int64) {
		if k := (key{channel, t}); read[k] > 0 {
			read[k]--
		} else if wants(channel, t) {
			d.Lost.Add(c.Channels[channel].Topic, t)
		}
	})
	if d.Suspect == nil && d.Lost == nil {
		return err
	}
	return d
}

// Run collects messages outside of chunks in segments.
type Run struct {
	Contents *Contents
	Counted  bool // Contents.Counts includes the messages already
	segment  Segment
	counts   map[int]uint64
}

// Add adds the message from offset to end.
func (r *Run) Add(offset, end int64, channel int, t int64) {
	s := &r.segment
	if s.Size > 0 && end-s.Offset > runSize {
		r.Flush()
	}
	if s.Size == 0 {
		*s = Segment{Offset: offset, Start: t, End: t}
		r.counts = map[int]uint64{}
	}
	s.Unsorted = s.Unsorted || t < s.End
	s.Size = end - s.Offset
	s.Start, s.End = min(s.Start, t), max(s.End, t)
	r.counts[channel]++
}

// Flush ends the open segment.
func (r *Run) Flush() {
	s := &r.segment
	if s.Size == 0 {
		return
	}
	s.Channels = slices.Sorted(maps.Keys(r.counts))
	if !r.Counted {
		for id, n := range r.counts {
			r.Contents.Count(id, n)
		}
	}
	r.Contents.Cover(s.Start, s.End)
	r.Contents.Segments = append(r.Contents.Segments, *s)
	*s = Segment{}
}
