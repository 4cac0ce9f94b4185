package cdr

import (
	"fmt"
	"strconv"
	"strings"

	"tapedeck/msgs/plural"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/wire"
)

// Path leads to one field of a type, such as "header.stamp" or "transforms[0].header.stamp". It reads that field out of
// payloads without decoding the others. It is safe for concurrent use.
type Path struct {
	name   string // type and path, for errors
	start  int    // bytes behind the header that all payloads have in front of steps
	steps  []step
	target field
}

// step skips the fields in front of one, or is, if of is not nil, from the beginning of that array or sequence to an
// element.
type step struct {
	skip  []field
	parts []stretch // of skip
	of    *field
	index int
}

// stretch is fields of a fixed size in all, or one of varying size.
type stretch struct {
	bytes spans
	of    *field // nil: those of bytes
}

// group joins fields.
func group(fields []field) (parts []stretch) {
	for i := range fields {
		f := &fields[i]
		if !f.fixed || f.Shape == rosidl.Sequence {
			parts = append(parts, stretch{of: f})
			continue
		}
		bytes := f.spans.times(max(f.Length, 1))
		if n := len(parts); n > 0 && parts[n-1].of == nil {
			parts[n-1].bytes = parts[n-1].bytes.then(bytes)
		} else {
			parts = append(parts, stretch{bytes: bytes})
		}
	}
	return parts
}

// Path returns the path to a field. Names are separated by dots; "[n]" behind the name of an array or sequence selects
// one element, counted from 0.
func (s *Schema) Path(path string) (*Path, error) {
	p := &Path{name: s.root.name + "." + path, target: field{Type: rosidl.Type{Kind: rosidl.Nested}, message: s.root}}
	for part := range strings.SplitSeq(path, ".") {
		if err := p.enter(part); err != nil {
			return nil, fmt.Errorf("path %q in %s: %w", path, s.root.name, err)
		}
	}
	p.fold()
	for i := range p.steps {
		p.steps[i].parts = group(p.steps[i].skip)
	}
	return p, nil
}

// enter goes on to a field of the target, "name" or "name[index]".
func (p *Path) enter(part string) error {
	name, index, indexed := strings.Cut(part, "[")
	if p.target.Kind != rosidl.Nested {
		return fmt.Errorf("%s has no fields", p.target.name)
	}
	if p.target.Shape != rosidl.Single {
		return fmt.Errorf("%s is an array: select one element, %[1]s[0]", p.target.name)
	}
	fields := p.target.message.fields
	i := 0
	for i < len(fields) && fields[i].name != name {
		i++
	}
	if i == len(fields) {
		var names []string
		for _, f := range fields {
			names = append(names, f.name)
		}
		return fmt.Errorf("%s has no field %q; it has %s", p.target.message.name, name, strings.Join(names, ", "))
	}
	p.steps = append(p.steps, step{skip: fields[:i]})
	p.target = fields[i]
	if !indexed {
		return nil
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(index, "]"), 10, 31)
	if err != nil || !strings.HasSuffix(index, "]") {
		return fmt.Errorf("%q is not an index like [0]", "["+index)
	}
	f := &fields[i]
	if f.Shape == rosidl.Single {
		return fmt.Errorf("%s is not an array", name)
	}
	if f.Length > 0 && n >= uint64(f.Length) {
		return fmt.Errorf("%s has at most %s", name, plural.Count(f.Length, "element"))
	}
	p.steps = append(p.steps, step{of: f, index: int(n)})
	p.target.Shape, p.target.Length = rosidl.Single, 0
	return nil
}

// fold replaces the leading steps that are the same for all payloads by their length.
func (p *Path) fold() {
	for ; len(p.steps) > 0; p.steps = p.steps[1:] {
		s := &p.steps[0]
		for ; len(s.skip) > 0; s.skip = s.skip[1:] {
			f := &s.skip[0]
			if !f.fixed || f.Shape == rosidl.Sequence {
				return
			}
			p.start += f.spans.times(max(f.Length, 1))[p.start%8]
		}
		if s.of != nil {
			if !s.of.fixed || s.of.Shape == rosidl.Sequence {
				return
			}
			p.start += s.of.spans.times(s.index)[p.start%8]
		}
	}
}

// Type returns the type of the field.
func (p *Path) Type() rosidl.Type { return p.target.Type }

