package episode

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec/training/align"
)

// Numbers are numbers of episodes, as ranges. Both ends belong to a range.
type Numbers [][2]int

// ParseNumbers parses a list of numbers and ranges such as 0,2-5.
func ParseNumbers(text string) (Numbers, error) {
	var numbers Numbers
	for item := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(item), "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if errors.Join(err1, err2) != nil || from < 0 || to < from {
			return nil, fmt.Errorf("%q are no numbers of episodes: want a list such as 0,2-5", text)
		}
		numbers = append(numbers, [2]int{from, to})
	}
	return numbers, nil
}

// Has reports whether n contains the number i.
func (n Numbers) Has(i int) bool {
	return slices.ContainsFunc(n, func(r [2]int) bool { return r[0] <= i && i <= r[1] })
}

// numbersOf returns sorted numbers as Numbers.
func numbersOf(sorted []int) (n Numbers) {
	for _, i := range sorted {
		if last := len(n) - 1; last >= 0 && n[last][1] == i-1 {
			n[last][1] = i
		} else {
			n = append(n, [2]int{i, i})
		}
	}
	return n
}

// String returns a list such as 0,2-5.
func (n Numbers) String() string {
	var items []string
	for _, r := range n {
		item := strconv.Itoa(r[0])
		if r[1] > r[0] {
			item += "-" + strconv.Itoa(r[1])
		}
		items = append(items, item)
	}
	return strings.Join(items, ",")
}

// Selection selects episodes of one or more recordings. Episodes are numbered from 0 on through all recordings, in the
// order in which the recordings are read. Discarded episodes are omitted, unless Only has their numbers; then they are
// not discarded any more.
type Selection struct {
	Only         Numbers // numbers of the episodes to select; nil: all
	OmitEpisodes Numbers // numbers of the episodes to omit
	// JointUnit is the unit of joints if the recording does not say it: "rad" or "deg"; "" leaves it unknown.
	JointUnit string
	// KeepDiscarded selects discarded episodes, too. They stay discarded.
	KeepDiscarded bool

	total     int   // number of episodes, with the omitted ones
	omitted   []int // numbers of the omitted episodes
	discarded []int // numbers of the episodes that were omitted only because they were discarded
}

// ErrDiscarded is the error if all episodes were discarded.
var ErrDiscarded = errors.New("no episode is left, as all were discarded while they were recorded")

// Select returns the selected episodes of a recording, given all its episodes.
func (s *Selection) Select(all []*Episode) (selected []*Episode) {
	for _, e := range all {
		number := s.total
		s.total++
		switch {
		case s.Only != nil && !s.Only.Has(number), s.OmitEpisodes.Has(number):
			s.omitted = append(s.omitted, number)
			continue
		case s.KeepDiscarded:
		case e.Discarded && s.Only == nil:
			s.omitted, s.discarded = append(s.omitted, number), append(s.discarded, number)
			continue
		case e.Discarded:
			e.keep()
		}
		e.setUnits(s.JointUnit)
		selected = append(selected, e)
	}
	return selected
}

// keep makes the episode not discarded.
func (e *Episode) keep() {
	e.Discarded = false
	var members map[string]json.RawMessage
	if json.Unmarshal(e.Metadata, &members) != nil || members["discarded"] == nil {
		return
	}
	delete(members, "discarded") // sessions have this member
	if text, err := json.MarshalIndent(members, "", "  "); err == nil {
		e.Metadata = text
	}
}

// Total returns the number of episodes, with the omitted ones.
func (s *Selection) Total() int { return s.total }

// Check returns an error if a number in Only or OmitEpisodes has no episode, or if all episodes were omitted. It is
// called after Select was called for all recordings.
func (s *Selection) Check() error {
	for _, n := range []Numbers{s.Only, s.OmitEpisodes} {
		for _, r := range n {
			switch {
			case s.total == 0:
				return errors.New("no input has episodes; select a time with --start and --end")
			case r[1] >= s.total:
				return fmt.Errorf("there is no episode %d; there are %v", r[1], Numbers{{0, s.total - 1}})
			}
		}
	}
	switch {
	case s.total == 0 || len(s.omitted) < s.total:
		return nil
	case len(s.discarded) == s.total:
		return fmt.Errorf("%w; --episodes %v of a conversion takes them", ErrDiscarded, numbersOf(s.discarded))
	case len(s.discarded) > 0:
		return fmt.Errorf("all episodes are left out; %s", s.whyDiscarded())
	}
	return errors.New("all episodes are left out")
}

// String returns a text about the omitted episodes, "" if there are none.
func (s *Selection) String() string {
	if len(s.omitted) == 0 {
		return ""
	}
	text := fmt.Sprintf("episodes %v of %v", numbersOf(s.omitted), Numbers{{0, s.total - 1}})
	if len(s.discarded) > 0 {
		text += " (" + s.whyDiscarded() + ")"
	}
	return text
}

// whyDiscarded returns a text about the episodes that were omitted because they were discarded.
func (s *Selection) whyDiscarded() string {
	numbers := numbersOf(s.discarded)
	return fmt.Sprintf("discarded while recording: %v; --episodes %[1]v takes them", numbers)
}

// angles are the roles of streams whose numbers are angles or angular velocities.
var angles = []Role{Joint, Velocity, CommandJoint}

// setUnits sets the unit of joints whose unit is unknown. If unit is "", it changes nothing.
func (e *Episode) setUnits(unit string) {
	for _, a := range e.Arms {
		for _, r := range angles {
			v := a.Streams[r]
			if v == nil || unit == "" || !slices.ContainsFunc(v.Columns, unitless) {
				continue
			}
			known := *v
			known.Columns = slices.Clone(v.Columns)
			for i := range known.Columns {
				if c := &known.Columns[i]; unitless(*c) {
					c.Unit = r.Unit(unit)
				}
			}
			a.Streams[r] = &known
		}
	}
}

func unitless(c align.Column) bool { return c.Unit == "" }

// unknownUnits returns the names of the streams of joints whose unit is unknown.
func unknownUnits(episodes []*Episode) (names []string) {
	for _, e := range episodes {
		for _, a := range e.Arms {
			for _, r := range angles {
				if v := a.Streams[r]; !absent(v) && slices.ContainsFunc(v.Columns, unitless) &&
					!slices.Contains(names, v.Name) {
					names = append(names, v.Name)
				}
			}
		}
	}
	return names
}

// unitOf returns the unit of all columns of a stream: UnitUnknown for joints without a unit, "" if columns have
// different units or none.
func unitOf(r Role, v *align.Vector) string {
	if len(v.Columns) == 0 {
		return ""
	}
	unit := v.Columns[0].Unit
	switch {
	case slices.ContainsFunc(v.Columns, func(c align.Column) bool { return c.Unit != unit }):
		return ""
	case unit == "" && slices.Contains(angles, r):
		return UnitUnknown
	}
	return unit
}
