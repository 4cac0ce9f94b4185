package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"tapedeck/msgs/rosidl"
)

// leaf is a column of the Parquet file.
type leaf struct {
	kind     rosidl.Kind
	typ      parquet.Type
	path     []string
	encoding encoding.Encoding
	binary   bool // a value is a byte array
	repeats  byte // greatest repetition level
	deepest  byte // definition level of values
	values        // of the waiting rows
	chunk    chunk

	// lengths of data and definitions before the row that is being written
	wasData, wasLevels int
}

// values are the values and levels of some rows. Levels say where lists begin and where values are missing.
type values struct {
	data        []byte // little-endian; a byte array follows its length, in 4 bytes
	repetitions []byte
	definitions []byte
}

// level adds the levels of n values, or with n = 1 of a row or list without a value. first is the repetition level of
// the first value.
func (l *leaf) level(n int, first, repetition, definition byte) {
	if l.deepest == 0 {
		return
	}
	at := len(l.definitions)
	l.definitions = slices.Grow(l.definitions, n)[:at+n]
	for i := at; i < len(l.definitions); i++ {
		l.definitions[i] = definition
	}
	if l.repeats > 0 {
		l.repetitions = slices.Grow(l.repetitions, n)[:at+n]
		for i := at; i < len(l.repetitions); i++ {
			l.repetitions[i] = repetition
		}
		l.repetitions[at] = first
	}
}

// add adds a value.
func (l *leaf) add(b []byte, repetition, definition byte) {
	if l.binary {
		l.data = binary.LittleEndian.AppendUint32(l.data, uint32(len(b)))
	}
	l.data = append(l.data, b...)
	l.level(1, repetition, repetition, definition)
}

// keep ends a row. If ok, it keeps the values added since the last call and returns their bytes; otherwise it drops the
// values.
func (l *leaf) keep(ok bool) int {
	if !ok {
		l.data, l.definitions = l.data[:l.wasData], l.definitions[:l.wasLevels]
		l.repetitions = l.repetitions[:min(len(l.repetitions), l.wasLevels)]
		return 0
	}
	bytes := len(l.data) - l.wasData + 2*(len(l.definitions)-l.wasLevels)
	l.wasData, l.wasLevels = len(l.data), len(l.definitions)
	return bytes
}

// chunk is the piece of a column in one row group.
type chunk struct {
	pages           [][]byte // nil once the chunk is written
	offset          int64    // in the file, once the chunk is written
	packed, size    int      // bytes of pages, compressed and uncompressed
	values, nulls   int      // values include nulls
	least, greatest parquet.Value
	unordered       bool // a value is NaN
}

// bound updates the bounds with the values of a page.
func (c *chunk) bound(t parquet.Type, p parquet.Page) {
	least, greatest, ok := p.Bounds()
	if ok && (c.values == c.nulls || t.Compare(least, c.least) < 0) {
		c.least = least
	}
	if ok && (c.values == c.nulls || t.Compare(greatest, c.greatest) > 0) {
		c.greatest = greatest
	}
	switch all := p.Data(); all.Kind() {
	case encoding.Float:
		c.unordered = c.unordered || slices.ContainsFunc(all.Float(), func(v float32) bool { return v != v })
	case encoding.Double:
		c.unordered = c.unordered || slices.ContainsFunc(all.Double(), func(v float64) bool { return v != v })
	}
}

// pager makes one page at a time, and keeps the memory for it.
type pager struct {
	zstd                         *zstd.Encoder
	body, plain, encoded, packed []byte
}

func newPager() pager {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(1<<17), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // the options are wrong
	}
	return pager{zstd: z}
}

// page adds a page to the chunk of l.
func (w *pager) page(l *leaf, v *values, rows int, codec format.CompressionCodec) (err error) {
	c := &l.chunk
	n, present := rows, rows // values including nulls, and without
	w.body = w.body[:0]
	if l.repeats > 0 {
		err = w.levels(v.repetitions, l.repeats)
	}
	if l.deepest > 0 {
		n, present = len(v.definitions), bytes.Count(v.definitions, []byte{l.deepest})
		err = errors.Join(err, w.levels(v.definitions, l.deepest))
	}
	if l.binary {
		w.body = append(w.body, v.data...)
	} else {
		w.plain = appendPlain(w.plain[:0], v.data, l.kind)
		all := l.typ.NewValues(w.plain, nil)
		c.bound(l.typ, l.typ.NewPage(0, present, all))
		var failed error
		w.encoded, failed = l.typ.Encode(w.encoded, all, l.encoding)
		err = errors.Join(err, failed)
		w.body = append(w.body, w.encoded...)
	}
	if err == nil && len(w.body) > math.MaxInt32 {
		err = fmt.Errorf("column %s: a page of %d bytes; Parquet allows %d", strings.Join(l.path, "."), len(w.body),
			math.MaxInt32)
	}
	if err != nil {
		return err
	}
	packed := w.body
	if codec == format.Zstd {
		w.packed = w.zstd.EncodeAll(w.body, w.packed[:0])
		packed = w.packed
	}
	head, err := thrift.Marshal(new(thrift.CompactProtocol), &format.PageHeader{Type: format.DataPage,
		UncompressedPageSize: int32(len(w.body)), CompressedPageSize: int32(len(packed)),
		CRC: int32(crc32.ChecksumIEEE(packed)), DataPageHeader: &format.DataPageHeader{NumValues: int32(n),
			Encoding: l.encoding.Encoding(), DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE}})
	c.pages = append(c.pages, head, slices.Clone(packed))
	c.packed += len(head) + len(packed)
	c.size += len(head) + len(w.body)
	c.values += n
	c.nulls += n - present
	return err
}

