package carla

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"tapedeck/codec/text/plural"
)

// coder decodes or encodes the data of a packet, so that one method of a Body describes both directions. All numbers
// are little-endian. The coder keeps the first error, and does not change values after an error.
type coder struct {
	profile Profile // layout of the values

	encoding bool
	data     []byte // bytes not yet decoded, or bytes encoded so far
	err      error
}

// take returns the next n bytes, or nil after an error.
func (c *coder) take(n int) []byte {
	if c.err == nil && n > len(c.data) {
		c.err = errors.New("the data end within a field")
	}
	if c.err != nil {
		return nil
	}
	b := c.data[:n]
	c.data = c.data[n:]
	return b
}

func (c *coder) uint8(v *uint8) {
	if c.encoding {
		c.data = append(c.data, *v)
	} else if b := c.take(1); b != nil {
		*v = b[0]
	}
}

// bool codes one byte, 0 or 1. Any other byte decodes as true.
func (c *coder) bool(v *bool) {
	var b uint8
	if *v {
		b = 1
	}
	c.uint8(&b)
	*v = b != 0
}

func (c *coder) uint16(v *uint16) {
	if c.encoding {
		c.data = binary.LittleEndian.AppendUint16(c.data, *v)
	} else if b := c.take(2); b != nil {
		*v = binary.LittleEndian.Uint16(b)
	}
}

func (c *coder) uint32(v *uint32) {
	if c.encoding {
		c.data = binary.LittleEndian.AppendUint32(c.data, *v)
	} else if b := c.take(4); b != nil {
		*v = binary.LittleEndian.Uint32(b)
	}
}

func (c *coder) int32(v *int32) {
	u := uint32(*v)
	c.uint32(&u)
	*v = int32(u)
}

func (c *coder) uint64(v *uint64) {
	if c.encoding {
		c.data = binary.LittleEndian.AppendUint64(c.data, *v)
	} else if b := c.take(8); b != nil {
		*v = binary.LittleEndian.Uint64(b)
	}
}

// float32 codes values of four bytes each.
func (c *coder) float32(values ...*float32) {
	for _, v := range values {
		u := math.Float32bits(*v)
		c.uint32(&u)
		*v = math.Float32frombits(u)
	}
}

func (c *coder) float64(v *float64) {
	u := math.Float64bits(*v)
	c.uint64(&u)
	*v = math.Float64frombits(u)
}

// vector codes a vector, each component with 4 bytes or, in UE5, 8.
func (c *coder) vector(v *Vector) {
	if !c.profile.DoubleVectors {
		c.vector32(v)
	} else if c.encoding {
		c.float64(&v.X)
		c.float64(&v.Y)
		c.float64(&v.Z)
	} else if b := c.take(24); b != nil {
		v.X = math.Float64frombits(binary.LittleEndian.Uint64(b))
		v.Y = math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))
		v.Z = math.Float64frombits(binary.LittleEndian.Uint64(b[16:]))
	}
}

// vector32 codes a vector with 4 bytes for each component in any profile.
func (c *coder) vector32(v *Vector) {
	if c.encoding {
		x, y, z := float32(v.X), float32(v.Y), float32(v.Z)
		c.float32(&x, &y, &z)
	} else if b := c.take(12); b != nil {
		v.X = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		v.Y = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4:])))
		v.Z = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[8:])))
	}
}

// string codes a string with its length in 2 bytes. CARLA can't read strings of more than 32767 bytes.
func (c *coder) string(v *string) {
	if c.encoding {
		if len(*v) > math.MaxInt16 && c.err == nil {
			c.err = fmt.Errorf("a string has %d bytes; CARLA reads up to %d", len(*v), math.MaxInt16)
		}
		c.data = binary.LittleEndian.AppendUint16(c.data, uint16(len(*v)))
		c.data = append(c.data, *v...)
		return
	}
	n := uint16(0)
	c.uint16(&n)
	if b := c.take(int(n)); b != nil && *v != string(b) {
		*v = string(b)
	}
}

// padding codes n bytes without a meaning. They are written as zeros.
func (c *coder) padding(n int) {
	if c.encoding {
		c.data = append(c.data, make([]byte, n)...)
	} else {
		c.take(n)
	}
}

// count codes the length of a list, in 4 bytes if wide, else in 2. It encodes n and returns it, or returns the decoded
// length. Each element takes at least size bytes.
func (c *coder) count(n, size int, wide bool) int {
	v := uint32(n)
	if short := uint16(n); wide {
		c.uint32(&v)
	} else {
		c.uint16(&short)
		v = uint32(short)
	}
	switch {
	case c.encoding && int(v) != n && c.err == nil:
		c.err = fmt.Errorf("a list has %d elements; a packet holds up to %d", n, math.MaxUint16)
	case !c.encoding && c.err == nil && int64(v)*int64(size) > int64(len(c.data)):
		c.err = fmt.Errorf("a list of %s does not fit into %s", plural.Count(v, "element"),
			plural.Count(len(c.data), "byte"))
	}
	switch {
	case c.encoding:
		return n
	case c.err != nil:
		return 0
	}
	return int(v)
}

// record is an element of a list.
type record[T any] interface {
	*T
	code(*coder)
}

// List is the Body of a packet that lists records.
type List[T any, P packetRecord[T]] []T

// packetRecord is a record whose List is the content of a packet.
type packetRecord[T any] interface {
	record[T]
	// packet returns the id of the packet in a profile, 0 if there is none, and the least number of bytes of a record.
	packet(Profile) (id uint8, size int)
}

func (*List[T, P]) id(p Profile) (uint8, bool) {
	id, _ := P(nil).packet(p)
	return id, id != 0
}

func (l *List[T, P]) code(c *coder) {
	_, size := P(nil).packet(c.profile)
	codeList[T, P](c, (*[]T)(l), size)
}

// codeList codes a list with its length in 2 bytes. Decoding reuses elements.
func codeList[T any, P record[T]](c *coder, list *[]T, size int) {
	codeRecords[T, P](c, list, size, false)
}

// codeList32 codes a list with its length in 4 bytes. Decoding reuses elements.
func codeList32[T any, P record[T]](c *coder, list *[]T, size int) {
	codeRecords[T, P](c, list, size, true)
}

// codeRecords codes a list with its length in 4 bytes if wide, else in 2.
func codeRecords[T any, P record[T]](c *coder, list *[]T, size int, wide bool) {
	n := c.count(len(*list), size, wide)
	if n <= cap(*list) {
		*list = (*list)[:n]
	} else {
		*list = make([]T, n)
	}
	for i := range *list {
		P(&(*list)[i]).code(c)
	}
}
