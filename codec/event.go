package codec

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"time"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/tapedeck"
)

// EventTopic is the topic with which a recorder stores the events of a recording in the recording itself, as messages
// of type tapedeck/msg/RecordingEvent. Readers return them as Info.Events.
const EventTopic = "/tapedeck/events"

// Event is something that happened to a recording: messages dropped, a gap, a pause, a split, damage.
type Event struct {
	Kind  string // one of the kinds below
	Topic string // "" if the event is about all topics
	Time  int64  // start of the event, ns since the Unix epoch; 0 if unknown
	Until int64  // end of the event, ns since the Unix epoch; 0 if it took no time, or if unknown
	Count uint64 // number of messages concerned, if known
	Text  string // one line for a person
}

// The kinds of events. A recorder writes some as messages on EventTopic; readers find the others.
const (
	EventLost = "lost" // Count messages were lost between a publisher and the recorder, or to damage of a file
	// EventDrop: Count messages were received but not written, because the disk or the picture encoder did not keep up,
	// or because the format cannot hold them.
	EventDrop = "drop"
	// EventGap: a topic was silent for much longer than its usual interval, and no loss is known.
	EventGap        = "gap"
	EventPause      = "pause"      // recording was paused on purpose
	EventThrottle   = "throttle"   // Count messages of a topic were omitted on purpose, to limit its rate
	EventSplit      = "split"      // the recording went on in another file
	EventDisk       = "disk"       // the disk was full, slow or failed; Count messages are missing
	EventSnapshot   = "snapshot"   // a snapshot was taken; Text names its cause
	EventTotals     = "totals"     // counts of one topic, or of all topics; see Totals
	EventUpload     = "upload"     // files could not be uploaded for a time, or were deleted after their upload
	EventSuspect    = "suspect"    // Count recovered messages may be damaged: a checksum was wrong
	EventCheck      = "check"      // the recording did not meet a contract for a time; without a topic, the verdict
	EventDamage     = "damage"     // bytes that cannot be read
	EventMissing    = "missing"    // a file of the recording is missing or is something else
	EventUnfinished = "unfinished" // the writer did not complete the file
	EventTimes      = "times"      // Count messages have times that stand out
	// EventLabel: a name, a definition or an encoding differs from what the recording says; Text says what was read.
	EventLabel = "label"
	EventNote  = "note" // something a person should know although every message is read, such as an unknown unit
)

// eventType and eventType1 are the types of messages on EventTopic in ROS 2 and in ROS 1.
const (
	eventType  = "tapedeck/msg/RecordingEvent"
	eventType1 = "tapedeck/RecordingEvent"
)

// eventText1 is the definition of eventType1.
const eventText1 = "time stamp\ntime until\nstring kind\nstring topic\nuint64 count\nstring text\n"

// eventChannel returns the channel of events, always the same pointer.
var eventChannel = sync.OnceValue(func() *Channel {
	c, _ := NewChannel(msgs.Library(), EventTopic, eventType, DefaultQoS()) // the library has the type
	return c
})

// EventMessage returns the message that stores e in a recording. Its LogTime is the end of the event, or else its
// beginning; the caller may change it. Times are kept from 1901 to 2038.
func EventMessage(e Event) (*Message, error) {
	m := &Message{Channel: eventChannel(), LogTime: cmp.Or(e.Until, e.Time)}
	var err error
	m.Data, err = cdr.Marshal(&tapedeck.RecordingEvent{
		Stamp: builtin_interfaces.TimeAt(e.Time), Until: builtin_interfaces.TimeAt(e.Until), Kind: e.Kind,
		Topic: e.Topic, Count: e.Count, Text: e.Text,
	})
	return m, err
}

// eventChannel1 returns the channel of events in ROS 1, always the same pointer.
var eventChannel1 = sync.OnceValue(func() *Channel {
	return &Channel{Topic: EventTopic, Type: eventType1, Encoding: EncodingROS1,
		Schema: Schema{Encoding: SchemaROS1Msg, Data: []byte(eventText1)}}
})

// EventMessage1 is EventMessage for formats that hold only ROS 1 messages.
func EventMessage1(e Event) *Message {
	m := &Message{Channel: eventChannel1(), LogTime: cmp.Or(e.Until, e.Time)}
	text := func(s string) { m.Data = append(binary.LittleEndian.AppendUint32(m.Data, uint32(len(s))), s...) }
	for _, ns := range []int64{e.Time, e.Until} {
		t := builtin_interfaces.TimeAt(ns)
		m.Data = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(m.Data, uint32(t.Sec)), t.Nanosec)
	}
	text(e.Kind)
	text(e.Topic)
	m.Data = binary.LittleEndian.AppendUint64(m.Data, e.Count)
	text(e.Text)
	return m
}

