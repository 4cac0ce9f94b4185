package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
)

// eventRow describes one event, or several events of one kind and topic.
type eventRow struct {
	first   codec.Event
	until   int64
	count   uint64
	times   int
	longest codec.Event
}

// eventRows returns the rows of events, in order. Losses and gaps of a topic share a row, because there may be many.
// EventTotals are skipped: the table of topics has them.
func eventRows(events []codec.Event) []*eventRow {
	var list []*eventRow
	type key struct{ kind, topic string }
	known := map[key]*eventRow{}
	for _, e := range events {
		if e.Kind == codec.EventTotals {
			continue
		}
		h := known[key{e.Kind, e.Topic}]
		if h == nil {
			h = &eventRow{first: e, until: e.Time, longest: e}
			list = append(list, h)
			switch e.Kind {
			case codec.EventLost, codec.EventDrop, codec.EventThrottle, codec.EventGap,
				codec.EventSuspect:
				known[key{e.Kind, e.Topic}] = h
			}
		}
		h.times++
		h.count += e.Count
		h.until = max(h.until, e.Time, e.Until)
		if length(e) > length(h.longest) {
			h.longest = e
		}
	}
	return list
}

// length returns the duration of an event, in ns.
func length(e codec.Event) int64 { return max(0, e.Until-e.Time) }

// when formats the time and the duration of the row. info describes the recording.
func (r *eventRow) when(info *codec.Info) (from, to string) {
	if r.first.Time == 0 {
		return "-", ""
	}
	from = shortClock(info, r.first.Time)
	if r.until > r.first.Time {
		took := time.Duration(r.until - r.first.Time).Round(time.Millisecond)
		to = fmt.Sprintf("to %s (%.3f s)", time.Unix(0, r.until).Format("15:04:05.000"), took.Seconds())
	}
	return from, to
}

// text describes the events of the row.
func (r *eventRow) text() string {
	text := r.first.Text
	if r.times > 1 {
		if r.count > 0 {
			text = fmt.Sprintf("%s, %d times: %s", human.Count(r.count, "message"), r.times, text)
		} else {
			text = fmt.Sprintf("%d times: %s", r.times, text)
		}
		if length(r.longest) > 0 {
			text += fmt.Sprintf("; the longest %.3f s at %s", float64(length(r.longest))/1e9,
				time.Unix(0, r.longest.Time).Format("15:04:05.000"))
		}
	} else if n := human.Count(r.count, "message"); r.count > 0 && !strings.Contains(text, n) {
		text = fmt.Sprintf("%s: %s", n, text)
	}
	return human.Printable(text)
}

// shortClock formats a time in the recording that info describes.
func shortClock(info *codec.Info, ns int64) string {
	if ns < 0 && info.Unsigned {
		return "beyond 2262"
	}
	return human.ShortClock(ns)
}

// clock formats a time in the recording that info describes, with its Unix seconds.
func clock(info *codec.Info, ns int64) string {
	seconds := human.Seconds(ns)
	if info.Unsigned {
		seconds = human.UnsignedSeconds(uint64(ns))
	}
	return fmt.Sprintf("%s (%s)", shortClock(info, ns), seconds)
}

// writeEvents writes a table of events. info describes the recording.
func writeEvents(b *strings.Builder, info *codec.Info, events []*eventRow) {
	var rows [][]string
	long := false
	for _, h := range events[:min(len(events), shownEvents)] {
		from, to := h.when(info)
		rows = append(rows, []string{from, to, human.OrDash(h.first.Kind), human.OrDash(h.first.Topic), h.text()})
		long = long || to != ""
	}
	if !long {
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 1, 2)
		}
	}
	human.Table(b, rows, nil)
	if more := len(events) - shownEvents; more > 0 {
		fmt.Fprintf(b, "  and %d more; --json lists all of them\n", more)
	}
}

// sum returns the totals of all topics.
func sum(topics map[string]codec.Totals) codec.Totals {
	var all codec.Totals
	for _, t := range topics {
		all = all.Plus(t)
	}
	return all
}

// totalsText formats totals.
func totalsText(t codec.Totals) string {
	return fmt.Sprintf("received %d, written %d, dropped %d, lost in transport %d", t.Received, t.Written, t.Dropped,
		t.Lost)
}
