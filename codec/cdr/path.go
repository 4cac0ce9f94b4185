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
	of    *field
	index int
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
		for j := range s.skip {
			s.skip[j].skipAll(d)
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
