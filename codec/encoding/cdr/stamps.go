package cdr

import (
	"encoding/binary"
	"fmt"
	"math"

	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

const (
	headerType = "std_msgs/msg/Header"
	timeType   = "builtin_interfaces/msg/Time"
)

// Stamps reads and shifts the stamps in payloads of one type: the stamp of every std_msgs/msg/Header, at any depth. If
// a type has no Header but begins with a builtin_interfaces/msg/Time, like rosgraph_msgs/msg/Clock and
// rcl_interfaces/msg/Log, this Time is its stamp. Other times are contents and stay unchanged. The methods allocate
// nothing, and do not look at bytes after the last stamp. Stamps is safe for concurrent use.
type Stamps struct {
	name    string
	steps   []stampStep
	atFront bool // a payload begins with the first stamp
}

// stampStep handles one piece of a message. The first field that is set says how.
type stampStep struct {
	stamp bool        // the piece is a stamp
	field *field      // the piece is a field whose elements contain stamps
	steps []stampStep // through an element of field
	skip  *field      // the piece is a field of varying size without stamps
	bytes spans       // the piece is a run of fields of fixed size without stamps
}

// Stamps returns the Stamps of the type, nil if it has none.
func (s *Schema) Stamps() *Stamps {
	steps := stampCompiler{}.steps(s.root)
	if steps == nil && len(s.root.fields) > 0 && s.root.fields[0].isTime() {
		steps = []stampStep{{stamp: true}}
	}
	if steps == nil {
		return nil
	}
	last := len(steps) - 1
	for !steps[last].stamp && steps[last].field == nil {
		last--
	}
	stamps := &Stamps{name: s.root.name, steps: steps[:last+1]}
	for steps[0].field != nil && steps[0].field.Shape == rosidl.Single {
		steps = steps[0].steps
	}
	stamps.atFront = steps[0].stamp
	return stamps
}

// First returns the first stamp in a payload, in ns since the epoch; a stamp that was not set is 0. ok is false if the
// payload has no stamp because its sequences of messages are empty.
func (s *Stamps) First(payload []byte) (ns int64, ok bool, err error) {
	if s.atFront && len(payload) >= wire.HeaderSize+8 && payload[0] == 0 && payload[1] == 1 { // little-endian
		return stampTime(payload[wire.HeaderSize:], binary.LittleEndian), true, nil
	}
	err = s.walk(payload, func(stamp []byte, order binary.ByteOrder) bool {
		ns, ok = stampTime(stamp, order), true
		return false
	})
	return ns, ok, err
}

// Add adds ns to all stamps in a payload, in place. A stamp of 0 was not set and stays 0. A time that does not fit into
// a builtin_interfaces/msg/Time becomes the first or last time that does. After an error some stamps may have been
// changed.
//
// If ns is the time of playing minus the time of recording, messages keep the delay between stamp and reception.
func (s *Stamps) Add(payload []byte, ns int64) error {
	return s.walk(payload, func(stamp []byte, order binary.ByteOrder) bool {
		if old := stampTime(stamp, order); old != 0 {
			setStampTime(stamp, order, old, ns)
		}
		return true
	})
}

func stampTime(stamp []byte, order binary.ByteOrder) int64 {
	return int64(int32(order.Uint32(stamp)))*1e9 + int64(order.Uint32(stamp[4:]))
}

func setStampTime(stamp []byte, order binary.ByteOrder, old, add int64) {
	const first, last = math.MinInt32 * 1e9, math.MaxInt32*1e9 + 999_999_999
	// old exceeds first and last by a few seconds at most, so the differences don't overflow.
	t := old + min(max(add, first-old), last-old)
	sec := t / 1e9
	if t%1e9 < 0 {
		sec--
	}
	order.PutUint32(stamp, uint32(int32(sec)))
	order.PutUint32(stamp[4:], uint32(t-sec*1e9))
}

// walk calls visit with the bytes of each stamp until visit returns false.
func (s *Stamps) walk(payload []byte, visit func([]byte, binary.ByteOrder) bool) error {
	var d wire.Decoder
	d.Reset(payload)
	var order binary.ByteOrder = binary.LittleEndian
	if d.BigEndian() {
		order = binary.BigEndian
	}
	walkStamps(&d, s.steps, func() bool {
		d.Align(4)
		start := d.Offset()
		d.Skip(8)
		return d.Err() == nil && visit(payload[start:d.Offset()], order)
	})
	if err := d.Err(); err != nil {
		return fmt.Errorf("find stamps of %s: %w", s.name, err)
	}
	return nil
}

// walkStamps calls visit at each stamp; visit must read the stamp. It returns false if visit does, or if the payload is
// too short.
func walkStamps(d *wire.Decoder, steps []stampStep, visit func() bool) bool {
	for i := range steps {
		switch s := &steps[i]; {
		case s.stamp:
			if !visit() {
				return false
			}
		case s.field != nil:
			for n := s.field.count(d); n > 0; n-- {
				if !walkStamps(d, s.steps, visit) {
					return false
				}
			}
		case s.skip != nil:
			s.skip.skipAll(d)
		default:
			d.Skip(s.bytes[(d.Offset()-wire.HeaderSize)%8])
		}
	}
	return d.Err() == nil
}

// stampCompiler holds the steps through each layout, because a layout may occur many times in others.
type stampCompiler map[*layout][]stampStep

// steps returns the steps through l, nil if it contains no stamp.
func (c stampCompiler) steps(l *layout) []stampStep {
	if steps, ok := c[l]; ok {
		return steps
	}
	var steps []stampStep
	found, merge := false, false // merge: the last step skips bytes
	for i := range l.fields {
		f := &l.fields[i]
		var inner []stampStep
		if f.Kind == rosidl.Nested {
			inner = c.steps(f.message)
		}
		fixed := false
		switch {
		case l.name == headerType && f.name == "stamp" && f.isTime():
			steps, found = append(steps, stampStep{stamp: true}), true
		case inner != nil:
			steps, found = append(steps, stampStep{field: f, steps: inner}), true
		case !f.fixed || f.Shape == rosidl.Sequence:
			steps = append(steps, stampStep{skip: f})
		default:
			fixed = true
			bytes := f.spans.times(max(f.Length, 1))
			if merge {
				last := &steps[len(steps)-1]
				last.bytes = last.bytes.then(bytes)
			} else {
				steps = append(steps, stampStep{bytes: bytes})
			}
		}
		merge = fixed
	}
	if !found {
		steps = nil
	}
	c[l] = steps
	return steps
}

// isTime reports whether f is a single builtin_interfaces/msg/Time with the standard definition.
func (f *field) isTime() bool {
	if f.Shape != rosidl.Single || f.Kind != rosidl.Nested || f.Message != timeType {
		return false
	}
	t := f.message.fields
	return len(t) == 2 && t[0].isSingle(rosidl.Int32) && t[1].isSingle(rosidl.Uint32)
}

func (f *field) isSingle(k rosidl.Kind) bool { return f.Kind == k && f.Shape == rosidl.Single }
