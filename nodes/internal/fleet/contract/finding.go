// Package contract checks recordings: against what a Contract expects of them, and for what is suspicious by itself.
//
// A Pass takes the messages of one recording, as ROS 2 messages, and returns findings. Learn makes a Contract of the
// passes over good recordings. Live checks a recording that is being made by the counts of its messages alone.
package contract

import (
	"fmt"
	"strings"

	"tapedeck/codec/text/human"
)

// Finding is something that is wrong with a recording.
type Finding struct {
	Topic    string `json:"topic,omitempty"` // "": all of them
	Time     int64  `json:"time,omitempty"`  // ns since 1970 by the recording's clock; 0: all the time, or unknown
	Until    int64  `json:"until,omitempty"` // likewise, if it has a length
	Kind     Kind   `json:"kind"`
	Expected string `json:"expected"`
	Seen     string `json:"seen"`
}

// String returns the finding without its time.
func (f Finding) String() string {
	if f.Topic != "" {
		return human.Printable(f.Topic) + ": " + f.Text()
	}
	return f.Text()
}

// Text returns the finding without topic and time.
func (f Finding) Text() string {
	return fmt.Sprintf("%s: expected %s, seen %s", f.Kind, f.Expected, f.Seen)
}

// Kind is what a finding is about.
type Kind string

// The kinds of findings.
const (
	Missing  Kind = "missing"  // a topic, or messages of it
	Type     Kind = "type"     // another one
	Rate     Kind = "rate"     // messages a second
	Gap      Kind = "gap"      // a topic was silent
	End      Kind = "end"      // a topic ended before the recording
	Latency  Kind = "latency"  // from stamp to receipt
	Frame    Kind = "frame"    // frame_id
	Size     Kind = "size"     // of images
	QoS      Kind = "qos"      // of publishers
	Range    Kind = "range"    // of the values of a field
	Duration Kind = "duration" // of the recording
	Clock    Kind = "clock"    // a clock was set
	Stamp    Kind = "stamp"    // the stamps of messages stand still
	Frozen   Kind = "frozen"   // a camera repeats a picture
	NaN      Kind = "nan"      // a number became NaN
	TF       Kind = "tf"       // frames make more than one tree, or none
	Payload  Kind = "payload"  // messages do not match their definition
	Lost     Kind = "lost"     // messages were lost in transport, dropped, or not kept by the disk
	Damage   Kind = "damage"   // the recording cannot be read as a whole, or is not finished
)

// kinds are those that a contract may accept.
var kinds = []Kind{Missing, Type, Rate, Gap, End, Latency, Frame, Size, QoS, Range, Duration, Clock, Stamp, Frozen, NaN,
	TF, Payload, Lost, Damage}

// shownFindings is the most findings of one kind about one topic.
const shownFindings = 5

// findings are bounded: of more than shownFindings that are alike only the number is kept.
type findings struct {
	list []Finding
	more map[alike]int
}

type alike struct {
	topic string
	kind  Kind
}

// add returns where the finding is, to be completed later; nil if it is only counted.
func (l *findings) add(f Finding) *int {
	key := alike{f.Topic, f.Kind}
	if l.more == nil {
		l.more = map[alike]int{}
	}
	l.more[key]++
	if l.more[key] > shownFindings {
		return nil
	}
	l.list = append(l.list, f)
	at := len(l.list) - 1
	return &at
}

// all returns the findings; the last of those that are alike says how many follow.
func (l *findings) all() []Finding {
	all := append([]Finding(nil), l.list...)
	shown := map[alike]int{}
	for i := range all {
		key := alike{all[i].Topic, all[i].Kind}
		shown[key]++
		if shown[key] == shownFindings && l.more[key] > shownFindings {
			all[i].Seen += fmt.Sprintf(" (and %d more times)", l.more[key]-shownFindings)
		}
	}
	return all
}

// seconds formats a time in ns: "0.25 s".
func seconds(ns int64) string { return fmt.Sprintf("%.4g s", float64(ns)/1e9) }

// oneOf formats names of which one is expected.
func oneOf(names []string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = human.OrDash(name)
	}
	return strings.Join(texts, " or ")
}
