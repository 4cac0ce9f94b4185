package recordings

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/text/plural"
	"tapedeck/codec/training/episode"
)

const (
	// standsOut is the distance in ns from all other messages at which WithOutlying certainly finds messages. Pauses of
	// a recorder are shorter.
	standsOut = int64(48 * time.Hour)
	// mostProbes is the largest number of searches in a recording.
	mostProbes = 100
	// mostCounted is the largest number of messages of a group that are counted.
	mostCounted = 1000
	// shownOutlying is the largest number of groups that are reported.
	shownOutlying = 5
)

// group is a group of messages that are far from all earlier messages.
type group struct {
	start, end int64 // ns; end is the time of the last counted message
	count      uint64
	all        bool // all messages of the group were counted
}

// WithOutlying returns r with an event in Info for each group of messages whose times stand out because the clock of a
// recorder was set, or because a time is damaged. It uses the index to read a few messages, and reads none if the
// recording is shorter than standsOut. Episodes are not checked: they may be of different days.
func WithOutlying(r codec.Reader) (codec.Reader, error) {
	info, err := r.Info()
	if err != nil {
		return nil, err
	}
	extended, err := outlyingOf(r, info)
	if err != nil || extended == info {
		return r, err
	}
	return &described{r, extended}, nil
}

// described is a reader with another Info.
type described struct {
	codec.Reader
	info *codec.Info
}

func (d *described) Info() (*codec.Info, error) { return d.info, nil }

// outlyingOf returns info, the Info of r, with the events of WithOutlying. It does not change info.
func outlyingOf(r codec.Reader, info *codec.Info) (*codec.Info, error) {
	if info.MessageCount < 2 || within(info.StartTime, info.EndTime, standsOut) ||
		info.Metadata[episode.MetadataKey] != "" {
		return info, nil
	}
	groups, err := findGroups(r, info)
	if err != nil || len(groups) < 2 {
		return info, err
	}
	most := len(groups) - 1
	for i, g := range slices.Backward(groups) {
		if g.count > groups[most].count {
			most = i
		}
	}
	extended := *info
	extended.Events = slices.Clone(info.Events)
	shown := 0
	for i, g := range groups {
		if shown < shownOutlying && i != most {
			shown++
			e := g.event(groups[most], groups[max(i, most)].start)
			if g.start < 0 && info.Unsigned {
				e.Text = fmt.Sprintf("the times of %s are beyond 2262: they are wrong",
					plural.Count(g.count, "message"))
			}
			extended.Events = append(extended.Events, e)
		}
	}
	slices.SortStableFunc(extended.Events, func(a, b codec.Event) int { return cmp.Compare(a.Time, b.Time) })
	return &extended, nil
}

// within reports whether b is at most d later than a.
func within(a, b, d int64) bool { return uint64(b)-uint64(a) <= uint64(d) }

// findGroups returns the groups of messages of r that are at least standsOut apart, by time.
func findGroups(r codec.Reader, info *codec.Info) (groups []group, err error) {
	starts := []int64{info.StartTime}
	for at, probes := info.StartTime, 0; probes < mostProbes && !within(at, info.EndTime, standsOut/2); probes++ {
		probe := at + standsOut/2
		first, err := count(r, codec.Query{Start: cmp.Or(probe, 1)}, 1)
		if err != nil {
			return nil, err
		}
		if first.count == 0 {
			break
		}
		at = first.start
		if !within(probe, at, standsOut/2) {
			starts = append(starts, at)
		}
	}
	for i, start := range starts {
		q := codec.Query{Start: start}
		if i+1 < len(starts) {
			q.End = starts[i+1]
		}
		g, err := count(r, q, mostCounted)
		if err != nil {
			return nil, err
		}
		g.start = start
		groups = append(groups, g)
	}
	return groups, nil
}

// count counts the messages that q selects. It stops at most messages.
func count(r codec.Reader, q codec.Query, most uint64) (g group, err error) {
	q.Damaged = func(error) {}
	g.start = math.MaxInt64
	for m, err := range codec.Messages(r, q) {
		if err != nil {
			return g, err
		}
		g.start, g.end = min(g.start, m.LogTime), m.LogTime
		g.count++
		if g.count == most {
			return g, nil
		}
	}
	g.all = true
	return g, nil
}

// event returns the event about g. most is the group with the most messages, and from is the later start of both
// groups.
func (g *group) event(most group, from int64) codec.Event {
	e := codec.Event{Kind: codec.EventTimes, Time: g.start}
	what := "at least " + plural.Count(mostCounted, "message")
	if g.all {
		e.Until, e.Count = g.end, g.count
		what = plural.Count(g.count, "message")
	}
	side, apart := "before", uint64(from)-uint64(g.end)
	if from == g.start {
		side, apart = "after", uint64(from)-uint64(most.start)
	}
	days := float64(apart) / float64(24*time.Hour)
	e.Text = fmt.Sprintf("the times of %s are %.0f days %s those of the others: a clock was set, or times are wrong",
		what, days, side)
	return e
}
