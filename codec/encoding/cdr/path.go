package cdr

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tapedeck/codec/text/plural"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// Path leads to one field of a type, such as "header.stamp" or "transforms[0].header.stamp". It reads that field out of
// payloads without decoding the others. It is safe for concurrent use.
type Path struct {
	name   string // type and path, for errors
	root   []field
	steps  []step
	tail   spans // behind the steps, up to the target
	target field
}

// step skips fields of a fixed size in all, one of varying size, or elements in front of one.
type step struct {
	bytes spans
	of    *field // nil: those of bytes
	index int    // of the element; -1: all of them
}

// mostSteps is about how many steps go into the messages that are skipped, as that is faster.
const mostSteps = 16

// skip goes on behind a field, or n elements of one.
func (p *Path) skip(f *field, n int) {
	if f.Kind == rosidl.Nested && f.Shape == rosidl.Single && !f.fixed && len(p.steps) < mostSteps {
		for i := range f.message.fields {
			p.skip(&f.message.fields[i], -1)
		}
		return
	}
	if !f.fixed || f.Shape == rosidl.Sequence {
		p.steps = append(p.steps, step{of: f, index: n})
		return
	}
	if n < 0 {
		n = max(f.Length, 1)
	}
	bytes := f.spans.times(n)
	if n := len(p.steps); n > 0 && p.steps[n-1].of == nil {
		p.steps[n-1].bytes = p.steps[n-1].bytes.then(bytes)
	} else {
		p.steps = append(p.steps, step{bytes: bytes})
	}
}

// Path returns the path to a field. Names are separated by dots; "[n]" behind the name of an array or sequence selects
// one element, counted from 0.
func (s *Schema) Path(path string) (*Path, error) {
	p := &Path{name: s.root.name + "." + path, root: s.root.fields,
		target: field{Type: rosidl.Type{Kind: rosidl.Nested}, message: s.root}}
	for part := range strings.SplitSeq(path, ".") {
		if err := p.enter(part); err != nil {
			return nil, fmt.Errorf("path %q in %s: %w", path, s.root.name, err)
		}
	}
	if n := len(p.steps); n > 0 && p.steps[n-1].of == nil {
		p.tail, p.steps = p.steps[n-1].bytes, p.steps[:n-1]
	}
	align := p.target.align
	if p.target.Shape == rosidl.Sequence {
		align = 4
	}
	p.tail = p.tail.then(paddings(align))
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
	for j := range i {
		p.skip(&fields[j], -1)
	}
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
	p.skip(f, int(n))
	p.target.Shape, p.target.Length = rosidl.Single, 0
	return nil
}

// Type returns the type of the field.
func (p *Path) Type() rosidl.Type { return p.target.Type }

// IsNumber reports whether the field is a number or a bool, which Number returns.
func (p *Path) IsNumber() bool {
	kind := p.target.Kind
	return p.target.Shape == rosidl.Single && kind != rosidl.Nested && kind != rosidl.String && kind != rosidl.WString
}

// Get returns the value of the field in a payload, as Decode has it in a Struct.
func (p *Path) Get(payload []byte) (any, error) {
	var d wire.Decoder
	p.Find(&d, payload)
	v, err := p.target.decode(&d)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.name, err)
	}
	return v, nil
}

// Number returns the value of a number in a payload, and takes no memory; a bool is 0 or 1. ok reports whether the
// field is a number.
func (p *Path) Number(payload []byte) (v float64, ok bool, err error) {
	var d wire.Decoder
	p.Find(&d, payload)
	return p.number(&d)
}

func (p *Path) number(d *wire.Decoder) (v float64, ok bool, err error) {
	if p.target.Shape != rosidl.Single {
		return 0, false, nil
	}
	v, ok = number(d, p.target.Kind)
	if !ok {
		return 0, false, nil
	}
	if err := d.Err(); err != nil {
		return 0, false, fmt.Errorf("read %s: %w", p.name, err)
	}
	return v, true, nil
}

