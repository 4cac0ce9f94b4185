// Package contract checks recordings against a Contract, and for things that are suspicious by themselves.
//
// A Pass takes the ROS 2 messages of one recording and returns findings. Learn makes a Contract from passes over good
// recordings. Live checks a recording while it is made, only by the counts of its messages.
package contract

import (
	"fmt"
	"strings"

	"tapedeck/codec/text/human"
)

// Finding is something that is wrong with a recording.
type Finding struct {
	Topic    string `json:"topic,omitempty"` // "": the recording as a whole
	Time     int64  `json:"time,omitempty"`  // log time of the start in ns; 0: the whole recording, or unknown
	Until    int64  `json:"until,omitempty"` // log time of the end in ns; 0: none
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

// Kind is the kind of a finding.
type Kind string

// Kinds of findings.
const (
	Missing  Kind = "missing"  // a topic or messages of a topic are missing
	Type     Kind = "type"     // a topic has an unexpected type
	Rate     Kind = "rate"     // the rate of a topic is beyond its limits
	Gap      Kind = "gap"      // a topic was silent
	End      Kind = "end"      // a topic ended before the recording
	Latency  Kind = "latency"  // the time from stamp to receipt is too long
	Frame    Kind = "frame"    // a frame_id is unexpected, or a frame has no transform
	Size     Kind = "size"     // an image has an unexpected size
	QoS      Kind = "qos"      // the publishers have an unexpected QoS
	Range    Kind = "range"    // a field is beyond its limits
	Duration Kind = "duration" // the duration of the recording is beyond its limits
	Clock    Kind = "clock"    // a clock was set
	Stamp    Kind = "stamp"    // the stamps of messages stand still
	Frozen   Kind = "frozen"   // a camera repeats a picture
	NaN      Kind = "nan"      // a number became NaN
	TF       Kind = "tf"       // the transforms form several trees, or a cycle
	Payload  Kind = "payload"  // messages do not match their definition
	Lost     Kind = "lost"     // messages were lost in transport, dropped, or lost by the disk
	Damage   Kind = "damage"   // the recording is damaged or not finished
)

// kinds lists the kinds that a contract may accept.
var kinds = []Kind{Missing, Type, Rate, Gap, End, Latency, Frame, Size, QoS, Range, Duration, Clock, Stamp, Frozen, NaN,
	TF, Payload, Lost, Damage}

// shownFindings is the maximum number of findings of one kind about one topic.
const shownFindings = 5

// findings is a bounded list. It keeps shownFindings of each kind about a topic, and counts the others.
type findings struct {
	list  []Finding
	count map[findingKey]int
}

type findingKey struct {
	topic string
	kind  Kind
}

// add adds a finding, and returns its index in the list; nil if it is only counted.
func (l *findings) add(f Finding) *int {
	key := findingKey{f.Topic, f.Kind}
	if l.count == nil {
		l.count = map[findingKey]int{}
	}
	l.count[key]++
	if l.count[key] > shownFindings {
		return nil
	}
	l.list = append(l.list, f)
	at := len(l.list) - 1
	return &at
}

// summary returns the findings in the list. The last one of a kind about a topic tells how many more were counted.
func (l *findings) summary() []Finding {
	list := append([]Finding(nil), l.list...)
	shown := map[findingKey]int{}
	for i := range list {
		key := findingKey{list[i].Topic, list[i].Kind}
		shown[key]++
		if shown[key] == shownFindings && l.count[key] > shownFindings {
			list[i].Seen += fmt.Sprintf(" (and %d more times)", l.count[key]-shownFindings)
		}
	}
	return list
}

// seconds formats a time in ns: "0.25 s".
func seconds(ns int64) string { return fmt.Sprintf("%.4g s", float64(ns)/1e9) }

// oneOf formats alternative names: "a or b".
func oneOf(names []string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = human.OrDash(name)
	}
	return strings.Join(texts, " or ")
}
