package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unicode/utf16"
)

// Decoder reads a payload in either byte order. Methods return no errors: Err returns the first error. After an error,
// every method that reads returns the zero value. Decoder checks lengths against the remaining bytes before it
// allocates memory.
type Decoder struct {
	body []byte // the payload behind the header
	pos  int    // position in body
	big  bool   // the payload is big-endian
	err  error
}

// NewDecoder returns a Decoder that reads payload, which begins with the encapsulation header.
func NewDecoder(payload []byte) *Decoder {
	d := new(Decoder)
	d.Reset(payload)
	return d
}

// Reset makes d read payload, which begins with the encapsulation header.
func (d *Decoder) Reset(payload []byte) {
	*d = Decoder{}
	if len(payload) < HeaderSize {
		d.err = fmt.Errorf("payload length %d is too short for the 4-byte CDR header", len(payload))
		return
	}
	switch kind := binary.BigEndian.Uint16(payload); kind {
	case 0, 1:
		d.big = kind == 0
		d.body = payload[HeaderSize:]
	case 2, 3, 6, 7, 8, 9, 0xa, 0xb:
		d.err = fmt.Errorf("CDR header % x names XCDR2 or a parameter list; only plain CDR version 1, which ROS 2 "+
			"uses, is understood", payload[:HeaderSize])
	default:
		d.err = fmt.Errorf("% x is no CDR header; does the payload have another encoding?", payload[:HeaderSize])
	}
}

// Err returns the first error.
func (d *Decoder) Err() error { return d.err }

// Fail keeps an error with the current offset, unless d has an error already, and ends reading.
func (d *Decoder) Fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("offset %d: %w", d.Offset(), fmt.Errorf(format, args...))
	}
	d.pos = len(d.body)
}

// BigEndian reports whether the payload is big-endian.
func (d *Decoder) BigEndian() bool { return d.big }

// Zero reports whether all bytes behind the header are zero.
func (d *Decoder) Zero() bool {
	return !slices.ContainsFunc(d.body, func(b byte) bool { return b != 0 })
}

// Offset returns the number of bytes that were read, including the header.
func (d *Decoder) Offset() int { return d.pos + HeaderSize }

// Remaining returns the number of unread bytes.
func (d *Decoder) Remaining() int { return len(d.body) - d.pos }

// Align skips to the next multiple of size, a power of two, counted from the end of the header.
func (d *Decoder) Align(size int) { d.Raw(size, 0) }

// Skip skips n bytes.
func (d *Decoder) Skip(n int) { d.Raw(1, n) }

// Raw returns the next n bytes in the memory of the payload. The first byte is aligned to size, a power of two. Raw
// returns nil if fewer bytes remain.
func (d *Decoder) Raw(size, n int) []byte {
	start := d.pos + -d.pos&(size-1)
	if n < 0 || n > len(d.body)-start {
		d.Fail("bytes needed: %d, left: %d", n, max(0, len(d.body)-start))
		return nil
	}
	d.pos = start + n
	return d.body[start:d.pos:d.pos]
}

// Uint8 reads a uint8, byte or char.
func (d *Decoder) Uint8() uint8 {
	b := d.Raw(1, 1)
	if b == nil {
		return 0
	}
	return b[0]
}

// Bool reads a bool. Any byte but 0 is true.
func (d *Decoder) Bool() bool { return d.Uint8() != 0 }

// Int8 reads an int8.
func (d *Decoder) Int8() int8 { return int8(d.Uint8()) }

