package chunked

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"tapedeck/codec"
)

// maxRunSize is the size in bytes above which Run begins another segment.
const maxRunSize = 1 << 20

// Segment is a part of a file that is loaded at once: a chunk, or a run of successive records outside of chunks.
type Segment struct {
	Offset      int64  // offset of the first record in the file
	Size        int64  // maximum number of bytes in the file
	IndexSize   int64  // bytes of the message indexes that follow the segment in the file; 0: unknown
	Start, End  int64  // LogTime of the earliest and the latest message
	Channels    []int  // numbers of the channels with messages in the segment; nil: unknown
	Compression string // compression of a chunk; "": unknown
	Chunk       bool   // the segment is a chunk, not a run
	Cut         bool   // the end of the segment is missing in the file
	Reported    bool   // Contents.Damage includes the damage to the segment
	Unsorted    bool   // the messages are not in the order of their LogTime; set by Loader.Load
}

func (s *Segment) String() string {
	if s.Chunk {
		return fmt.Sprintf("chunk at 0x%x", s.Offset)
	}
	return fmt.Sprintf("messages at 0x%x", s.Offset)
}

// LoadNew loads a segment that no index describes. It sets the times and channels of s and adds the damage to c. It
// returns the records, in buf if they fit, and the number of messages by channel.
func (c *Contents) LoadNew(l Loader, s *Segment, buf []byte) (records []byte, counts map[int]uint64) {
	records, errs := l.Load(s, buf)
	for i, err := range errs {
		c.Damaged(s.Offset, err)
		if i == 0 {
			first := &c.Damage[len(c.Damage)-1]
			known := func(channel int, _ int64) bool { return c.Known(channel) }
			first.Err = c.affected(l, s, records, first.Err, s.suspect(errs), known)
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

// suspect reports whether the loaded messages of s may be damaged. errs are the errors of Loader.Load. A checksum
// covers a whole chunk, so any message of a damaged chunk may be wrong. A chunk without its end (Cut) only lacks
// messages.
func (s *Segment) suspect(errs []error) bool { return s.Chunk && !s.Cut && len(errs) > 0 }

// affected returns err as a codec.DamageError with the affected messages of the damaged segment s. The messages in
// records are Suspect, if suspect is true. The messages that the index of s lists but records lack are Lost. Messages
// for which wants returns false are left out. If no message is affected, affected returns err itself.
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

// Run combines successive messages outside of chunks into segments, and adds the segments to Contents.
type Run struct {
	Contents *Contents
	Counted  bool           // the messages are already in Contents.Counts: Run must not count them again
	segment  Segment        // the open segment; Size 0: none
	counts   map[int]uint64 // number of messages in segment, by channel
}

// Add adds a message with LogTime t, whose record reaches from offset to end in the file.
func (r *Run) Add(offset, end int64, channel int, t int64) {
	s := &r.segment
	if s.Size > 0 && end-s.Offset > maxRunSize {
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

// Flush adds the open segment to Contents. The next message begins another segment.
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
