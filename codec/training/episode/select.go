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

// Numbers are numbers of episodes, as ranges whose last number belongs to them.
type Numbers [][2]int

// ParseNumbers parses "0,2-5".
func ParseNumbers(text string) (Numbers, error) {
	var all Numbers
	for part := range strings.SplitSeq(text, ",") {
		first, last, many := strings.Cut(strings.TrimSpace(part), "-")
		if !many {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if errors.Join(err1, err2) != nil || from < 0 || to < from {
			return nil, fmt.Errorf("%q are no numbers of episodes: want a list such as 0,2-5", text)
		}
		all = append(all, [2]int{from, to})
	}
	return all, nil
}

// Has reports whether a number is among them.
func (n Numbers) Has(i int) bool {
	return slices.ContainsFunc(n, func(r [2]int) bool { return r[0] <= i && i <= r[1] })
}

// numbersOf returns sorted numbers as ranges.
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
	var parts []string
	for _, r := range n {
		part := strconv.Itoa(r[0])
		if r[1] > r[0] {
			part += "-" + strconv.Itoa(r[1])
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// Selection selects the episodes of one or more recordings. They are numbered from 0 on through all of them, in the
// order in which the recordings are read. Discarded episodes are left out, unless Only has their numbers: then they are
// not discarded any more.
type Selection struct {
	Only    Numbers // nil: all
	LeftOut Numbers
	// JointUnit is the unit of joints whose source does not tell it: "rad" or "deg"; "" leaves it unknown.
	JointUnit string
	// KeepDiscarded selects discarded episodes, too. They stay discarded.
	KeepDiscarded bool

	total     int
	left      []int // numbers of those that are left out
	discarded []int // those in left that were discarded, and that neither Only nor LeftOut leaves out
}

// ErrDiscarded is that all episodes were discarded.
var ErrDiscarded = errors.New("no episode is left, as all were discarded while they were recorded")

// Select returns the episodes of a recording that are selected.
func (s *Selection) Select(all []*Episode) (selected []*Episode) {
	for _, e := range all {
		number := s.total
		s.total++
		switch {
		case s.Only != nil && !s.Only.Has(number), s.LeftOut.Has(number):
			s.left = append(s.left, number)
			continue
		case s.KeepDiscarded:
		case e.Discarded && s.Only == nil:
			s.left, s.discarded = append(s.left, number), append(s.discarded, number)
			continue
		case e.Discarded:
			e.keep()
		}
		e.setUnits(s.JointUnit)
		selected = append(selected, e)
	}
	return selected
}

// keep takes back that the episode was discarded.
func (e *Episode) keep() {
	e.Discarded = false
	var members map[string]json.RawMessage
	if json.Unmarshal(e.Metadata, &members) != nil || members["discarded"] == nil {
		return
	}
	delete(members, "discarded") // of a session
	if text, err := json.MarshalIndent(members, "", "  "); err == nil {
		e.Metadata = text
	}
}

// Total returns how many episodes there are, with those that are left out.
func (s *Selection) Total() int { return s.total }

// Check returns an error if there are numbers without an episode, once all recordings are read.
func (s *Selection) Check() error {
	for _, n := range []Numbers{s.Only, s.LeftOut} {
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
	case s.total == 0 || len(s.left) < s.total:
		return nil
	case len(s.discarded) == s.total:
		return fmt.Errorf("%w; --episodes %v of a conversion takes them", ErrDiscarded, numbersOf(s.discarded))
	case len(s.discarded) > 0:
		return fmt.Errorf("all episodes are left out; %s", s.whyDiscarded())
	}
	return errors.New("all episodes are left out")
}

// String tells which episodes were left out, "" for none.
func (s *Selection) String() string {
	if len(s.left) == 0 {
		return ""
	}
	text := fmt.Sprintf("episodes %v of %v", numbersOf(s.left), Numbers{{0, s.total - 1}})
	if len(s.discarded) > 0 {
		text += " (" + s.whyDiscarded() + ")"
	}
	return text
}

// whyDiscarded tells which episodes were left out because they were discarded.
func (s *Selection) whyDiscarded() string {
	numbers := numbersOf(s.discarded)
	return fmt.Sprintf("discarded while recording: %v; --episodes %[1]v takes them", numbers)
}

// angles are the roles of streams whose numbers are angles or change with them.
var angles = []Role{Joint, Velocity, CommandJoint}

// setUnits sets the unit of joints in which it is unknown; "" leaves it so.
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

// unknownUnits returns the names of the streams of joints whose unit nothing tells.
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

// unitOf returns the unit of all columns of a stream, UnitUnknown for joints without one, and "" for several or none.
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
