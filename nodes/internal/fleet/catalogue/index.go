package catalogue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/encoding/field"
	"tapedeck/msgs"
	"tapedeck/nodes/internal/filter/condition"
)

// Fields selects the numbers that get signals: "/imu linear_acceleration" selects all numbers in a field of a topic,
// "/joints position[]" each element of an array. nil selects the usual numbers of each type.
type Fields []string

// Parse checks the syntax of fields.
func Parse(texts []string) (Fields, error) {
	for _, text := range texts {
		if len(strings.Fields(text)) != 2 {
			return nil, fmt.Errorf("%q is no field; want a topic and a field, such as '/imu linear_acceleration.z'",
				text)
		}
	}
	return texts, nil
}

// chosen returns the selected numbers of a channel, whose first message has the payload.
func (f Fields) chosen(c *codec.Channel, schema *cdr.Schema, payload []byte) (columns []column) {
	add := func(path string) {
		if slices.ContainsFunc(columns, func(c column) bool { return c.path == path }) {
			return
		}
		if field, err := schema.Path(path); err == nil && field.IsNumber() {
			columns = append(columns, column{path: path, field: field})
		}
	}
	var wanted []string
	for _, text := range f {
		words := strings.Fields(text)
		if SameTopic(words[0], c.Topic) {
			wanted = append(wanted, words[1])
		}
	}
	if f != nil && wanted == nil {
		return nil
	}
	for _, path := range wanted {
		add(path) // field.Numbers omits stamps, and elements that this message lacks
	}
	m, err := schema.Decode(payload)
	if err != nil {
		return nil
	}
	field.Numbers(m, func(path string) {
		_, isDefault := field.DefaultSignal(c.Type, path)
		if f == nil && isDefault || slices.ContainsFunc(wanted, func(w string) bool { return field.Within(path, w) }) {
			add(path)
		}
	})
	return columns
}

// bare returns a topic without the leading slash, which users may omit.
func bare(topic string) string { return strings.TrimPrefix(topic, "/") }

// SameTopic reports whether two names mean the same topic, with or without a leading slash.
func SameTopic(a, b string) bool { return bare(a) == bare(b) }

// channel collects the rows of a channel.
type channel struct {
	row     Topic
	schema  *cdr.Schema // nil: there are no signals
	columns []column
	numbers cdr.Numbers // reads the columns
	begun   bool        // there was a message
	second  int64       // second of the last message since the Unix epoch
}

// column collects the values of a number within a second.
type column struct {
	path       string
	field      *cdr.Path
	statistics condition.Statistics
	mean       float64 // of the finite values
}

const (
	nanos     = 1e9     // ns in a second
	groupRows = 1 << 16 // rows of signals that are sorted and written at once

	reportEvery = 256 // number of messages between two calls of progress
)

// indexer makes rows of the messages of a recording.
type indexer struct {
	recording string
	fields    Fields
	channels  map[*codec.Channel]*channel
	order     []*channel // channels in the order of the recording
	rows      []Signal   // not written yet
	out       *parquet.GenericWriter[Signal]
}

// Add reads a recording and adds it to the catalogue, or replaces its rows. row has the path, size, time and fields of
// the recording. progress, which may be nil, is called with the log time of the message that is read. Add returns the
// complete row, and the events of the recording with the damage that Add found.
func (c *Catalogue) Add(ctx context.Context, row Recording, fields Fields, r codec.Reader,
	progress func(ns int64)) (Recording, []codec.Event, error) {
	info, err := r.Info()
	if err != nil {
		return row, nil, err
	}
	out, signals, err := create[Signal](c, signalsTable, row.Recording)
	if err != nil {
		return row, nil, err
	}
	tables := []*table{signals}
	defer func() {
		for _, t := range tables {
			t.abort(ctx)
		}
	}()
	x := &indexer{recording: row.Recording, fields: fields, channels: map[*codec.Channel]*channel{}, out: out}
	events := slices.Clone(info.Events)
	row.Complete = info.Complete
	found := func(kind, text string) {
		if !slices.ContainsFunc(events, func(known codec.Event) bool { return strings.HasSuffix(text, known.Text) }) {
			events = append(events, codec.Event{Kind: kind, Text: text})
		}
	}
	err = x.read(ctx, r, info, progress, codec.Query{
		Damaged: func(err error) {
			row.Complete = false
			found(codec.EventDamage, err.Error())
		},
		Mislabelled: func(err error) { found(codec.EventLabel, err.Error()) },
	})
	if err != nil {
		return row, nil, err
	}
	var topics []Topic
	begin, end := int64(math.MaxInt64), int64(math.MinInt64)
	for _, t := range x.order {
		row.Messages += t.row.Messages
		row.Bytes += t.row.Bytes
		if t.row.Messages > 0 {
			begin, end = min(begin, t.row.First), max(end, t.row.Last)
			row.Start, row.End = begin, end
		}
		if s := seconds(t.row.First, t.row.Last); s > 0 {
			t.row.Frequency = float64(t.row.Messages-1) / s
		}
		topics = append(topics, t.row)
	}
	var eventRows []Event
	for _, e := range events {
		eventRows = append(eventRows, Event{row.Recording, e.Kind, e.Topic, e.Time, e.Until, e.Count, e.Text})
	}
	row.Format, row.Metadata = info.Format, info.AllMetadata()
	row.Duration = seconds(row.Start, row.End)
	add := func(t *table, err error) error {
		if t != nil {
			tables = append(tables, t)
		}
		return err
	}
	err = errors.Join(add(write(c, topicsTable, row.Recording, topics)),
		add(write(c, eventsTable, row.Recording, eventRows)),
		add(write(c, recordingsTable, row.Recording, []Recording{row})))
	if err != nil {
		return row, nil, err
	}
	for _, t := range tables {
		if err := t.complete(ctx); err != nil {
			return row, nil, err
		}
	}
	for _, t := range tables {
		if err := t.commit(ctx); err != nil {
			return row, nil, err
		}
	}
	return row, events, nil
}

