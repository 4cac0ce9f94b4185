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
	// standsOut is how far messages must be from all others, in ns, to be certainly found by WithOutlying. Pauses of a
	// recorder are shorter.
	standsOut = int64(48 * time.Hour)
	// mostProbes bounds the searches in a recording, and mostCounted the messages that are counted of those that stand
	// out.
	mostProbes  = 100
	mostCounted = 1000
	// shownOutlying is the most groups of messages that are reported.
	shownOutlying = 5
)

// group is messages that are far from those before them.
type group struct {
	start, end int64 // ns; end is the time of the last message that was counted
	count      uint64
	all        bool // all of them were counted
}

// WithOutlying returns r with an event in Info for each group of messages whose times stand out because the clock of a
// recorder was set, or because a time is damaged. It reads a few messages, by the index, and none of recordings that
// are shorter than such a step. Episodes may be as far apart as they like.
func WithOutlying(r codec.Reader) (codec.Reader, error) {
	info, err := r.Info()
	if err != nil {
		return nil, err
	}
	told, err := outlyingOf(r, info)
	if err != nil || told == info {
		return r, err
	}
	return &described{r, told}, nil
}

// described is a recording with another description.
type described struct {
	codec.Reader
	info *codec.Info
}

func (d *described) Info() (*codec.Info, error) { return d.info, nil }

// outlyingOf returns info, which is of r, with the events of WithOutlying.
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
	told := *info
	told.Events = slices.Clone(info.Events)
	shown := 0
	for i, g := range groups {
		if shown < shownOutlying && i != most {
			shown++
			e := g.event(groups[most], groups[max(i, most)].start)
			if g.start < 0 && info.Unsigned {
				e.Text = fmt.Sprintf("the times of %s are beyond 2262: they are wrong",
					plural.Count(g.count, "message"))
			}
			told.Events = append(told.Events, e)
		}
	}
	slices.SortStableFunc(told.Events, func(a, b codec.Event) int { return cmp.Compare(a.Time, b.Time) })
	return &told, nil
}

// within reports whether b is at most d after a.
func within(a, b, d int64) bool { return uint64(b)-uint64(a) <= uint64(d) }

// findGroups returns groups of messages of r that are at least standsOut apart, in the order of time.
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

// count counts at most so many messages that q selects.
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

// event returns the event about g, whose times are far from the times of most; from is the later start of both.
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
