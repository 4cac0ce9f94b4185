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
	kind          rosidl.Kind
	typ           parquet.Type
	path          []string // path in the schema
	encoding      encoding.Encoding
	binary        bool // a value is a byte array
	maxRepetition byte // greatest repetition level
	maxDefinition byte // definition level of values that are not missing
	values             // values of the waiting rows, and of the row that is being written
	chunk         chunk

	rowData   int // start in data of the row that is being written
	rowLevels int // start in definitions of the row that is being written
}

// values are the values and levels of some rows of a column. Repetition levels mark the beginnings of lists, definition
// levels mark missing values.
type values struct {
	data        []byte // little-endian; a byte array follows its length, in 4 bytes
	repetitions []byte
	definitions []byte
}

// addLevels adds the levels of n values. For a row or list without a value, n is 1. first is the repetition level of
// the first value.
func (l *leaf) addLevels(n int, first, repetition, definition byte) {
	if l.maxDefinition == 0 {
		return
	}
	at := len(l.definitions)
	l.definitions = slices.Grow(l.definitions, n)[:at+n]
	for i := at; i < len(l.definitions); i++ {
		l.definitions[i] = definition
	}
	if l.maxRepetition > 0 {
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
	l.addLevels(1, repetition, repetition, definition)
}

// endRow ends a row. If ok, it keeps the row and returns its size in bytes, including levels. Otherwise it removes
// the row.
func (l *leaf) endRow(ok bool) int {
	if !ok {
		l.data, l.definitions = l.data[:l.rowData], l.definitions[:l.rowLevels]
		l.repetitions = l.repetitions[:min(len(l.repetitions), l.rowLevels)]
		return 0
	}
	size := len(l.data) - l.rowData + 2*(len(l.definitions)-l.rowLevels)
	l.rowData, l.rowLevels = len(l.data), len(l.definitions)
	return size
}

// chunk is the data of a column in one row group.
type chunk struct {
	pages         [][]byte // headers and compressed data of pages; nil once the chunk is written
	offset        int64    // offset in the file; 0 until the chunk is written
	compressed    int      // bytes of pages
	size          int      // bytes of pages, uncompressed
	values, nulls int      // numbers of values; values includes nulls
	min, max      parquet.Value
	hasNaN        bool
}

// updateBounds updates min, max and hasNaN with the values of a page.
func (c *chunk) updateBounds(t parquet.Type, p parquet.Page) {
	pageMin, pageMax, ok := p.Bounds()
	if ok && (c.values == c.nulls || t.Compare(pageMin, c.min) < 0) {
		c.min = pageMin
	}
	if ok && (c.values == c.nulls || t.Compare(pageMax, c.max) > 0) {
		c.max = pageMax
	}
	switch all := p.Data(); all.Kind() {
	case encoding.Float:
		c.hasNaN = c.hasNaN || slices.ContainsFunc(all.Float(), func(v float32) bool { return v != v })
	case encoding.Double:
		c.hasNaN = c.hasNaN || slices.ContainsFunc(all.Double(), func(v float64) bool { return v != v })
	}
}

// pageWriter makes pages, one at a time, and reuses its buffers.
type pageWriter struct {
	zstd       *zstd.Encoder
	body       []byte // levels and values of the page
	plain      []byte // values in the encoding PLAIN
	encoded    []byte // values or levels in another encoding
	compressed []byte // body, compressed
}

func newPageWriter() pageWriter {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(1<<17), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // only invalid options are an error
	}
	return pageWriter{zstd: z}
}

// addPage adds a page with the values v to the chunk of l.
func (w *pageWriter) addPage(l *leaf, v *values, rows int, codec format.CompressionCodec) (err error) {
	c := &l.chunk
	n, present := rows, rows // numbers of values, with and without nulls
	w.body = w.body[:0]
	if l.maxRepetition > 0 {
		err = w.appendLevels(v.repetitions, l.maxRepetition)
	}
	if l.maxDefinition > 0 {
		n, present = len(v.definitions), bytes.Count(v.definitions, []byte{l.maxDefinition})
		err = errors.Join(err, w.appendLevels(v.definitions, l.maxDefinition))
	}
	if l.binary {
		w.body = append(w.body, v.data...)
	} else {
		w.plain = appendPlain(w.plain[:0], v.data, l.kind)
		values := l.typ.NewValues(w.plain, nil)
		c.updateBounds(l.typ, l.typ.NewPage(0, present, values))
		var encodeErr error
		w.encoded, encodeErr = l.typ.Encode(w.encoded, values, l.encoding)
		err = errors.Join(err, encodeErr)
		w.body = append(w.body, w.encoded...)
	}
	if err == nil && len(w.body) > math.MaxInt32 {
		err = fmt.Errorf("column %s: a page of %d bytes; Parquet allows %d", strings.Join(l.path, "."), len(w.body),
			math.MaxInt32)
	}
	if err != nil {
		return err
	}
	compressed := w.body
	if codec == format.Zstd {
		w.compressed = w.zstd.EncodeAll(w.body, w.compressed[:0])
		compressed = w.compressed
	}
	header, err := thrift.Marshal(new(thrift.CompactProtocol), &format.PageHeader{Type: format.DataPage,
		UncompressedPageSize: int32(len(w.body)), CompressedPageSize: int32(len(compressed)),
		CRC: int32(crc32.ChecksumIEEE(compressed)), DataPageHeader: &format.DataPageHeader{NumValues: int32(n),
			Encoding: l.encoding.Encoding(), DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE}})
	c.pages = append(c.pages, header, slices.Clone(compressed))
	c.compressed += len(header) + len(compressed)
	c.size += len(header) + len(w.body)
	c.values += n
	c.nulls += n - present
	return err
}

