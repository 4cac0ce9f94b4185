package recordings

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tapedeck/codec"
)

// alignShifts returns the shift in ns of each recording so that all recordings begin with the earliest one.
func alignShifts(infos []*codec.Info) []int64 {
	shifts, all := make([]int64, len(infos)), sortByStart(infos)
	for i, info := range infos {
		if info.MessageCount > 0 {
			shifts[i] = all[0].StartTime - info.StartTime
		}
	}
	return shifts
}

// farApart is the time between recordings above which FarApart warns.
const farApart = 24 * time.Hour

// FarApart returns a warning for each long time between recordings that are to be merged.
func FarApart(infos []*codec.Info) (warnings []string) {
	var before *codec.Info // the recording so far that ends last
	for _, info := range sortByStart(infos) {
		if before != nil && info.StartTime-before.EndTime > int64(farApart) {
			days := float64(info.StartTime-before.EndTime) / float64(farApart)
			warnings = append(warnings, fmt.Sprintf("%s begins %.1f days after the end of %s; --align-starts lets all "+
				"recordings begin at the same time", info.Path, days, before.Path))
		}
		if before == nil || info.EndTime > before.EndTime {
			before = info
		}
	}
	return warnings
}

// sortByStart returns the recordings that have messages, sorted by their start.
func sortByStart(infos []*codec.Info) []*codec.Info {
	some := slices.DeleteFunc(slices.Clone(infos), func(i *codec.Info) bool { return i.MessageCount == 0 })
	slices.SortStableFunc(some, func(a, b *codec.Info) int { return cmp.Compare(a.StartTime, b.StartTime) })
	return some
}

// shift returns the recording that r reads, moved by ns in time. The times in events and in stamps do not change. The
// returned reader owns r.
func shift(r codec.Reader, ns int64) (codec.Reader, error) {
	info, err := r.Info()
	if err != nil || ns == 0 {
		return r, err
	}
	moved := *info
	moved.StartTime, moved.EndTime, moved.Files = info.StartTime+ns, info.EndTime+ns, slices.Clone(info.Files)
	for i := range moved.Files {
		moved.Files[i].StartTime += ns
		moved.Files[i].EndTime += ns
	}
	return &shifted{r, ns, &moved}, nil
}

// shifted moves a recording in time.
type shifted struct {
	codec.Reader
	by   int64 // ns
	info *codec.Info
}

func (s *shifted) Info() (*codec.Info, error) { return s.info, nil }

func (s *shifted) Read(q codec.Query) (codec.Iterator, error) {
	if q.Start != 0 {
		q.Start = codec.Later(q.Start, -s.by)
	}
	if q.End != 0 {
		q.End = codec.Later(q.End, -s.by)
		if q.End <= 0 {
			return codec.Merge(), nil // nothing is before 0, and 0 in a Query means no end
		}
	}
	it, err := s.Reader.Read(q)
	if err != nil {
		return nil, err
	}
	return &shifting{Iterator: it, by: s.by}, nil
}

// shifting moves messages in time.
type shifting struct {
	codec.Iterator
	by      int64 // ns
	message codec.Message
}

func (s *shifting) Next() (*codec.Message, error) {
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
