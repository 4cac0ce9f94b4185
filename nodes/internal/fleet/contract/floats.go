package contract

import (
	"encoding/binary"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/encoding/field"
	"tapedeck/codec/text/human"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// floats finds fields that became NaN. It ignores fields that are NaN from the beginning: the sensor does not measure
// them.
type floats struct {
	begin  *cdr.Path // path of the first of fields
	fields []floatField
	leaves []*floatState // states of the fields of float32 and float64
	checks []floatCheck  // positions of numbers in payloads with the shape of the last one
	nan    bool          // a number in the current message is NaN
	clean  bool          // a message had no NaN
}

// floatField is a field of a message.
type floatField struct {
	*field.Node
	*floatState // nil: the field has no floats
	inner       []floatField
	run         int // number of fields from this one on that consist of float64 only; 0: this one does not
	doubles     int // number of float64 in the fields of run
}

// floatCheck is a range of bytes in payloads that holds numbers of one kind.
type floatCheck struct {
	*floatState // nil: the numbers belong to several fields
	kind        rosidl.Kind
	from, until int
}

// floatState is the state of a field with floats.
type floatState struct {
	path    string
	last    bool // no field with floats follows
	nan     bool // the current message has a NaN
	clean   bool // a message had no NaN
	finding *int // index in Pass.found.list; nil: none
	count   int  // number of messages with NaN after a clean one
}

// maxElements is the maximum length of checked arrays: longer ones, such as scans, may have NaN.
const maxElements = 64

// newFloats returns nil for a type without floats.
func newFloats(s *cdr.Schema) *floats {
	fields, err := field.Tree(s, func(cdr.FieldType) bool { return false })
	if err != nil {
		return nil
	}
	f := &floats{}
	f.fields = f.prepare(fields)
	if f.fields == nil {
		return nil
	}
	first := slices.IndexFunc(f.fields, func(n floatField) bool { return n.floatState != nil })
	f.fields = f.fields[first:]
	f.begin, err = s.Path(f.fields[0].Name)
	if err != nil {
		return nil
	}
	for i := len(f.fields) - 1; ; i-- {
		if state := f.fields[i].floatState; state != nil {
			state.last = true
			return f
		}
	}
}

// prepare returns the fields of nodes, nil if they have no floats.
func (f *floats) prepare(nodes []*field.Node) (fields []floatField) {
	some := false
	for _, n := range nodes {
		one := floatField{Node: n, inner: f.prepare(n.Inner)}
		if n.Kind == rosidl.Float32 || n.Kind == rosidl.Float64 || one.inner != nil {
			one.floatState = &floatState{path: n.Path}
			some = true
			if n.Kind != rosidl.Nested {
				f.leaves = append(f.leaves, one.floatState)
			}
		}
		fields = append(fields, one)
	}
	if !some {
		return nil
	}
	for i := len(fields) - 1; i >= 0; i-- {
		n := &fields[i]
		n.doubles = n.only()
		if n.doubles == 0 {
			continue
		}
		n.run = 1
		if i+1 < len(fields) {
			n.run, n.doubles = n.run+fields[i+1].run, n.doubles+fields[i+1].doubles
		}
	}
	return fields
}

// only returns how many float64 a field consists of, 0 if their number varies or it has other fields.
func (n *floatField) only() (doubles int) {
	if n.Kind == rosidl.Float64 {
		doubles = 1
	}
	for i := range n.inner {
		inner := &n.inner[i]
		if inner.run != len(n.inner)-i {
			return 0
		}
		doubles = n.inner[0].doubles
	}
	switch {
	case n.Shape == rosidl.Single:
		return doubles
	case n.Shape == rosidl.Array && n.Length <= maxElements:
		return doubles * n.Length
	}
	return 0
}

// add takes the next message. same is set if its payload has the shape of the last one.
func (f *floats) add(p *Pass, s *channelState, m *codec.Message, same bool) error {
	if f == nil {
		return nil
	}
	if f.nan {
		for _, state := range f.leaves {
			state.nan = false
		}
		f.nan = false
	}
	var d wire.Decoder
	if !same || !f.again(m.Data) {
		f.checks = f.checks[:0]
		f.begin.Find(&d, m.Data)
		f.read(f.fields, &d)
	}
	if err := d.Err(); err != nil || f.clean && !f.nan {
		return err
	}
	f.clean = f.clean || !f.nan
	for _, state := range f.leaves {
		if !state.nan {
			state.clean = true
		}
		if !state.nan || !state.clean {
			continue
		}
		state.count++
		if state.count == 1 {
			state.finding = p.found.add(Finding{s.name, m.LogTime, 0, NaN, "numbers in " + state.path, "NaN"})
		} else if state.finding != nil {
			found := &p.found.list[*state.finding]
			found.Until, found.Seen = m.LogTime, "NaN in "+human.Count(state.count, "message")
		}
	}
	return nil
}

// again checks the numbers at the positions of the last payload. It returns false if it cannot tell which field is NaN.
func (f *floats) again(payload []byte) bool {
	for i := range f.checks {
		c := &f.checks[i]
		if !hasNaN(payload[c.from:c.until], c.kind, false) {
			continue
		}
		if c.floatState == nil {
			return false
		}
		c.nan, f.nan = true, true
	}
	return len(f.checks) > 0
}

// read reads fields from d, and collects the positions of their numbers in checks.
func (f *floats) read(fields []floatField, d *wire.Decoder) {
	for i := 0; i < len(fields); i++ {
		n := &fields[i]
		if n.run > 0 {
			if ahead := *d; !f.anyNaN(&ahead, nil, rosidl.Float64, n.doubles) && ahead.Err() == nil {
				*d = ahead
				i += n.run - 1
				if fields[i].last {
					return
				}
				continue
			}
		}
		count := n.Count(d)
		switch {
		case n.floatState == nil || count > maxElements || count == 0:
			n.Skip(d, count)
		case n.Kind == rosidl.Nested:
			for range count {
				f.read(n.inner, d)
			}
		default:
			if f.anyNaN(d, n.floatState, n.Kind, count) {
				n.nan, f.nan = true, true
			}
		}
		if n.floatState != nil && n.last {
			return
		}
	}
}

// anyNaN reads count numbers and reports whether one is NaN. field is nil if the numbers belong to several fields.
func (f *floats) anyNaN(d *wire.Decoder, field *floatState, kind rosidl.Kind, count int) bool {
	size := 8
	if kind == rosidl.Float32 {
		size = 4
	}
	raw := d.Raw(size, size*count)
	nan := hasNaN(raw, kind, d.BigEndian())
	if field != nil || !nan {
		f.checks = append(f.checks, floatCheck{field, kind, d.Offset() - len(raw), d.Offset()})
	}
	return nan
}

// hasNaN reports whether one of the numbers in raw is NaN.
func hasNaN(raw []byte, kind rosidl.Kind, big bool) bool {
	var order binary.ByteOrder = binary.LittleEndian
	if big {
		order = binary.BigEndian
	}
	switch {
	case kind == rosidl.Float32:
		for ; len(raw) >= 4; raw = raw[4:] {
			if order.Uint32(raw)<<1 > 0xff<<24 {
				return true
			}
		}
	case big:
		for ; len(raw) >= 8; raw = raw[8:] {
			if order.Uint64(raw)<<1 > 0x7ff<<53 {
				return true
			}
		}
	default: // the usual case, without calls of order
		for ; len(raw) >= 32; raw = raw[32:] {
			if max(binary.LittleEndian.Uint64(raw)<<1, binary.LittleEndian.Uint64(raw[8:])<<1,
				binary.LittleEndian.Uint64(raw[16:])<<1, binary.LittleEndian.Uint64(raw[24:])<<1) > 0x7ff<<53 {
				return true
			}
		}
		for ; len(raw) >= 8; raw = raw[8:] {
			if binary.LittleEndian.Uint64(raw)<<1 > 0x7ff<<53 {
				return true
			}
		}
	}
	return false
}