// levels appends levels to the body.
func (w *pager) levels(levels []byte, greatest byte) (err error) {
	w.encoded, err = (&rle.Encoding{BitWidth: bits.Len8(greatest)}).EncodeLevels(w.encoded, levels)
	w.body = append(binary.LittleEndian.AppendUint32(w.body, uint32(len(w.encoded))), w.encoded...)
	return err
}

// appendPlain appends values in the encoding PLAIN.
func appendPlain(b, data []byte, k rosidl.Kind) []byte {
	switch size := k.Size(); {
	case k == rosidl.Bool:
		for i, v := range data {
			if i%8 == 0 {
				b = append(b, 0)
			}
			if v != 0 {
				b[len(b)-1] |= 1 << (i % 8)
			}
		}
	case k == rosidl.Int8:
		for _, v := range data {
			b = binary.LittleEndian.AppendUint32(b, uint32(int8(v)))
		}
	case size == 1:
		for _, v := range data {
			b = append(b, v, 0, 0, 0)
		}
	case k == rosidl.Int16:
		for ; len(data) > 0; data = data[2:] {
			b = binary.LittleEndian.AppendUint32(b, uint32(int16(binary.LittleEndian.Uint16(data))))
		}
	case size == 2:
		for ; len(data) > 0; data = data[2:] {
			b = append(b, data[0], data[1], 0, 0)
		}
	default:
		return append(b, data...)
	}
	return b
}

const magic = "PAR1"

// parquetFile writes row groups, and then the metadata of the file.
type parquetFile struct {
	out      *file
	codec    format.CompressionCodec
	elements []format.SchemaElement
	orders   []format.ColumnOrder
	finished []group
}

// group is a row group in the file.
type group struct {
	rows   int
	chunks []chunk // of the leaves
}

// element adds an element to the schema. n is nil for a group of fields; children is nil for a column.
func (f *parquetFile) element(name string, n parquet.Node, r format.FieldRepetitionType, children *int32) {
	e := format.SchemaElement{Name: name, RepetitionType: &r, NumChildren: children}
	if n != nil {
		t := n.Type()
		e.Type, e.ConvertedType, e.LogicalType = t.PhysicalType(), t.ConvertedType(), t.LogicalType()
	}
	f.elements = append(f.elements, e)
}

// group writes the chunks of all leaves as a row group.
func (f *parquetFile) group(leaves []*leaf, rows int) error {
	if len(f.finished) == math.MaxInt16 {
		return fmt.Errorf("more than %d row groups: use larger ones with --chunk-size", math.MaxInt16)
	}
	g := group{rows, make([]chunk, len(leaves))}
	for i, l := range leaves {
		l.chunk.offset = f.out.info.Size
		for _, b := range l.chunk.pages {
			_, _ = f.out.Write(b) // out keeps the error
		}
		l.chunk.pages = nil
		g.chunks[i], l.chunk = l.chunk, chunk{}
	}
	f.finished = append(f.finished, g)
	return nil
}

// rowGroup returns the metadata of a row group, which take much more memory than group.
func (f *parquetFile) rowGroup(ordinal int, leaves []*leaf) format.RowGroup {
	done := f.finished[ordinal]
	g := format.RowGroup{NumRows: int64(done.rows), FileOffset: done.chunks[0].offset, Ordinal: int16(ordinal)}
	for i, l := range leaves {
		c := &done.chunks[i]
		m := format.ColumnMetaData{Type: *l.typ.PhysicalType(), PathInSchema: l.path, Codec: f.codec,
			Encoding:  []format.Encoding{l.encoding.Encoding(), format.RLE},
			NumValues: int64(c.values), TotalUncompressedSize: int64(c.size), TotalCompressedSize: int64(c.packed),
			DataPageOffset: c.offset, Statistics: format.Statistics{NullCount: int64(c.nulls)}}
		if c.values > c.nulls && !l.binary && !c.unordered {
			m.Statistics.MinValue, m.Statistics.MaxValue = c.least.Bytes(), c.greatest.Bytes()
		}
		g.Columns = append(g.Columns, format.ColumnChunk{MetaData: m})
		g.TotalByteSize += m.TotalUncompressedSize
		g.TotalCompressedSize += m.TotalCompressedSize
	}
	return g
}

// end writes the metadata of the file after the last row group.
func (f *parquetFile) end(leaves []*leaf, metadata map[string]string) error {
	m := format.FileMetaData{Version: 2, Schema: f.elements, ColumnOrders: f.orders,
		CreatedBy: "tapedeck version 1 (build 0)"}
	for i, g := range f.finished {
		m.RowGroups = append(m.RowGroups, f.rowGroup(i, leaves))
		m.NumRows += int64(g.rows)
	}
	f.finished = nil
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		m.KeyValueMetadata = append(m.KeyValueMetadata, format.KeyValue{Key: key, Value: metadata[key]})
	}
	b, err := thrift.Marshal(new(thrift.CompactProtocol), &m)
	_, _ = f.out.Write(append(binary.LittleEndian.AppendUint32(b, uint32(len(b))), magic...)) // out keeps the error
	return err
}
