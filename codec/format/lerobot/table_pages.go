package lerobot

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Limits of tables in memory. Pages usually have about 1 MiB; run lengths may let a few bytes be any number of values.
const (
	maxDepth  = 32        // nesting of lists and structs
	maxHead   = 64 << 20  // bytes of the head of a page, which may have statistics with four whole values
	maxPage   = 256 << 20 // bytes of a page
	maxValues = 1 << 24   // values of a page
)

// maxColumn bounds the numbers or texts of a column in memory, in bytes.
var maxColumn = 512 << 20

// checkFooter returns an error if the footer of a file, or a list in the footer, claims an impossible size.
func checkFooter(file io.ReaderAt, size int64) error {
	var end [8]byte // ends with PAR1, which the Parquet library checks
	if _, err := file.ReadAt(end[:], max(0, size-int64(len(end)))); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if n > size-int64(len(end)) {
		return fmt.Errorf("a footer of %d bytes in a file of %d", n, size)
	}
	b := make([]byte, n)
	if _, err := file.ReadAt(b, size-int64(len(end))-n); err != nil {
		return err
	}
	if _, ok := skipStruct(b, 0); !ok {
		return errors.New("the footer is damaged")
	}
	return nil
}

// skipStruct returns the bytes after a struct of Thrift's compact protocol, and whether the lengths in the struct are
// possible. The Parquet library allocates memory for lists of any length.
func skipStruct(b []byte, depth int) ([]byte, bool) {
	for ok := true; ok && len(b) > 0 && depth < maxDepth; {
		head := b[0]
		b = b[1:]
		if head == 0 {
			return b, true
		}
		if head>>4 == 0 { // the number of the field follows
			_, b, ok = varint(b)
		}
		if kind := head & 15; ok && kind > 2 { // 1 and 2 are true and false
			b, ok = skipValue(b, kind, depth)
		}
	}
	return nil, false
}

// skipValue returns the bytes after a value of a kind of Thrift's compact protocol, and whether its lengths are
// possible.
func skipValue(b []byte, kind byte, depth int) (rest []byte, ok bool) {
	n := uint64(1)
	switch kind {
	case 1, 2, 3: // byte; bools of lists
	case 4, 5, 6:
		_, b, ok = varint(b)
		return b, ok
	case 7:
		n = 8
	case 8: // bytes
		n, b, ok = varint(b)
		if !ok {
			return nil, false
		}
	case 9, 10: // list, set
		if len(b) == 0 || depth >= maxDepth {
			return nil, false
		}
		kind, n = b[0]&15, uint64(b[0]>>4)
		b, ok = b[1:], true
		if n == 15 {
			n, b, ok = varint(b)
		}
		for ok = ok && n <= uint64(len(b)); ok && n > 0; n-- {
			b, ok = skipValue(b, kind, depth+1)
		}
		return b, ok
	case 12:
		return skipStruct(b, depth+1)
	default: // maps, which Parquet does not have
		return nil, false
	}
	if n > uint64(len(b)) {
		return nil, false
	}
	return b[n:], true
}

// varint returns the number at the start of b and the bytes after it.
func varint(b []byte) (v uint64, rest []byte, ok bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

// checkPages returns an error if the head of a page claims more than maxPage bytes or maxValues values. The Parquet
// library allocates whatever a page claims.
func checkPages(file io.ReaderAt, column *format.ColumnMetaData) error {
	begin := column.DataPageOffset
	if column.DictionaryPageOffset != 0 {
		begin = column.DictionaryPageOffset
	}
	r := bufio.NewReaderSize(io.NewSectionReader(file, begin, column.TotalCompressedSize), 64<<10)
	for page := 0; ; page++ {
		b, err := r.Peek(r.Size())
		if len(b) == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("page %d: %w", page, err)
		}
		rest, ok := skipStruct(b, 0)
		for !ok && err == nil && r.Size() < maxHead {
			r = bufio.NewReaderSize(r, 4*r.Size())
			b, err = r.Peek(r.Size())
			rest, ok = skipStruct(b, 0)
		}
		if !ok {
			return fmt.Errorf("page %d has a damaged head, or one of more than %d bytes", page, maxHead)
		}
		var head format.PageHeader
		if err := thrift.Unmarshal(new(thrift.CompactProtocol), b[:len(b)-len(rest)], &head); err != nil {
			return fmt.Errorf("page %d: %w", page, err)
		}
		if _, err := r.Discard(len(b) - len(rest)); err != nil {
			return fmt.Errorf("page %d: %w", page, err)
		}
		packed, size := int64(head.CompressedPageSize), int64(head.UncompressedPageSize)
		values, levels := int32(0), int64(0)
		switch {
		case head.DataPageHeader != nil:
			values = head.DataPageHeader.NumValues
		case head.DataPageHeaderV2 != nil:
			h := head.DataPageHeaderV2
			values = h.NumValues
			levels = int64(h.RepetitionLevelsByteLength) + int64(h.DefinitionLevelsByteLength)
		case head.DictionaryPageHeader != nil:
			values = head.DictionaryPageHeader.NumValues
		}
		if size < 0 || size > maxPage || packed < 0 || packed > maxPage || values < 0 || values > maxValues {
			return fmt.Errorf("page %d: %d bytes, %d uncompressed, and %d values, but this program reads at most "+
				"%d bytes and %d values: write the table with smaller pages", page, packed, size, values, maxPage,
				maxValues)
		}
		if levels < 0 || levels > packed || levels > size {
			return fmt.Errorf("page %d: %d bytes of levels in %d", page, levels, packed)
		}
		if _, err := r.Discard(int(packed)); err != nil {
			return fmt.Errorf("page %d: %w", page, err)
		}
	}
}
