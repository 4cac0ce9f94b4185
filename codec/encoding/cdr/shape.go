package cdr

import (
	"encoding/binary"

	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// Shape tells whether payloads of one type are laid out alike, so that what was found in one need not be looked for in
// the next: most topics have strings and sequences of the same lengths in all of their messages. It is not for
// concurrent use.
type Shape struct {
	fields  []field
	size    int // of a payload; 0: none has a known shape
	lengths []shapeLength
}

// shapeLength is the length of a string or sequence in a payload.
type shapeLength struct {
	offset int
	length uint32
}

// mostLengths bounds what Shape compares.
const mostLengths = 32

// littleEndian is how the header of such a payload begins, read as that.
const littleEndian = 0x0100

// Shape returns the Shape of payloads of the type, before the first one.
func (s *Schema) Shape() *Shape { return &Shape{fields: s.root.fields} }

// Same reports whether all fields of a payload are at the same offsets as those of the one before. Both are
// little-endian and complete.
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

// learn takes the shape of a payload.
func (s *Shape) learn(payload []byte) {
	s.size, s.lengths = 0, s.lengths[:0]
	var d wire.Decoder
	d.Reset(payload)
	if !d.BigEndian() && s.walk(&d, s.fields) && d.Err() == nil {
		s.size = len(payload)
	}
}

// walk takes the lengths in fields, and returns false if more than these tell where fields are.
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
			case rosidl.WString: // its contents tell how wide it is
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

// note takes the length that d reads next, and returns false if there are too many.
func (s *Shape) note(d wire.Decoder) bool {
	d.Align(4)
	s.lengths = append(s.lengths, shapeLength{d.Offset(), d.Uint32()})
	return len(s.lengths) <= mostLengths
}
