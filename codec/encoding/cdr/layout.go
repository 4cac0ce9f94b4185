package cdr

import (
	"fmt"

	"tapedeck/codec/text/plural"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// maxLeast bounds the fewest bytes that a message may take, in bytes. Only nonsense defines arrays as large as that.
const maxLeast = 1 << 30

// layout is a message prepared for walking through payloads.
type layout struct {
	name   string
	fields []field
	// unproven is copied from the rosidl.Message.
	unproven bool
	least    int // fewest bytes it takes
	fixed    bool
	spans    spans // if fixed
	align    int   // of its first byte
}

// field is a field of a layout. least, fixed, spans and align are those of one element.
type field struct {
	rosidl.Type
	name     string
	message  *layout    // of Nested
	values   primitives // of others
	fallback any        // the default value; nil for zero

	least int
	fixed bool
	spans spans
	align int
}

// spans holds for each offset modulo 8 how many bytes something of a fixed size takes from there, padding included.
type spans [8]int

// then returns the spans of t behind s.
func (s spans) then(t spans) spans {
	for i := range s {
		s[i] += t[(i+s[i])%8]
	}
	return s
}

// times returns the spans of n times s.
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

// paddings returns what is in front of something that is aligned.
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

// compiler makes layouts, each of them once.
type compiler struct {
	lib  *rosidl.Library
	done map[string]*layout
}

// layout returns the layout of a message. The library has made sure that messages do not nest without end.
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
			l.least += 4
			l.fixed = false
			continue
		}
		if n > (maxLeast-l.least)/f.least {
			return nil, wire.InField(def.Name, fmt.Errorf("a message of %d bytes or more is not supported", maxLeast))
		}
		l.least += n * f.least
		l.fixed = l.fixed && f.fixed
		if l.fixed {
			l.spans = l.spans.then(f.spans.times(n))
		}
	}
	if len(l.fields) == 0 {
		l.least, l.spans, l.align = 1, spansOf(1), 1 // the dummy byte
	} else if l.fields[0].Shape == rosidl.Sequence {
		l.align = 4
	} else {
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
		f.least, f.fixed, f.spans, f.align = f.message.least, f.message.fixed, f.message.spans, f.message.align
		return f, nil
	}
	f.values = kinds[f.Kind]
	if f.values == nil {
		return f, fmt.Errorf("unknown kind %d", f.Kind)
	}
	if f.Kind == rosidl.String || f.Kind == rosidl.WString {
		f.least, f.align = 4, 4 // the length
	} else {
		f.least = f.values.size()
		f.fixed, f.spans, f.align = true, spansOf(f.least), f.least
	}
	if def.Default != nil {
		f.fallback = f.values.convert(def.Default)
	}
	return f, nil
}

// count returns how many elements of f follow, and reads their number if it is a sequence.
func (f *field) count(d *wire.Decoder) int {
	switch f.Shape {
	case rosidl.Sequence:
		return d.Length(f.least, f.Length)
	case rosidl.Array:
		if f.Length > d.Remaining()/f.least {
			d.Fail("array of %s of %s or more, but only %s left", plural.Count(f.Length, "element"),
				plural.Count(f.least, "byte"), plural.Count(d.Remaining(), "byte"))
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
			d.Raw(f.align, n*f.least)
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