// Uint16 reads a uint16.
func (d *Decoder) Uint16() uint16 {
	b := d.Raw(2, 2)
	switch {
	case b == nil:
		return 0
	case d.big:
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

// Int16 reads an int16.
func (d *Decoder) Int16() int16 { return int16(d.Uint16()) }

// Uint32 reads a uint32.
func (d *Decoder) Uint32() uint32 {
	b := d.Raw(4, 4)
	switch {
	case b == nil:
		return 0
	case d.big:
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

// Int32 reads an int32.
func (d *Decoder) Int32() int32 { return int32(d.Uint32()) }

// Uint64 reads a uint64.
func (d *Decoder) Uint64() uint64 {
	b := d.Raw(8, 8)
	switch {
	case b == nil:
		return 0
	case d.big:
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

// Int64 reads an int64.
func (d *Decoder) Int64() int64 { return int64(d.Uint64()) }

// Float32 reads a float32.
func (d *Decoder) Float32() float32 { return math.Float32frombits(d.Uint32()) }

// Float64 reads a float64.
func (d *Decoder) Float64() float64 { return math.Float64frombits(d.Uint64()) }

// Length reads the number of elements of a sequence whose elements take at least size bytes each. It fails if there
// are more than bound elements, unless bound is 0, or more elements than the remaining bytes can hold.
func (d *Decoder) Length(size, bound int) int {
	n := d.Uint32()
	if bound > 0 && uint64(n) > uint64(bound) {
		d.Fail("sequence length %d exceeds the bound %d", n, bound)
		return 0
	}
	if uint64(n) > uint64(d.Remaining()/size) {
		d.Fail("sequence length %d does not fit: bytes needed: %d, left: %d", n, uint64(n)*uint64(size), d.Remaining())
		return 0
	}
	return int(n)
}

// Chars reads a string as String does, and returns its bytes in the payload, without the terminating NUL. A string
// without a NUL is accepted, also of length 0.
func (d *Decoder) Chars(bound int) []byte {
	n := d.Uint32()
	if uint64(n) > uint64(d.Remaining()) {
		d.Fail("string length %d does not fit: bytes left: %d", n, d.Remaining())
		return nil
	}
	b := d.Raw(1, int(n))
	if len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	if bound > 0 && len(b) > bound {
		d.Fail("string length %d exceeds the bound %d", len(b), bound)
		return nil
	}
	return b
}

// String reads a string of at most bound bytes, or of any length if bound is 0.
func (d *Decoder) String(bound int) string { return string(d.Chars(bound)) }

// SetString reads a string into p, as String does. It allocates no memory if p already holds that string.
func (d *Decoder) SetString(p *string, bound int) {
	if b := d.Chars(bound); string(b) != *p {
		*p = string(b)
	}
}

// SkipString skips a string.
func (d *Decoder) SkipString() { d.Chars(0) }

// WString reads a wstring of at most bound UTF-16 code units, or of any length if bound is 0.
func (d *Decoder) WString(bound int) string {
	n := d.Length(2, 0)
	if bound > 0 && n > bound {
		d.Fail("wstring length %d exceeds the bound %d", n, bound)
		return ""
	}
	units := make([]uint16, n)
	if d.hasWideUnits(n) {
		for i := range units {
			units[i] = uint16(d.Uint32())
		}
	} else {
		DecodeArray(d, units)
	}
	return string(utf16.Decode(units))
}

// SkipWString skips a wstring.
func (d *Decoder) SkipWString() {
	n := d.Length(2, 0)
	if d.hasWideUnits(n) {
		n *= 2
	}
	d.Skip(2 * n)
}

// hasWideUnits guesses whether the next n units of a wstring have 4 bytes, by the rule in the package comment.
func (d *Decoder) hasWideUnits(n int) bool {
	if n > d.Remaining()/4 {
		return false
	}
	ahead := *d
	for range n {
		if ahead.Uint32() > math.MaxUint16 {
			return false
		}
	}
	return true
}

// Bools reads the elements of an array of bools into v.
func (d *Decoder) Bools(v []bool) {
	b := d.Raw(1, len(v))
	clear(v)
	for i := range b {
		v[i] = b[i] != 0
	}
}

// Resize returns a slice of n elements: v, if the capacity of v is enough, or else a new slice.
func Resize[T any](v []T, n int) []T {
	if n > cap(v) || v == nil {
		return make([]T, n)
	}
	return v[:n]
}

// DecodeArray reads the elements of an array of numbers into v. After an error, the elements are zero.
func DecodeArray[T Number](d *Decoder, v []T) {
	if len(v) == 0 {
		return
	}
	raw := flats[uint8](v)
	b := d.Raw(sizeOf[T](), len(raw))
	if b == nil {
		clear(v)
		return
	}
	copy(raw, b)
	if d.big != bigEndianHost() {
		swap(raw, sizeOf[T]())
	}
}

// DecodeSequence reads a sequence of at most bound numbers. If bound is 0, there is no limit. The result uses the
// memory of v if the capacity of v is enough.
func DecodeSequence[T Number](d *Decoder, v []T, bound int) []T {
	v = Resize(v, d.Length(sizeOf[T](), bound))
	DecodeArray(d, v)
	return v
}

// DecodeFlat reads the struct or array behind p, which must be flat in the sense of EncodeFlat.
func DecodeFlat[T Number, S any](d *Decoder, p *S) { DecodeArray(d, flat[T](p)) }

// DecodeFlats reads a sequence of flat structs as DecodeSequence reads numbers.
func DecodeFlats[T Number, S any](d *Decoder, v []S, bound int) []S {
	v = Resize(v, d.Length(sizeOf[S](), bound))
	DecodeArray(d, flats[T](v))
	return v
}
