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

// Window is a time range in which messages may meet a condition: Start ≤ t < End, where 0 is no bound.
type Window struct {
	Start, End int64 // ns since the Unix epoch
	// After is set if the topic has messages between the previous window and this one. They do not meet the condition.
	After bool
}

// near is the longest time between two windows that are joined, because seeking costs more than reading on.
const near = 10 * nanos

// Search is the result of searching the tables for a condition in a recording.
type Search struct {
	Windows []Window // time ranges in which messages may meet the condition
	Topics  []string // topics of the recording
	Topic   bool     // the recording has the condition's topic
	Fields  bool     // the topic has all fields of the condition; false: unknown
}

// searchedTopic has the columns of Topic that a search needs.
type searchedTopic struct {
	Topic    string   `parquet:"topic"`
	Messages uint64   `parquet:"messages"`
	First    int64    `parquet:"first,optional,timestamp(nanosecond:local)"`
	Last     int64    `parquet:"last,optional,timestamp(nanosecond:local)"`
	Fields   []string `parquet:"fields,list"`
}

// searchedSignal has the columns of Signal that a search needs.
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

// Search finds the times at which messages of a recording may meet a condition. It reads only the tables.
func (c *Catalogue) Search(recording string, cond *condition.Condition) (s Search, err error) {
	var topics []searchedTopic
	if err := read(c.files, c.file(topicsTable, recording), func(t searchedTopic) {
		s.Topics = append(s.Topics, t.Topic)
		if !SameTopic(t.Topic, cond.Topic) {
			return
		}
		s.Topic = true
		if t.Messages > 0 {
			topics = append(topics, t)
		}
	}); err != nil || len(topics) == 0 {
		return s, err
	}
	s.Fields = !slices.ContainsFunc(cond.Fields(), func(field string) bool {
		return !slices.Contains(topics[0].Fields, field)
	})
	s.Windows, err = c.windows(recording, cond, topics)
	return s, err
}

// Unindexed returns the fields without signals in a recording, and the topics of the recording.
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

// windows returns the windows of a search. topics are the channels of the condition's topic.
func (c *Catalogue) windows(recording string, cond *condition.Condition, topics []searchedTopic) ([]Window, error) {
	indexed := func(field string) bool { return slices.Contains(topics[0].Fields, field) }
	switch {
	case len(topics) > 1: // rows of signals do not tell channels apart
		return []Window{{}}, nil
	case !slices.ContainsFunc(cond.Fields(), indexed):
		return []Window{{}}, nil
	case topics[0].First < nanos || topics[0].Last > math.MaxInt64-2*nanos: // 0 is no bound in a Window
		return []Window{{}}, nil
	}
	seconds, there := map[int64]map[string]*condition.Statistics{}, map[string]bool{}
	if err := read(c.files, c.file(signalsTable, recording), func(s searchedSignal) {
		if s.Topic != topics[0].Topic || !slices.Contains(cond.Fields(), s.Field) {
			return
		}
		there[s.Field] = true
		fields := seconds[s.Second]
		if fields == nil {
			fields = map[string]*condition.Statistics{}
			seconds[s.Second] = fields
		}
		if fields[s.Field] == nil {
			fields[s.Field] = &condition.Statistics{}
		}
		more := condition.Statistics{Count: s.Count, NaN: s.NaN, Infinite: s.Infinite}
		if s.Count > 0 {
			more.Min, more.Max = *s.Min, *s.Max
		}
		fields[s.Field].Merge(more) // a second may have several rows if messages are out of order
	}); err != nil {
		return nil, err
	}
	for _, field := range cond.Fields() {
		if indexed(field) && !there[field] { // a run of 'converter index' was killed between writing the tables
			return []Window{{}}, nil
		}
	}
	var windows []Window
	after := false
	for _, second := range slices.Sorted(maps.Keys(seconds)) {
		if !cond.Possible(func(field string) *condition.Statistics { return seconds[second][field] }) {
			after = true
			continue
		}
		if n := len(windows); n > 0 && second-windows[n-1].End <= near {
			windows[n-1].End = second + nanos
		} else {
			windows = append(windows, Window{second, second + nanos, after})
		}
		after = false
	}
	return windows, nil
}

// Run is a run of consecutive messages of a channel that meet a condition.
type Run struct {
	Topic    string
	Start    int64 // log time of the first message
	End      int64 // log time of the last message
	Messages uint64
	Values   string // values in the first message of the condition's fields
}

// Find reads the messages of a recording in windows, which are in order, and returns the runs that meet a condition.
// It calls warn with errors of reading, and with the reason why a channel of the topic cannot be compared.
func Find(ctx context.Context, r codec.Reader, cond *condition.Condition, windows []Window,
	warn func(error)) ([]Run, error) {
	type state struct {
		*condition.Detector
		run *Run // nil: the last message did not meet the condition
	}
	states := map[*codec.Channel]*state{}
	var runs []*Run
	wanted := func(c *codec.Channel) bool {
		if !SameTopic(c.Topic, cond.Topic) {
			return false
		}
		if s, asked := states[c]; asked {
			return s != nil
		}
		states[c] = nil
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
			if s != nil && w.After {
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
