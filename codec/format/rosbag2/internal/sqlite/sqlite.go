// Package sqlite writes database files of SQLite sequentially, from front to back. It reads tables and indexes by their
// trees, and every intact page of a damaged database. It handles pages and records,
// https://sqlite.org/fileformat2.html, not SQL.
package sqlite

import (
	"encoding/binary"
	"math/bits"
)

// PageSize is the size of the pages that are written, SQLite's default.
const PageSize = 4096

// MaxBlob is the size of the largest value that SQLite's usual builds accept.
const MaxBlob = 1_000_000_000 - 64

// Magic begins each database.
const Magic = "SQLite format 3\x00"

const (
	fileHead     = 100 // bytes before the first page's head
	leafHead     = 8   // bytes of the head of a page without children
	interiorHead = 12  // bytes of the head of a page with children
	pointer      = 4   // bytes of a page number

	// lockByte is the offset of SQLite's file locks. Its page is not used.
	lockByte = 1 << 30
)

// Types of pages.
const (
	indexInterior = 2
	tableInterior = 5
	indexLeaf     = 10
	tableLeaf     = 13
)

// Types of values in a record. The type of a blob of n bytes is 12 + 2n, the type of a text of n bytes 13 + 2n.
const (
	typeNull  = 0
	typeInt8  = 1
	typeInt16 = 2
	typeInt32 = 4
	typeInt64 = 6
)

// local returns the bytes of a record of size bytes that are in the leaf of a table. The other bytes are on overflow
// pages.
func local(size, pageSize int64) int64 {
	maxLocal := pageSize - 35
	if size <= maxLocal {
		return size
	}
	minLocal := (pageSize-12)*32/255 - 23
	if n := minLocal + (size-minLocal)%(pageSize-pointer); n <= maxLocal {
		return n
	}
	return minLocal
}

// appendVarint appends a number as SQLite writes it: seven bits a byte, the highest first, and eight in the ninth.
func appendVarint(b []byte, v uint64) []byte {
	if v >= 1<<56 {
		for shift := 57; shift >= 8; shift -= 7 {
			b = append(b, byte(v>>shift)|0x80)
		}
		return append(b, byte(v))
	}
	for shift := (bits.Len64(v|1) - 1) / 7 * 7; shift > 0; shift -= 7 {
		b = append(b, byte(v>>shift)|0x80)
	}
	return append(b, byte(v&0x7f))
}

// varint parses a number of appendVarint. n is the number's length in bytes, or 0 if b ends within the number.
func varint(b []byte) (v uint64, n int) {
	for i, c := range b {
		if i == 8 {
			return v<<8 | uint64(c), 9
		}
		v = v<<7 | uint64(c&0x7f)
		if c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

func put16(b []byte, v int) { binary.BigEndian.PutUint16(b, uint16(v)) }
func get16(b []byte) int    { return int(binary.BigEndian.Uint16(b)) }
