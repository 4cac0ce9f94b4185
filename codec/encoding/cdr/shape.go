package cdr

import (
	"encoding/binary"

	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// Shape detects consecutive payloads of a type whose fields are at equal offsets, so that offsets found in one payload
// can be used for the next. In most topics, strings and sequences keep their lengths. A Shape is not for concurrent
// use.
type Shape struct {
	fields  []field
	size    int           // bytes of the last payload; 0 if its shape is unknown
	lengths []shapeLength // in the last payload
}

// shapeLength is the length of a string or sequence in a payload.
type shapeLength struct {
	offset int
	length uint32
}

// mostLengths is the most lengths that Shape compares.
const mostLengths = 32

// littleEndian is the first two bytes of a little-endian payload, as a little-endian number.
const littleEndian = 0x0100

// Shape returns a Shape for payloads of the type.
func (s *Schema) Shape() *Shape { return &Shape{fields: s.root.fields} }

// Same reports whether all fields of a payload are at the offsets that they had in the previous payload. If so, both
// payloads are little-endian and complete.
func (s *Shape) Same(payload []byte) bool {
	if len(payload) != s.size || s.size == 0 || binary.LittleEndian.Uint16(payload) != littleEndian {
		s.learn(payload)
		return false
	}
	for _, l := range s.lengths {
		if binary.LittleEndian.Uint32(payload[l.offset:]) != l.length {
			s.learn(payload)
			return false
		}
	}
	return true
}

// learn sets s to the shape of a payload.
func (s *Shape) learn(payload []byte) {
	s.size, s.lengths = 0, s.lengths[:0]
	var d wire.Decoder
	d.Reset(payload)
	if !d.BigEndian() && s.walk(&d, s.fields) && d.Err() == nil {
		s.size = len(payload)
	}
}

// walk notes the lengths in fields. It returns false if the offsets also depend on something else, or if there are too
// many lengths.
func (s *Shape) walk(d *wire.Decoder, fields []field) bool {
	for i := range fields {
		f := &fields[i]
		if f.Shape == rosidl.Sequence && !s.note(*d) {
			return false
		}
		n := f.count(d)
		if f.fixed {
			f.skip(d, n)
			continue
		}
		for ; n > 0 && d.Err() == nil; n-- {
			switch f.Kind {
			case rosidl.String:
				if !s.note(*d) {
					return false
				}
				d.SkipString()
			case rosidl.WString: // the width of its characters depends on its contents
				return false
			default:
				if !s.walk(d, f.message.fields) {
					return false
				}
			}
		}
	}
	return true
}

// note appends the length that d reads next. It returns false if there are too many lengths.
func (s *Shape) note(d wire.Decoder) bool {
	d.Align(4)
	s.lengths = append(s.lengths, shapeLength{d.Offset(), d.Uint32()})
	return len(s.lengths) <= mostLengths
}
