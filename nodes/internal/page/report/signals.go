package report

import (
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/encoding/field"
	"tapedeck/msgs"
)

const (
	mostSignals = 96  // signals that are drawn by default
	mostFields  = 200 // fields of a topic that are listed
)

// signal is a Signal that is being collected.
type signal struct {
	Signal
	some bool // it has a value
}

// fields collects the numbers of a topic.
type fields struct {
	builder *builder
	channel *codec.Channel
	schema  *cdr.Schema
	begun   bool // there was a message
	signals []*signal
	numbers cdr.Numbers // reads the signals
}

// fields returns a sink for the numbers of a channel.
func (b *builder) fields(c *codec.Channel, s *cdr.Schema) sink {
	return &fields{builder: b, channel: c, schema: s}
}

// begin lists the numeric fields of the first message, and selects those to be drawn.
func (f *fields) begin(payload []byte) error {
	f.begun = true
	m, err := f.schema.Decode(payload)
	if err != nil {
		return err
	}
	b, listed := f.builder, 0
	drawn := map[string]bool{}
	draw := func(path, unit string) {
		if drawn[path] || len(b.signals) >= mostSignals && !slices.Contains(b.wanted[f.channel.Topic], path) {
			return
		}
		if p, err := f.schema.Path(path); err == nil {
			group := path
			if i := strings.LastIndexAny(path, ".["); i > 0 {
				group = path[:i]
			}
			s := &signal{Signal: Signal{Topic: f.channel.Topic, Path: path, Group: group, Unit: unit}}
			s.Low, s.High = noNumbers(Bins), noNumbers(Bins)
			drawn[path] = true
			f.signals, b.signals = append(f.signals, s), append(b.signals, s)
			f.numbers.Add(p)
		}
	}
	wanted := b.wanted[f.channel.Topic]
	field.Numbers(m, func(path string) {
		listed++
		if listed > mostFields {
			return
		}
		if unit, ok := field.DefaultSignal(f.channel.Type, path); ok {
			draw(path, unit)
		}
		if slices.Contains(wanted, path) {
			draw(path, "")
		}
		b.data.Fields = append(b.data.Fields, Field{f.channel.Topic, path, drawn[path]})
	})
	for _, path := range wanted {
		draw(path, "")
	}
	return nil
}

func (f *fields) add(m *codec.Message, _ float64) error {
	if !f.begun {
		if err := f.begin(m.Data); err != nil {
			return err
		}
	}
	if len(f.signals) == 0 {
		return nil
	}
	bin := f.builder.density.bin(m.LogTime)
	return f.numbers.Each(m.Data, func(i int, v float64, ok bool, err error) error {
		s := f.signals[i]
		if err != nil && strings.Contains(s.Path, "[") {
			return nil // the array lacks the element
		}
		if ok && widen(s.Low, s.High, bin, v) {
			s.some = true
		}
		return err
	})
}

// numeric reports whether messages of a channel may have a number at a path.
func numeric(c *codec.Channel, path string) bool {
	if c.Encoding != codec.EncodingCDR {
		return false
	}
	schema, err := cdr.NewSchema(c.Library(msgs.Library()), c.Type)
	if err != nil {
		return false
	}
	p, err := schema.Path(path)
	return err == nil && p.IsNumber()
}