// seconds returns the time in s from start to end, which are in ns and may be more than 292 years apart.
func seconds(start, end int64) float64 { return float64(uint64(end)-uint64(start)) / nanos }

// read reads all messages of a recording.
func (x *indexer) read(ctx context.Context, r codec.Reader, info *codec.Info, progress func(ns int64),
	query codec.Query) error {
	for _, t := range info.Topics {
		x.channel(t.Channel)
	}
	n := 0
	query.Context = ctx
	for m, err := range codec.Messages(r, query) {
		if err == nil {
			err = x.add(m)
		}
		if err != nil {
			return err
		}
		if n%reportEvery == 0 && progress != nil {
			progress(m.LogTime)
		}
		n++
	}
	for _, t := range x.order {
		if err := x.endSecond(t); err != nil {
			return err
		}
	}
	return x.flush()
}

// channel returns the collected rows of a channel.
func (x *indexer) channel(c *codec.Channel) *channel {
	t := x.channels[c]
	if t != nil {
		return t
	}
	t = &channel{row: Topic{Recording: x.recording, Topic: c.Topic, Type: c.Type, Encoding: c.Encoding,
		TypeHash: c.TypeHash}}
	if c.Encoding == codec.EncodingCDR {
		if schema, err := cdr.NewSchema(c.Library(msgs.Library()), c.Type); err == nil {
			t.schema = schema
		}
	}
	x.channels[c] = t
	x.order = append(x.order, t)
	return t
}

// add takes the next message.
func (x *indexer) add(m *codec.Message) error {
	t := x.channel(m.Channel)
	t.row.Bytes += uint64(len(m.Data))
	if t.row.Messages == 0 {
		t.row.First, t.row.Last = m.LogTime, m.LogTime
	}
	t.row.Messages++
	t.row.First, t.row.Last = min(t.row.First, m.LogTime), max(t.row.Last, m.LogTime)
	if t.schema == nil {
		return nil
	}
	second := m.LogTime / nanos
	if !t.begun {
		t.begun, t.second = true, second
		t.columns = x.fields.chosen(m.Channel, t.schema, m.Data)
		for _, c := range t.columns {
			t.row.Fields = append(t.row.Fields, c.path)
			t.numbers.Add(c.field)
		}
		if t.columns == nil {
			t.schema = nil
		}
	}
	if second != t.second {
		if err := x.endSecond(t); err != nil {
			return err
		}
		t.second = second
	}
	return t.numbers.Each(m.Data, func(i int, v float64, _ bool, err error) error {
		if err != nil {
			return nil // this message lacks the number
		}
		c := &t.columns[i]
		c.statistics.Add(v)
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			n := float64(c.statistics.Count)
			c.mean += v/n - c.mean/n
		}
		return nil
	})
}

// endSecond adds the rows of a channel's current second.
func (x *indexer) endSecond(t *channel) error {
	for i := range t.columns {
		c := &t.columns[i]
		row := Signal{Recording: x.recording, Topic: t.row.Topic, Field: c.path, Second: t.second * nanos,
			Count: c.statistics.Count, NaN: c.statistics.NaN, Infinite: c.statistics.Infinite}
		if c.statistics.Count > 0 {
			values := [3]float64{c.statistics.Min, c.mean, c.statistics.Max}
			row.Min, row.Mean, row.Max = &values[0], &values[1], &values[2]
		}
		x.rows = append(x.rows, row)
		c.statistics, c.mean = condition.Statistics{}, 0
	}
	if len(x.rows) < groupRows {
		return nil
	}
	return x.flush()
}

// flush writes the collected rows as a row group, sorted so that the values of a field are together.
func (x *indexer) flush() error {
	slices.SortFunc(x.rows, func(a, b Signal) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), strings.Compare(a.Field, b.Field),
			cmp.Compare(a.Second, b.Second))
	})
	if _, err := x.out.Write(x.rows); err != nil {
		return err
	}
	x.rows = x.rows[:0]
	return x.out.Flush()
}
