// Package wire writes and reads the primitives of CDR, the encoding of ROS 2 payloads: version 1 of the Common Data
// Representation of OMG's DDS-XTYPES ("plain CDR", XCDR1), as rmw_cyclonedds and rmw_fastrtps exchange it.
//
// A payload begins with a 4-byte encapsulation header: two bytes that name the representation, big-endian (0x0000) or
// little-endian (0x0001), and two bytes of options, which a reader ignores. Behind the header, each primitive is
// aligned to the size of the primitive, counted from the end of the header. A string is a uint32 length, which counts
// the terminating NUL, the bytes, and the NUL. A sequence is a uint32 count and the elements; an empty sequence has no
// padding for elements. A message without fields is one byte 0.
//
// A wstring is a uint32 count of UTF-16 code units and the units, without a terminator. Implementations differ in the
// size of a unit: rmw_cyclonedds and Fast CDR 1 write 4 bytes, Fast CDR 2 writes 2. Encoder writes 4. Decoder reads
// units of 4 bytes if that many bytes remain and the upper half of each unit is zero, else units of 2 bytes. It can
// mistake units of 2 bytes for units of 4 only in a wstring of one unit, or with NUL units, that other bytes follow.
package wire

import (
	"encoding/binary"
	"unsafe"
)

// HeaderSize is the size of the encapsulation header in bytes.
const HeaderSize = 4

// Number is a primitive whose memory and encoding differ at most in byte order.
type Number interface {
	int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64
}

func sizeOf[T any]() int { return int(unsafe.Sizeof(*new(T))) }

// flat returns the memory of *p as numbers. S is a number, or a struct or array of numbers, of T's size.
func flat[T Number, S any](p *S) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(p)), sizeOf[S]()/sizeOf[T]())
}

// flats returns the memory of the elements of v as numbers. S is a number, or a struct or array of numbers, of T's
// size.
func flats[T Number, S any](v []S) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*(sizeOf[S]()/sizeOf[T]()))
}

func bigEndianHost() bool { return binary.NativeEndian.Uint16([]byte{0, 1}) == 1 }

// swap reverses the byte order of the numbers in b, each of size bytes.
func swap(b []byte, size int) {
	switch size {
	case 2:
		for ; len(b) >= 2; b = b[2:] {
			binary.BigEndian.PutUint16(b, binary.LittleEndian.Uint16(b))
		}
	case 4:
		for ; len(b) >= 4; b = b[4:] {
			binary.BigEndian.PutUint32(b, binary.LittleEndian.Uint32(b))
		}
	case 8:
		for ; len(b) >= 8; b = b[8:] {
			binary.BigEndian.PutUint64(b, binary.LittleEndian.Uint64(b))
		}
	}
}
