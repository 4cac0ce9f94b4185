package catalogue

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/encoding/field"
	"tapedeck/msgs"
	"tapedeck/nodes/internal/filter/condition"
)

// Window is a range of log times, Start ≤ t < End, in which messages may meet a condition. A bound of 0 is no bound.
type Window struct {
	Start, End int64 // ns since the Unix epoch
	// EndsRuns is set if the topic has messages between the previous window and this one. These messages do not meet
	// the condition, so no run continues from the previous window.
	EndsRuns bool
}

// joinedGap is the longest gap between two windows that become one. Reading the gap takes less time than seeking.
const joinedGap = 10 * nanos

// Search is the result of searching the catalogue for a condition in one recording.
type Search struct {
	Windows   []Window // time ranges in which messages may meet the condition
	Topics    []string // all topics of the recording
	HasTopic  bool     // the recording has the condition's topic
	HasFields bool     // the topic has all fields of the condition; false: unknown
}

// searchedTopic is a row of the table of topics, which describes one channel. It has only the columns for searching.
type searchedTopic struct {
	Topic    string   `parquet:"topic"`
	Messages uint64   `parquet:"messages"`
	First    int64    `parquet:"first,optional,timestamp(nanosecond:local)"`
	Last     int64    `parquet:"last,optional,timestamp(nanosecond:local)"`
	Fields   []string `parquet:"fields,list"`
}

// searchedSignal is a row of the table of signals. It has only the columns for searching.
type searchedSignal struct {
	Topic    string   `parquet:"topic,dict"`
	Field    string   `parquet:"field,dict"`
	Second   int64    `parquet:"second,delta,timestamp(nanosecond:local)"`
	Count    uint64   `parquet:"count"`
	Min      *float64 `parquet:"min,optional"`
	Max      *float64 `parquet:"max,optional"`
	NaN      uint64   `parquet:"nan"`
	Infinite uint64   `parquet:"infinite"`
}

// Search finds the times at which messages of a recording may meet a condition. It reads the catalogue, but not the
// recording.
func (c *Catalogue) Search(recording string, cond *condition.Condition) (s Search, err error) {
	var channels []searchedTopic // channels of the condition's topic that have messages
	if err := read(c.files, c.file(topicsTable, recording), func(t searchedTopic) {
		s.Topics = append(s.Topics, t.Topic)
		if !SameTopic(t.Topic, cond.Topic) {
			return
		}
		s.HasTopic = true
		if t.Messages > 0 {
			channels = append(channels, t)
		}
	}); err != nil || len(channels) == 0 {
		return s, err
	}
	s.HasFields = !slices.ContainsFunc(cond.Fields(), func(field string) bool {
		return !slices.Contains(channels[0].Fields, field)
	})
	s.Windows, err = c.windows(recording, cond, channels)
	return s, err
}

// Unindexed returns those of fields that have no signals in a recording, and all topics of the recording.
func (c *Catalogue) Unindexed(recording string, fields Fields) (missing Fields, topics []string, err error) {
	missing = slices.Clone(fields)
	err = read(c.files, c.file(topicsTable, recording), func(t searchedTopic) {
		topics = append(topics, t.Topic)
		missing = slices.DeleteFunc(missing, func(text string) bool {
			words := strings.Fields(text)
			return SameTopic(words[0], t.Topic) && slices.ContainsFunc(t.Fields, func(path string) bool {
				return path == words[1] || field.Within(path, words[1])
			})
		})
	})
	return missing, topics, err
}

// windows returns the windows of a search. channels are the channels of the condition's topic.
func (c *Catalogue) windows(recording string, cond *condition.Condition, channels []searchedTopic) ([]Window, error) {
	wholeRecording := []Window{{}}
	if len(channels) > 1 { // rows of signals do not tell channels apart
		return wholeRecording, nil
	}
	channel := channels[0]
	indexed := func(field string) bool { return slices.Contains(channel.Fields, field) }
	if !slices.ContainsFunc(cond.Fields(), indexed) {
		return wholeRecording, nil
	}
	// The bounds of a Window cannot express log times in the first second of the epoch, or next to the largest int64.
	if channel.First < nanos || channel.Last > math.MaxInt64-2*nanos {
		return wholeRecording, nil
	}
	seconds, err := c.readStatistics(recording, channel.Topic, cond.Fields())
	if err != nil {
		return nil, err
	}
	for _, field := range cond.Fields() {
		// An indexed field has no rows if 'converter index' was killed between writing the two tables.
		if indexed(field) && !seconds.hasField(field) {
			return wholeRecording, nil
		}
	}
	return possibleWindows(cond, seconds), nil
}

