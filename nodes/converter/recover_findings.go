package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
)

const (
	// joinedDamage is the largest time in ns between damaged places of a topic that are listed as one.
	joinedDamage = int64(time.Second)
	// shownRanges is the largest number of ranges of messages that are listed.
	shownRanges = 20
	// knownPlaces is the largest number of damaged places that are remembered, so that none is counted twice.
	knownPlaces = 10_000
)

// findings collects the damage that a recovery finds. It must not be used concurrently.
type findings struct {
	sound   bool        // suspect messages are excluded from the output
	info    *codec.Info // of the recording
	places  int
	known   map[string]bool
	suspect codec.Affected
	lost    codec.Affected
}

// add adds a damaged place. It returns false if the place is known: a recording may be read several times.
func (f *findings) add(err error) bool {
	text := err.Error()
	if f.known[text] {
		return false
	}
	if f.known == nil {
		f.known = map[string]bool{}
	}
	if len(f.known) < knownPlaces {
		f.known[text] = true
	}
	f.places++
	if place := new(codec.DamageError); errors.As(err, &place) {
		for _, m := range place.Suspect {
			f.suspect.Join(m, joinedDamage)
		}
		for _, m := range place.Lost {
			f.lost.Join(m, joinedDamage)
		}
	}
	return true
}

// events returns events about the damage, for the saved recording.
func (f *findings) events() (events []codec.Event) {
	add := func(kind, text string, all codec.Affected) {
		for _, m := range all {
			events = append(events, codec.Event{Kind: kind, Topic: m.Topic, Time: m.Start, Until: m.End, Count: m.Count,
				Text: text})
		}
	}
	if f.sound {
		add(codec.EventLost, "left out, as a checksum was wrong in "+f.info.Path, f.suspect)
	} else {
		add(codec.EventSuspect, "may be damaged, as a checksum was wrong in "+f.info.Path, f.suspect)
	}
	add(codec.EventLost, "could not be read from "+f.info.Path, f.lost)
	for _, e := range f.unreportedLosses() {
		e.Kind = codec.EventLost
		events = append(events, e)
	}
	return events
}

// unreportedLosses returns events of the recording with numbers of lost messages that reading did not report.
func (f *findings) unreportedLosses() (events []codec.Event) {
	for _, e := range f.info.Events {
		if e.Kind == codec.EventDamage && e.Topic == "" && e.Count > 0 && !f.reported(e.Text) {
			events = append(events, e)
		}
	}
	return events
}

// reported reports whether reading has reported the damage of an event with this text. Either text may begin with the
// name of a file.
func (f *findings) reported(text string) bool {
	for known := range f.known {
		if strings.HasSuffix(known, text) || strings.HasSuffix(text, known) {
			return true
		}
	}
	return false
}

// report describes the damage in lines. saved is the number of the recording's messages in the output; -1: the output
// has other messages or none.
func (f *findings) report(saved int64) (lines []string) {
	suspect := "may be damaged, kept: "
	if f.sound {
		suspect = "may be damaged, left out: "
	}
	lines = append(ranges(suspect, f.suspect), ranges("lost: ", f.lost)...)
	if f.suspect != nil && !f.sound {
		lines = append(lines, fmt.Sprintf("%s may be damaged; --leave-out-damaged leaves them out",
			human.Count(f.suspect.Count(), "message")))
	}
	lost := f.lost.Count()
	for _, e := range f.unreportedLosses() {
		lost += e.Count
		line := fmt.Sprintf("lost: %s: %s", human.Count(e.Count, "message"), human.Printable(e.Text))
		if e.Until > e.Time {
			line += ", " + period(e.Time, e.Until)
		}
		lines = append(lines, line)
	}
	for _, e := range f.info.Events {
		switch {
		case e.Topic != "" || e.Count > 0 || f.reported(e.Text):
		case e.Kind == codec.EventDamage:
			lines = append(lines, "damaged: "+human.Printable(e.Text))
		case e.Kind == codec.EventMissing:
			lines = append(lines, "missing: "+human.Printable(e.Text))
		}
	}
	broken := f.places > 0 || slices.ContainsFunc(f.info.Events, func(e codec.Event) bool {
		return e.Kind == codec.EventDamage || e.Kind == codec.EventMissing
	})
	switch {
	case f.places > 0:
		lines = append(lines, human.Count(f.places, "damaged place"))
	case f.info.Complete:
		return append(lines, "nothing was damaged")
	default:
		for _, e := range f.info.Events {
			if e.Kind == codec.EventUnfinished {
				lines = append(lines, "not finished: "+human.Printable(e.Text))
			}
		}
		lines = append(lines, "the recording was incomplete; everything readable is saved")
	}
	if missing := int64(f.info.MessageCount) - saved; f.info.Indexed && saved >= 0 && missing > 0 {
		if f.sound {
			missing -= int64(f.suspect.Count())
		}
		lost = max(lost, uint64(max(missing, 0))) // also messages in damage that has no index
	}
	switch {
	case lost > 0 && f.info.Indexed:
		total := max(f.info.MessageCount, uint64(max(saved, 0))+lost) // indexes lack missing files
		lines = append(lines, fmt.Sprintf("%d of %s lost", lost, human.Count(total, "message")))
	case lost > 0:
		lines = append(lines, human.Count(lost, "message")+" lost, as far as headers tell")
	case !f.info.Indexed && broken:
		lines = append(lines, "how many messages are lost is unknown: no index lists them")
	}
	return lines
}

// ranges lists messages by topic and time, one range a line.
func ranges(what string, all codec.Affected) (lines []string) {
	slices.SortFunc(all, func(a, b codec.AffectedMessages) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Start, b.Start))
	})
	for _, m := range all[:min(len(all), shownRanges)] {
		topic := "unknown topics"
		if m.Topic != "" {
			topic = human.Printable(m.Topic)
		}
		lines = append(lines, fmt.Sprintf("%s%s on %s, %s", what, human.Count(m.Count, "message"), topic,
			period(m.Start, m.End)))
	}
	if more := len(all) - shownRanges; more > 0 {
		lines = append(lines, fmt.Sprintf("%sand %d more ranges", what, more))
	}
	return lines
}

// period formats a period of time, in milliseconds.
func period(start, end int64) string {
	const format = "2006-01-02 15:04:05.000"
	from, to := time.Unix(0, start).Format(format), time.Unix(0, end).Format(format)
	if from == to {
		return from
	}
	return from + " to " + to
}