// ParseEvent is the reverse of EventMessage and EventMessage1. It returns false if m is not an event.
func ParseEvent(m *Message) (Event, bool) {
	if !IsEvents(m.Channel) {
		return Event{}, false
	}
	if m.Channel.Encoding == EncodingROS1 {
		return parseEvent1(m.Data)
	}
	var e tapedeck.RecordingEvent
	if cdr.Unmarshal(m.Data, &e) != nil {
		return Event{}, false
	}
	return Event{Kind: e.Kind, Topic: e.Topic, Time: e.Stamp.Nanoseconds(), Until: e.Until.Nanoseconds(),
		Count: e.Count, Text: e.Text}, true
}

// parseEvent1 reads an event in the encoding of ROS 1.
func parseEvent1(b []byte) (e Event, ok bool) {
	take := func(n uint64) (field []byte) {
		ok = ok && n <= uint64(len(b))
		if !ok {
			return make([]byte, 8)
		}
		field, b = b[:n], b[n:]
		return field
	}
	ok = true
	number := func() uint32 { return binary.LittleEndian.Uint32(take(4)) }
	stamp := func() int64 { return builtin_interfaces.Time{Sec: int32(number()), Nanosec: number()}.Nanoseconds() }
	text := func() string { return string(take(uint64(number()))) }
	e.Time, e.Until = stamp(), stamp()
	e.Kind, e.Topic = text(), text()
	e.Count = binary.LittleEndian.Uint64(take(8))
	e.Text = text()
	return e, ok
}

// continues begins the text of an EventSplit.
const continues = "continues "

// SplitEvent returns the event of a file that begins at the time t and continues the file named before.
func SplitEvent(before string, t int64) Event {
	return Event{Kind: EventSplit, Time: t, Text: continues + before}
}

// Continues returns the name of the file that info's file continues, from its SplitEvent, or "".
func Continues(info *Info) string {
	for _, e := range info.Events {
		before, ok := strings.CutPrefix(e.Text, continues)
		if ok && e.Kind == EventSplit && e.Time <= info.StartTime+int64(time.Millisecond) {
			return before
		}
	}
	return ""
}

// IsEvents reports whether c is the channel of a recording's events.
func IsEvents(c *Channel) bool {
	return c.Topic == EventTopic && (c.Type == eventType && c.Encoding == EncodingCDR || c.Type == eventType1 &&
		c.Encoding == EncodingROS1)
}

// Totals are counts of the messages of one topic, or of all topics. A recorder stores them as events of the kind
// EventTotals, one for each topic at the end of each file. The end of a recording of several files also has the totals
// of the whole recording.
type Totals struct {
	Received uint64 // by the recorder
	Written  uint64 // to the file, or to all files
	Dropped  uint64 // received and not written
	Lost     uint64 // in transport
}

// Plus returns the sum of t and o.
func (t Totals) Plus(o Totals) Totals {
	return Totals{t.Received + o.Received, t.Written + o.Written, t.Dropped + o.Dropped, t.Lost + o.Lost}
}

// Since returns t - o: the counts since o.
func (t Totals) Since(o Totals) Totals {
	return Totals{t.Received - o.Received, t.Written - o.Written, t.Dropped - o.Dropped, t.Lost - o.Lost}
}

// The beginning of the texts of EventTotals, by which ParseTotals reads them.
const (
	totalsText = "received %d, written %d, dropped %d, lost %d"
	wholeText  = "whole recording: "
)

// Event returns t as an event. start and end, ns since the Unix epoch, are the time in which the messages were counted.
// whole marks totals of the whole recording, not of one file.
func (t Totals) Event(topic string, start, end int64, whole bool) Event {
	text := fmt.Sprintf(totalsText, t.Received, t.Written, t.Dropped, t.Lost)
	if whole {
		text = wholeText + text
	}
	return Event{Kind: EventTotals, Topic: topic, Time: start, Until: end, Count: t.Written, Text: text}
}

// ParseTotals is the reverse of Totals.Event. It returns false if e has no totals.
func ParseTotals(e Event) (t Totals, whole, ok bool) {
	if e.Kind != EventTotals {
		return
	}
	format := totalsText
	if strings.HasPrefix(e.Text, wholeText) {
		format, whole = wholeText+format, true
	}
	_, err := fmt.Sscanf(e.Text, format, &t.Received, &t.Written, &t.Dropped, &t.Lost)
	return t, whole, err == nil
}