// appendLevels appends levels to the body. greatest is the greatest possible level.
func (w *pageWriter) appendLevels(levels []byte, greatest byte) (err error) {
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

// magic is the beginning and the end of a Parquet file.
const magic = "PAR1"

// parquetFile writes row groups, and then the metadata of the file.
type parquetFile struct {
	out          *file
	codec        format.CompressionCodec
	elements     []format.SchemaElement // schema
	columnOrders []format.ColumnOrder
	rowGroups    []rowGroup
}

// rowGroup is a written row group.
type rowGroup struct {
	rows   int
	chunks []chunk // chunks of the leaves, in order
}

// addSchemaElement adds an element to the schema. For a group of fields, n is nil and children is the number of fields.
// For a column, children is nil.
func (f *parquetFile) addSchemaElement(name string, n parquet.Node, r format.FieldRepetitionType, children *int32) {
	e := format.SchemaElement{Name: name, RepetitionType: &r, NumChildren: children}
	if n != nil {
		t := n.Type()
		e.Type, e.ConvertedType, e.LogicalType = t.PhysicalType(), t.ConvertedType(), t.LogicalType()
	}
	f.elements = append(f.elements, e)
}

// endGroup writes the chunks of all leaves as a row group.
func (f *parquetFile) endGroup(leaves []*leaf, rows int) error {
	if len(f.rowGroups) == math.MaxInt16 {
		return fmt.Errorf("more than %d row groups: use larger ones with --chunk-size", math.MaxInt16)
	}
	g := rowGroup{rows, make([]chunk, len(leaves))}
	for i, l := range leaves {
		l.chunk.offset = f.out.info.Size
		for _, b := range l.chunk.pages {
			_, _ = f.out.Write(b) // out keeps the error
		}
		l.chunk.pages = nil
		g.chunks[i], l.chunk = l.chunk, chunk{}
	}
	f.rowGroups = append(f.rowGroups, g)
	return nil
}

// rowGroupMetadata returns the metadata of a row group. The metadata takes much more memory than a rowGroup.
func (f *parquetFile) rowGroupMetadata(ordinal int, leaves []*leaf) format.RowGroup {
	written := f.rowGroups[ordinal]
	g := format.RowGroup{NumRows: int64(written.rows), FileOffset: written.chunks[0].offset, Ordinal: int16(ordinal)}
	for i, l := range leaves {
		c := &written.chunks[i]
		m := format.ColumnMetaData{Type: *l.typ.PhysicalType(), PathInSchema: l.path, Codec: f.codec,
			Encoding:  []format.Encoding{l.encoding.Encoding(), format.RLE},
			NumValues: int64(c.values), TotalUncompressedSize: int64(c.size), TotalCompressedSize: int64(c.compressed),
			DataPageOffset: c.offset, Statistics: format.Statistics{NullCount: int64(c.nulls)}}
		if c.values > c.nulls && !l.binary && !c.hasNaN {
			m.Statistics.MinValue, m.Statistics.MaxValue = c.min.Bytes(), c.max.Bytes()
		}
		g.Columns = append(g.Columns, format.ColumnChunk{MetaData: m})
		g.TotalByteSize += m.TotalUncompressedSize
		g.TotalCompressedSize += m.TotalCompressedSize
	}
	return g
}

// writeFooter writes the metadata of the file after the last row group.
func (f *parquetFile) writeFooter(leaves []*leaf, metadata map[string]string) error {
	m := format.FileMetaData{Version: 2, Schema: f.elements, ColumnOrders: f.columnOrders,
		CreatedBy: "tapedeck version 1 (build 0)"}
	for i, g := range f.rowGroups {
		m.RowGroups = append(m.RowGroups, f.rowGroupMetadata(i, leaves))
		m.NumRows += int64(g.rows)
	}
	f.rowGroups = nil
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		m.KeyValueMetadata = append(m.KeyValueMetadata, format.KeyValue{Key: key, Value: metadata[key]})
	}
	b, err := thrift.Marshal(new(thrift.CompactProtocol), &m)
	_, _ = f.out.Write(append(binary.LittleEndian.AppendUint32(b, uint32(len(b))), magic...)) // out keeps the error
	return err
}