// AppendNumbers appends the value of a number in a payload, or the values of an array of numbers; a bool is 0 or 1.
func (p *Path) AppendNumbers(to []float64, payload []byte) ([]float64, error) {
	var d wire.Decoder
	p.Find(&d, payload)
	for range p.target.count(&d) {
		v, ok := number(&d, p.target.Kind)
		if !ok {
			d.Fail("it is not a number")
		}
		to = append(to, v)
	}
	if err := d.Err(); err != nil {
		return to, fmt.Errorf("read %s: %w", p.name, err)
	}
	return to, nil
}

// number reads a value of a kind; ok reports whether it is a number.
func number(d *wire.Decoder, k rosidl.Kind) (v float64, ok bool) {
	switch k {
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
		return 0, false
	}
	return v, true
}

// Text sets s to a string in a payload. It takes no memory if s is that string already.
func (p *Path) Text(payload []byte, s *string) error {
	var d wire.Decoder
	p.Find(&d, payload)
	if p.target.Kind != rosidl.String || p.target.Shape != rosidl.Single {
		d.Fail("it is not a string")
	}
	d.SetString(s, 0)
	if err := d.Err(); err != nil {
		return fmt.Errorf("read %s: %w", p.name, err)
	}
	return nil
}

// TextAt is Text where the field is at that offset, which Offset returned for another payload of the same Shape.
func (p *Path) TextAt(payload []byte, offset int, s *string) {
	b := payload[offset+4:][:binary.LittleEndian.Uint32(payload[offset:])]
	if len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	if string(b) != *s {
		*s = string(b)
	}
}

// Offset returns where in a payload, its header included, the first byte of the field is. All of the field is there.
func (p *Path) Offset(payload []byte) (int, error) {
	var d wire.Decoder
	start := p.Find(&d, payload)
	p.target.skipAll(&d)
	if err := d.Err(); err != nil {
		return 0, fmt.Errorf("find %s: %w", p.name, err)
	}
	return start, nil
}

// Find makes d read a payload from the field on, and returns the field's offset.
func (p *Path) Find(d *wire.Decoder, payload []byte) int {
	d.Reset(payload)
	for i := range p.steps {
		switch s := &p.steps[i]; {
		case s.of == nil:
			d.Skip(s.bytes.at(d))
		case s.index < 0:
			s.of.skipAll(d)
		default:
			if n := s.of.count(d); s.index < n {
				s.of.skip(d, s.index)
			} else if d.Err() == nil {
				d.Fail("%s has %s, no [%d]", s.of.name, plural.Count(n, "element"), s.index)
			}
		}
	}
	d.Skip(p.tail.at(d))
	return d.Offset()
}

// at returns how many bytes it is from where d is.
func (s *spans) at(d *wire.Decoder) int { return s[(d.Offset()-wire.HeaderSize)%8] }

// Numbers reads numbers of one type. Where a payload has the shape of the one before, they are where they were.
type Numbers struct {
	shape   Shape
	paths   []*Path
	offsets []int // in payloads of the shape; 0: not looked for
}

// Add adds the path of a number.
func (n *Numbers) Add(p *Path) {
	n.shape.fields, n.paths, n.offsets = p.root, append(n.paths, p), append(n.offsets, 0)
}

// Each calls do with each number in a payload, as Path.Number returns it, until do returns an error.
func (n *Numbers) Each(payload []byte, do func(i int, v float64, ok bool, err error) error) error {
	same := n.shape.Same(payload)
	for i, p := range n.paths {
		offset := &n.offsets[i]
		if !same {
			*offset = 0
		} else if *offset == 0 {
			*offset, _ = p.Offset(payload) // Number returns the error
		}
		var v float64
		var ok bool
		var err error
		switch {
		case *offset == 0:
			v, ok, err = p.Number(payload)
		case p.target.Kind == rosidl.Float64 && p.target.Shape == rosidl.Single: // the usual, without calls
			v, ok = math.Float64frombits(binary.LittleEndian.Uint64(payload[*offset:])), true
		default:
			var d wire.Decoder
			d.Reset(payload)
			d.Skip(*offset - wire.HeaderSize)
			v, ok, err = p.number(&d)
		}
		if err := do(i, v, ok, err); err != nil {
			return err
		}
	}
	return nil
}
