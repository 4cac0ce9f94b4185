// Package sqlite writes database files of SQLite from front to back, and reads them: tables and indexes by their trees,
// and of a damaged database every intact page. It handles pages and records, https://sqlite.org/fileformat2.html, not
// SQL. A database is written as one stream, like any other file.
package sqlite

import (
	"encoding/binary"
	"math/bits"
)

// PageSize is the size of the pages that are written, SQLite's default.
const PageSize = 4096

// MaxBlob is the size of the largest value that SQLite takes as it is usually built.
const MaxBlob = 1_000_000_000 - 64

// Magic begins each database.
const Magic = "SQLite format 3\x00"

const (
	fileHead     = 100 // bytes in front of what is on the first page
	leafHead     = 8   // of a page without children
	interiorHead = 12  // of one with children
	pointer      = 4   // a page's number

	// lockByte is where SQLite locks files. Nothing is on its page.
	lockByte = 1 << 30
)

// Types of pages.
const (
	indexInterior = 2
	tableInterior = 5
	indexLeaf     = 10
	tableLeaf     = 13
)

// Types of values in a record. Blobs of n bytes are 12 + 2n, texts 13 + 2n.
const (
	typeNull  = 0
	typeInt8  = 1
	typeInt16 = 2
	typeInt32 = 4
	typeInt64 = 6
)

// local returns how many bytes of a record of size bytes are in the leaf of a table. The others are on pages of their
// own.
func local(size, pageSize int64) int64 {
	most := pageSize - 35
	if size <= most {
		return size
	}
	least := (pageSize-12)*32/255 - 23
	if n := least + (size-least)%(pageSize-pointer); n <= most {
		return n
	}
	return least
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

// varint reads such a number and says how many bytes it has; 0 when b ends in it.
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
