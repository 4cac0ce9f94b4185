package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/nodes/internal/human"
)

// happening is what is told of one event, or of several that are of one kind and topic.
type happening struct {
	first   codec.Event
	until   int64
	count   uint64
	times   int
	longest codec.Event
}

// happenings returns what is to be told of events, in their order. Losses and silences of a topic are told together:
// there may be many. Totals are told beside the topics.
func happenings(events []codec.Event) []*happening {
	var list []*happening
	type key struct{ kind, topic string }
	known := map[key]*happening{}
	for _, e := range events {
		if e.Kind == codec.EventTotals {
			continue
		}
		h := known[key{e.Kind, e.Topic}]
		if h == nil {
			h = &happening{first: e, longest: e}
			list = append(list, h)
			switch e.Kind {
			case codec.EventLost, codec.EventDrop, codec.EventThrottle, codec.EventGap:
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

// length returns how long an event took, in ns.
func length(e codec.Event) int64 { return max(0, e.Until-e.Time) }

// when says from when to when it was, and how long that is.
func (h *happening) when() (from, to string) {
	if h.first.Time == 0 {
		return "-", ""
	}
	from = human.ShortClock(h.first.Time)
	if h.until > h.first.Time {
		took := time.Duration(h.until - h.first.Time).Round(time.Millisecond)
		to = fmt.Sprintf("to %s (%.3f s)", time.Unix(0, h.until).Format("15:04:05.000"), took.Seconds())
	}
	return from, to
}

// text says what it was.
func (h *happening) text() string {
	text := h.first.Text
	if h.times > 1 {
		if h.count > 0 {
			text = fmt.Sprintf("%s, %d times: %s", human.Count(h.count, "message"), h.times, text)
		} else {
			text = fmt.Sprintf("%d times: %s", h.times, text)
		}
		if length(h.longest) > 0 {
			text += fmt.Sprintf("; the longest %.3f s at %s", float64(length(h.longest))/1e9,
				time.Unix(0, h.longest.Time).Format("15:04:05.000"))
		}
	} else if n := human.Count(h.count, "message"); h.count > 0 && !strings.Contains(text, n) {
		text = fmt.Sprintf("%s: %s", n, text)
	}
	return human.Printable(text)
}

func writeEvents(b *strings.Builder, events []*happening) {
	var rows [][]string
	long := false
	for _, h := range events[:min(len(events), shownEvents)] {
		from, to := h.when()
		rows = append(rows, []string{from, to, human.OrDash(h.first.Kind), human.OrDash(h.first.Topic), h.text()})
		long = long || to != ""
	}
	if !long {
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 1, 2)
		}
	}
	writeTable(b, rows, nil)
	if more := len(events) - shownEvents; more > 0 {
		fmt.Fprintf(b, "  and %d more; --json lists all of them\n", more)
	}
}

// totalsOf returns what a recorder counted of each topic, in the files that were read and, if it says so, in the whole
// recording that they are of.
func totalsOf(info *codec.Info) (files, whole map[string]codec.Totals) {
	files, whole = map[string]codec.Totals{}, map[string]codec.Totals{}
	for _, e := range info.Events {
		t, all, ok := codec.ParseTotals(e)
		if !ok {
			continue
		}
		if all {
			whole[e.Topic] = t
		} else {
			files[e.Topic] = plus(files[e.Topic], t)
		}
	}
	return files, whole
}

func plus(a, b codec.Totals) codec.Totals {
	return codec.Totals{Received: a.Received + b.Received, Written: a.Written + b.Written, Dropped: a.Dropped +
		b.Dropped, Lost: a.Lost + b.Lost}
}

// sum returns the totals of all topics.
func sum(topics map[string]codec.Totals) codec.Totals {
	var all codec.Totals
	for _, t := range topics {
		all = plus(all, t)
	}
	return all
}

// totalsText says how much there was, and of what.
func totalsText(t codec.Totals) string {
	return fmt.Sprintf("received %d, written %d, dropped %d, lost on the way %d", t.Received, t.Written, t.Dropped, t.Lost)
}
