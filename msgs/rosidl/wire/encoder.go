package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unicode/utf16"
)

// Encoder appends a little-endian payload to a slice. Methods return no errors: Err returns the first error. Errors
// are about values that CDR or the definition does not allow, such as a sequence beyond its bound.
type Encoder struct {
	buf  []byte
	base int // index in buf from which alignment counts
	err  error
}

// NewEncoder returns an Encoder that appends a payload to dst, beginning with the encapsulation header.
func NewEncoder(dst []byte) *Encoder {
	e := new(Encoder)
	e.Reset(dst)
	return e
}

// Reset makes e append a new payload to dst, beginning with the encapsulation header.
func (e *Encoder) Reset(dst []byte) {
	e.buf, e.base, e.err = dst, len(dst)+HeaderSize, nil
	e.buf = append(e.buf, 0, 1, 0, 0)
}

// Continue makes e append to payload, which is the beginning of a little-endian payload with the encapsulation header.
func (e *Encoder) Continue(payload []byte) {
	e.buf, e.base, e.err = payload, HeaderSize, nil
}

// Bytes returns the slice that was given to e, with the appended payload.
func (e *Encoder) Bytes() []byte { return e.buf }

// Err returns the first error.
func (e *Encoder) Err() error { return e.err }

func (e *Encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
}

// space appends n bytes, the first of which is aligned to size, and returns these bytes.
func (e *Encoder) space(size, n int) []byte {
	i := len(e.buf)
	pad := (e.base - i) & (size - 1)
	e.buf = slices.Grow(e.buf, pad+n)[:i+pad+n]
	clear(e.buf[i : i+pad])
	return e.buf[i+pad:]
}

// Raw appends bytes unchanged. The first byte is aligned to size, a power of two.
func (e *Encoder) Raw(size int, b []byte) { copy(e.space(size, len(b)), b) }

// Bool appends a bool.
func (e *Encoder) Bool(v bool) {
	var b byte
	if v {
		b = 1
	}
	e.buf = append(e.buf, b)
}

// Uint8 appends a uint8, byte or char.
func (e *Encoder) Uint8(v uint8) { e.buf = append(e.buf, v) }

// Int8 appends an int8.
func (e *Encoder) Int8(v int8) { e.buf = append(e.buf, byte(v)) }

// Uint16 appends a uint16.
func (e *Encoder) Uint16(v uint16) { binary.LittleEndian.PutUint16(e.space(2, 2), v) }

// Int16 appends an int16.
func (e *Encoder) Int16(v int16) { e.Uint16(uint16(v)) }

// Uint32 appends a uint32.
func (e *Encoder) Uint32(v uint32) { binary.LittleEndian.PutUint32(e.space(4, 4), v) }

// Int32 appends an int32.
func (e *Encoder) Int32(v int32) { e.Uint32(uint32(v)) }

// Uint64 appends a uint64.
func (e *Encoder) Uint64(v uint64) { binary.LittleEndian.PutUint64(e.space(8, 8), v) }

// Int64 appends an int64.
func (e *Encoder) Int64(v int64) { e.Uint64(uint64(v)) }

// Float32 appends a float32.
func (e *Encoder) Float32(v float32) { e.Uint32(math.Float32bits(v)) }

// Float64 appends a float64.
func (e *Encoder) Float64(v float64) { e.Uint64(math.Float64bits(v)) }

// Length appends the number of elements of a sequence of at most bound elements, or any number if bound is 0.
func (e *Encoder) Length(n, bound int) {
	if bound > 0 && n > bound {
		e.fail("sequence length %d exceeds the bound %d", n, bound)
	} else if uint64(n) > math.MaxUint32 {
		e.fail("sequence of %d elements, but CDR allows at most %d", n, uint32(math.MaxUint32))
	}
	e.Uint32(uint32(n))
}

// String appends a string of at most bound bytes, or of any length if bound is 0.
func (e *Encoder) String(s string, bound int) {
	if bound > 0 && len(s) > bound {
		e.fail("string length %d exceeds the bound %d", len(s), bound)
	}
	e.Length(len(s)+1, 0)
	e.buf = append(append(e.buf, s...), 0)
}

// WString appends a wstring of at most bound UTF-16 code units, or of any length if bound is 0.
func (e *Encoder) WString(s string, bound int) {
	units := utf16.Encode([]rune(s))
	if bound > 0 && len(units) > bound {
		e.fail("wstring length %d exceeds the bound %d", len(units), bound)
	}
	e.Length(len(units), 0)
	for _, u := range units {
		e.Uint32(uint32(u))
	}
}

// Bools appends the elements of an array of bools.
func (e *Encoder) Bools(v []bool) {
	for _, b := range v {
		e.Bool(b)
	}
}

// EncodeArray appends the elements of an array of numbers.
func EncodeArray[T Number](e *Encoder, v []T) {
	if len(v) == 0 {
		return
	}
	raw := flats[uint8](v)
	b := e.space(sizeOf[T](), len(raw))
	copy(b, raw)
	if bigEndianHost() {
		swap(b, sizeOf[T]())
	}
}

// EncodeSequence appends a sequence of at most bound numbers. If bound is 0, there is no limit.
func EncodeSequence[T Number](e *Encoder, v []T, bound int) {
	e.Length(len(v), bound)
	EncodeArray(e, v)
}

// EncodeFlat appends the struct or array behind p, which must be flat: it consists of numbers of T's size only, at any
// depth. Memory and CDR of such a value differ at most in byte order. EncodeFlat is meant for generated code.
func EncodeFlat[T Number, S any](e *Encoder, p *S) { EncodeArray(e, flat[T](p)) }

// EncodeFlats appends a sequence of at most bound flat structs. If bound is 0, there is no limit.
func EncodeFlats[T Number, S any](e *Encoder, v []S, bound int) {
	e.Length(len(v), bound)
	EncodeArray(e, flats[T](v))
}