// secondStatistics are the statistics of a topic's fields for each second. The first key is the start of the second in
// ns since the Unix epoch; the second key is the path of the field.
type secondStatistics map[int64]map[string]*condition.Statistics

// hasField reports whether any second has statistics of a field.
func (s secondStatistics) hasField(field string) bool {
	for _, fields := range s {
		if fields[field] != nil {
			return true
		}
	}
	return false
}

// readStatistics reads the statistics of a topic's fields from the table of signals.
func (c *Catalogue) readStatistics(recording, topic string, fields []string) (secondStatistics, error) {
	seconds := secondStatistics{}
	err := read(c.files, c.file(signalsTable, recording), func(s searchedSignal) {
		if s.Topic != topic || !slices.Contains(fields, s.Field) {
			return
		}
		second := seconds[s.Second]
		if second == nil {
			second = map[string]*condition.Statistics{}
			seconds[s.Second] = second
		}
		if second[s.Field] == nil {
			second[s.Field] = &condition.Statistics{}
		}
		row := condition.Statistics{Count: s.Count, NaN: s.NaN, Infinite: s.Infinite}
		if s.Count > 0 {
			row.Min, row.Max = *s.Min, *s.Max
		}
		second[s.Field].Merge(row) // a second has several rows if messages are out of order
	})
	return seconds, err
}

// possibleWindows returns the windows of the seconds in which messages may meet the condition.
func possibleWindows(cond *condition.Condition, seconds secondStatistics) []Window {
	var windows []Window
	endsRuns := false
	for _, second := range slices.Sorted(maps.Keys(seconds)) {
		if !cond.Possible(func(field string) *condition.Statistics { return seconds[second][field] }) {
			endsRuns = true
			continue
		}
		if n := len(windows); n > 0 && second-windows[n-1].End <= joinedGap {
			windows[n-1].End = second + nanos
		} else {
			windows = append(windows, Window{Start: second, End: second + nanos, EndsRuns: endsRuns})
		}
		endsRuns = false
	}
	return windows
}

// Run is a run of consecutive messages of a channel that meet a condition.
type Run struct {
	Topic    string
	Start    int64  // log time of the first message
	End      int64  // log time of the last message
	Messages uint64 // number of messages
	Values   string // values of the condition's fields in the first message
}

// Find reads the messages of a recording in windows, which must be in order, and returns the runs of messages that meet
// a condition, sorted by start. It calls warn with read errors, and with the reason why a channel cannot be compared.
func Find(ctx context.Context, r codec.Reader, cond *condition.Condition, windows []Window,
	warn func(error)) ([]Run, error) {
	type state struct {
		*condition.Detector
		run *Run // nil: the last message did not meet the condition
	}
	states := map[*codec.Channel]*state{} // nil: the channel is not wanted
	var runs []*Run
	wanted := func(c *codec.Channel) bool {
		if !SameTopic(c.Topic, cond.Topic) {
			return false
		}
		if s, known := states[c]; known {
			return s != nil
		}
		states[c] = nil // not wanted, unless the condition has a detector for the channel
		d, err := Detector(cond, c)
		if err != nil {
			warn(err)
			return false
		}
		states[c] = &state{Detector: d}
		return true
	}
	for _, w := range windows {
		for _, s := range states {
			if s != nil && w.EndsRuns {
				s.run = nil
			}
		}
		query := codec.Query{Start: w.Start, End: w.End, Topics: wanted, Damaged: warn, Context: ctx}
		for m, err := range codec.Messages(r, query) {
			if err != nil {
				return nil, err
			}
			s := states[m.Channel]
			if !s.Met(m.Data) {
				s.run = nil
				continue
			}
			if s.run == nil {
				s.run = &Run{Topic: m.Channel.Topic, Start: m.LogTime, Values: s.Values(m.Data)}
				runs = append(runs, s.run)
			}
			s.run.End = m.LogTime
			s.run.Messages++
		}
	}
	var list []Run
	for _, run := range runs {
		list = append(list, *run)
	}
	slices.SortStableFunc(list, func(a, b Run) int { return cmp.Compare(a.Start, b.Start) })
	return list, nil
}

// Detector returns a detector of a condition for the messages of a channel.
func Detector(cond *condition.Condition, c *codec.Channel) (*condition.Detector, error) {
	if cond.MatchesAny() {
		return condition.NewDetector(cond, nil)
	}
	if c.Encoding != codec.EncodingCDR {
		return nil, fmt.Errorf("messages of %s cannot be compared: their encoding is %q", c.Topic, c.Encoding)
	}
	schema, err := cdr.NewSchema(c.Library(msgs.Library()), c.Type)
	if err != nil {
		return nil, fmt.Errorf("messages of %s cannot be compared: %w", c.Topic, err)
	}
	return condition.NewDetector(cond, schema)
}
