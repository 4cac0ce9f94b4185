package cdr

import (
	"fmt"

	"tapedeck/codec/text/plural"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// maxMinSize is the largest supported layout.minSize, in bytes. Only nonsense defines larger arrays.
const maxMinSize = 1 << 30

// layout is a message prepared for walking through payloads.
type layout struct {
	name   string
	fields []field
	// unproven is copied from the rosidl.Message.
	unproven bool
	minSize  int   // bytes that the shortest message takes
	fixed    bool  // messages have a fixed size
	spans    spans // if fixed
	align    int   // alignment of the first byte
}

// field is a field of a layout. minSize, fixed, spans and align describe one element.
type field struct {
	rosidl.Type
	name     string
	message  *layout    // for kind Nested
	values   primitives // for all other kinds
	fallback any        // the default value; nil for zero

	minSize int
	fixed   bool
	spans   spans
	align   int
}

// spans holds the bytes that a value of fixed size takes, padding included, indexed by its offset modulo 8.
type spans [8]int

// then returns the spans of s followed by t.
func (s spans) then(t spans) spans {
	for i := range s {
		s[i] += t[(i+s[i])%8]
	}
	return s
}

// times returns the spans of n values in a row.
func (s spans) times(n int) spans {
	var all spans
	for ; n > 0; n /= 2 {
		if n%2 == 1 {
			all = all.then(s)
		}
		s = s.then(s)
	}
	return all
}

// paddings returns the spans of the padding before a value with this alignment.
func paddings(align int) (s spans) {
	for i := range s {
		s[i] = -i & (align - 1)
	}
	return s
}

func spansOf(size int) spans {
	s := paddings(size)
	for i := range s {
		s[i] += size
	}
	return s
}

// compiler makes one layout for each message type.
type compiler struct {
	lib  *rosidl.Library
	done map[string]*layout
}

// layout returns the layout of a message. The library has checked that no message contains itself.
func (c compiler) layout(name string) (*layout, error) {
	if l := c.done[name]; l != nil {
		return l, nil
	}
	m, err := c.lib.Message(name)
	if err != nil {
		return nil, err
	}
	l := &layout{name: m.Name, unproven: m.Unproven, fixed: true, fields: make([]field, len(m.Fields))}
	for i, def := range m.Fields {
		f := &l.fields[i]
		*f, err = c.field(def)
		if err != nil {
			return nil, wire.InField(def.Name, err)
		}
		n := 1
		switch f.Shape {
		case rosidl.Array:
			n = f.Length
		case rosidl.Sequence:
			l.minSize += 4
			l.fixed = false
			continue
		}
		if n > (maxMinSize-l.minSize)/f.minSize {
			return nil, wire.InField(def.Name, fmt.Errorf("a message of %d bytes or more is not supported", maxMinSize))
		}
		l.minSize += n * f.minSize
		l.fixed = l.fixed && f.fixed
		if l.fixed {
			l.spans = l.spans.then(f.spans.times(n))
		}
	}
	switch {
	case len(l.fields) == 0:
		l.minSize, l.spans, l.align = 1, spansOf(1), 1 // the dummy byte
	case l.fields[0].Shape == rosidl.Sequence:
		l.align = 4
	default:
		l.align = l.fields[0].align
	}
	c.done[name] = l
	return l, nil
}

func (c compiler) field(def rosidl.Field) (f field, err error) {
	f = field{Type: def.Type, name: def.Name}
	if f.Kind == rosidl.Nested {
		f.message, err = c.layout(f.Message)
		if err != nil {
			return f, err
		}
		f.minSize, f.fixed, f.spans, f.align = f.message.minSize, f.message.fixed, f.message.spans, f.message.align
		return f, nil
	}
	f.values = kinds[f.Kind]
	if f.values == nil {
		return f, fmt.Errorf("unknown kind %d", f.Kind)
	}
	if f.Kind == rosidl.String || f.Kind == rosidl.WString {
		f.minSize, f.align = 4, 4 // the length
	} else {
		f.minSize = f.values.size()
		f.fixed, f.spans, f.align = true, spansOf(f.minSize), f.minSize
	}
	if def.Default != nil {
		f.fallback = f.values.convert(def.Default)
	}
	return f, nil
}

// count returns the number of elements of f. It reads the length of a sequence.
func (f *field) count(d *wire.Decoder) int {
	switch f.Shape {
	case rosidl.Sequence:
		return d.Length(f.minSize, f.Length)
	case rosidl.Array:
		if f.Length > d.Remaining()/f.minSize {
			d.Fail("array of %s of %s or more, but only %s left", plural.Count(f.Length, "element"),
				plural.Count(f.minSize, "byte"), plural.Count(d.Remaining(), "byte"))
			return 0
		}
		return f.Length
	}
	return 1
}

// skip skips n elements of f.
func (f *field) skip(d *wire.Decoder, n int) {
	if n == 0 {
		return
	}
	if f.fixed {
		switch {
		case n == 1:
			d.Skip(f.spans.at(d))
		case f.Kind != rosidl.Nested:
			d.Raw(f.align, n*f.minSize)
		default:
			spans := f.spans.times(n)
			d.Skip(spans.at(d))
		}
		return
	}
	for ; n > 0 && d.Err() == nil; n-- {
		switch f.Kind {
		case rosidl.String:
			d.SkipString()
		case rosidl.WString:
			d.SkipWString()
		default:
			for i := range f.message.fields {
				f.message.fields[i].skipAll(d)
				if d.Err() != nil {
					return
				}
			}
		}
	}
}

func (f *field) skipAll(d *wire.Decoder) { f.skip(d, f.count(d)) }