// Get returns the value of the field in a payload, as Decode has it in a Struct.
func (p *Path) Get(payload []byte) (any, error) {
	var d wire.Decoder
	p.find(&d, payload)
	v, err := p.target.decode(&d)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.name, err)
	}
	return v, nil
}

// Number returns the value of a number in a payload, and takes no memory; a bool is 0 or 1. ok reports whether the field
// is a number.
func (p *Path) Number(payload []byte) (v float64, ok bool, err error) {
	if p.target.Shape != rosidl.Single {
		return 0, false, nil
	}
	var d wire.Decoder
	p.find(&d, payload)
	switch p.target.Kind {
	case rosidl.Float64:
		v = d.Float64()
	case rosidl.Float32:
		v = float64(d.Float32())
	case rosidl.Int8:
		v = float64(d.Int8())
	case rosidl.Uint8, rosidl.Byte, rosidl.Char:
		v = float64(d.Uint8())
	case rosidl.Int16:
		v = float64(d.Int16())
	case rosidl.Uint16:
		v = float64(d.Uint16())
	case rosidl.Int32:
		v = float64(d.Int32())
	case rosidl.Uint32:
		v = float64(d.Uint32())
	case rosidl.Int64:
		v = float64(d.Int64())
	case rosidl.Uint64:
		v = float64(d.Uint64())
	case rosidl.Bool:
		if d.Bool() {
			v = 1
		}
	default:
		return 0, false, nil
	}
	if err := d.Err(); err != nil {
		return 0, false, fmt.Errorf("read %s: %w", p.name, err)
	}
	return v, true, nil
}

// Text sets s to a string in a payload. It takes no memory if s is that string already.
func (p *Path) Text(payload []byte, s *string) error {
	var d wire.Decoder
	p.find(&d, payload)
	if p.target.Kind != rosidl.String || p.target.Shape != rosidl.Single {
		d.Fail("it is not a string")
	}
	d.SetString(s, 0)
	if err := d.Err(); err != nil {
		return fmt.Errorf("read %s: %w", p.name, err)
	}
	return nil
}

// Offset returns where in a payload, its header included, the first byte of the field is. All of the field is there.
func (p *Path) Offset(payload []byte) (int, error) {
	var d wire.Decoder
	start := p.find(&d, payload)
	p.target.skipAll(&d)
	if err := d.Err(); err != nil {
		return 0, fmt.Errorf("find %s: %w", p.name, err)
	}
	return start, nil
}

// Patch overwrites the field in a little-endian payload with v, of a type that Encode accepts. The field must
// have a fixed size: no strings or sequences. After a failure some bytes of the field may have been overwritten.
func (p *Path) Patch(payload []byte, v any) error {
	if !p.target.fixed || p.target.Shape == rosidl.Sequence {
		return fmt.Errorf("patch %s: its size is not fixed; decode the message and encode it again", p.name)
	}
	var d wire.Decoder
	start := p.find(&d, payload)
	p.target.skipAll(&d)
	if err := d.Err(); err != nil {
		return fmt.Errorf("patch %s: %w", p.name, err)
	}
	if d.BigEndian() {
		return fmt.Errorf("patch %s: the payload is big-endian; decode the message and encode it again", p.name)
	}
	e := encoders.Get().(*wire.Encoder)
	defer release(e)
	e.Continue(payload[:start:d.Offset()])
	if err := p.target.encode(e, v); err != nil {
		return fmt.Errorf("patch %s: %w", p.name, err)
	}
	return nil
}

// find makes d read payload from the field on, and returns the field's offset.
func (p *Path) find(d *wire.Decoder, payload []byte) int {
	d.Reset(payload)
	d.Skip(p.start)
	for i := range p.steps {
		s := &p.steps[i]
		for j := range s.parts {
			if r := &s.parts[j]; r.of != nil {
				r.of.skipAll(d)
			} else {
				d.Skip(r.bytes[(d.Offset()-wire.HeaderSize)%8])
			}
		}
		if s.of == nil || d.Err() != nil {
			continue
		}
		if n := s.of.count(d); s.index < n {
			s.of.skip(d, s.index)
		} else {
			d.Fail("%s has %s, no [%d]", s.of.name, plural.Count(n, "element"), s.index)
		}
	}
	align := p.target.align
	if p.target.Shape == rosidl.Sequence {
		align = 4
	}
	d.Align(align)
	return d.Offset()
}
