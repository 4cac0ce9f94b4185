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

// Path leads to one field of a type, such as "header.stamp" or "transforms[0].header.stamp". It reads the field from
// payloads without decoding other fields. It is safe for concurrent use.
type Path struct {
	name   string // type and path, for errors
	root   []field
	steps  []step
	tail   spans // bytes between the last step and the target
	target field
}

// step skips part of a payload: a run of fields of fixed size, one field, or the first elements of a field.
type step struct {
	bytes spans  // of the fields of fixed size, if field is nil
	field *field // nil: skip bytes
	index int    // number of elements to skip; -1: the whole field
}

// mostSteps is about how many steps a path may have before skip stops splitting skipped messages into their fields.
// Splitting makes Find faster.
const mostSteps = 16

// skip adds the steps that skip a field, or its first n elements unless n is negative.
func (p *Path) skip(f *field, n int) {
	if f.Kind == rosidl.Nested && f.Shape == rosidl.Single && !f.fixed && len(p.steps) < mostSteps {
		for i := range f.message.fields {
			p.skip(&f.message.fields[i], -1)
		}
		return
	}
	if !f.fixed || f.Shape == rosidl.Sequence {
		p.steps = append(p.steps, step{field: f, index: n})
		return
	}
	if n < 0 {
		n = max(f.Length, 1)
	}
	bytes := f.spans.times(n)
	if n := len(p.steps); n > 0 && p.steps[n-1].field == nil {
		p.steps[n-1].bytes = p.steps[n-1].bytes.then(bytes)
	} else {
		p.steps = append(p.steps, step{bytes: bytes})
	}
}

// Path returns the path to a field. Names are separated by dots. "[n]" after the name of an array or sequence selects
// element n, counted from 0.
func (s *Schema) Path(path string) (*Path, error) {
	p := &Path{name: s.root.name + "." + path, root: s.root.fields,
		target: field{Type: rosidl.Type{Kind: rosidl.Nested}, message: s.root}}
	for element := range strings.SplitSeq(path, ".") {
		if err := p.enter(element); err != nil {
			return nil, fmt.Errorf("path %q in %s: %w", path, s.root.name, err)
		}
	}
	if n := len(p.steps); n > 0 && p.steps[n-1].field == nil {
		p.tail, p.steps = p.steps[n-1].bytes, p.steps[:n-1]
	}
	align := p.target.align
	if p.target.Shape == rosidl.Sequence {
		align = 4
	}
	p.tail = p.tail.then(paddings(align))
	return p, nil
}

// enter makes a field of the target the new target. element is "name" or "name[index]".
func (p *Path) enter(element string) error {
	name, index, indexed := strings.Cut(element, "[")
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

// Get returns the value of the field in a payload. Struct lists the types of values.
func (p *Path) Get(payload []byte) (any, error) {
	var d wire.Decoder
	p.Find(&d, payload)
	v, err := p.target.decode(&d)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.name, err)
	}
	return v, nil
}

// Number returns the value of a number in a payload, without allocating; a bool is 0 or 1. ok reports whether the field
// is a number.
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
			d.Fail("the field is not a number")
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

// Text sets s to a string in a payload. It allocates nothing if s has that value already.
func (p *Path) Text(payload []byte, s *string) error {
	var d wire.Decoder
	p.Find(&d, payload)
	if p.target.Kind != rosidl.String || p.target.Shape != rosidl.Single {
		d.Fail("the field is not a string")
	}
	d.SetString(s, 0)
	if err := d.Err(); err != nil {
		return fmt.Errorf("read %s: %w", p.name, err)
	}
	return nil
}

// TextAt sets s to the string at an offset, which Offset returned for this payload or for one with an equal Shape.
func (p *Path) TextAt(payload []byte, offset int, s *string) {
	b := payload[offset+4:][:binary.LittleEndian.Uint32(payload[offset:])]
	if len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	if string(b) != *s {
		*s = string(b)
	}
}

// Offset returns the offset of the field's first byte in a payload, counting the encapsulation header. It fails if the
// field is incomplete.
func (p *Path) Offset(payload []byte) (int, error) {
	var d wire.Decoder
	start := p.Find(&d, payload)
	p.target.skipAll(&d)
	if err := d.Err(); err != nil {
		return 0, fmt.Errorf("find %s: %w", p.name, err)
	}
	return start, nil
}

// Find resets d to the field in a payload, and returns the field's offset.
func (p *Path) Find(d *wire.Decoder, payload []byte) int {
	d.Reset(payload)
	for i := range p.steps {
		switch s := &p.steps[i]; {
		case s.field == nil:
			d.Skip(s.bytes.at(d))
		case s.index < 0:
			s.field.skipAll(d)
		default:
			if n := s.field.count(d); s.index < n {
				s.field.skip(d, s.index)
			} else if d.Err() == nil {
				d.Fail("%s has %s, no [%d]", s.field.name, plural.Count(n, "element"), s.index)
			}
		}
	}
	d.Skip(p.tail.at(d))
	return d.Offset()
}

// at returns the number of bytes from the position of d.
func (s *spans) at(d *wire.Decoder) int { return s[(d.Offset()-wire.HeaderSize)%8] }

// Numbers reads several numbers from the payloads of one type. It remembers their offsets while payloads keep their
// shape.
type Numbers struct {
	shape   Shape
	paths   []*Path
	offsets []int // of the numbers in payloads of the shape; 0: unknown
}

// Add adds the path of a number.
func (n *Numbers) Add(p *Path) {
	n.shape.fields, n.paths, n.offsets = p.root, append(n.paths, p), append(n.offsets, 0)
}

// Each calls do with the results of Path.Number for each path, until do returns an error.
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
		case p.target.Kind == rosidl.Float64 && p.target.Shape == rosidl.Single: // the usual case, inlined
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
