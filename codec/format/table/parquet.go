package table

import (
	"cmp"
	"encoding/binary"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"tapedeck/codec"
	"tapedeck/codec/encoding/field"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// A row group ends at groupRows rows or groupBytes bytes. Waiting rows become pages when they have pageBytes bytes.
const (
	groupRows  = 1 << 16
	groupBytes = 32 << 20
	pageBytes  = 2 << 20
)

// parquetTable implements rowWriter for Parquet files. Values wait in leaves until there are enough for pages.
type parquetTable struct {
	*table
	parquetFile
	leaves     []*leaf
	times      []*leaf       // leaves of the columns of times
	readers    []fieldReader // readers of the fields of a message, in order
	previous   *numberRun    // run of the field that was added last; nil if it is not a single number
	groupBytes int           // bytes at which a row group ends
	pageBytes  int           // bytes at which waiting rows become pages

	// The open row group:
	numRows    int // rows
	pagedRows  int // rows in pages
	size       int // bytes of rows, uncompressed
	pagedSize  int // bytes of rows in pages, uncompressed
	compressed int // compressed bytes of pages; valid only while the compressor does not run
	waiting    int // bytes in memory; an upper bound until updateWaiting corrects it
}

// fieldReader reads a field of a message to its leaves. repetition and definition are Parquet's levels of the message.
type fieldReader func(d *wire.Decoder, repetition, definition byte)

// newParquet returns the rowWriter of a Parquet file, and writes the beginning of the file.
func newParquet(t *table, f *file) (rowWriter, error) {
	p := &parquetTable{table: t, groupBytes: groupBytes, pageBytes: pageBytes}
	if t.create.ChunkSize > 0 {
		p.groupBytes = t.create.ChunkSize
	}
	p.parquetFile = parquetFile{out: f, codec: format.Zstd}
	if t.create.Compression == "none" {
		p.codec = format.Uncompressed
	}
	columns := int32(len(t.timeColumns()))
	p.addSchemaElement("message", nil, format.Required, &columns)
	p.elements[0].RepetitionType = nil
	for i, name := range t.timeColumns() {
		l := p.addLeaf([]string{name}, rosidl.Int64, parquet.TimestampAdjusted(parquet.Nanosecond, false), 0, 0)
		l.encoding = &parquet.DeltaBinaryPacked
		if i > 0 {
			*p.elements[len(p.elements)-1].RepetitionType, l.maxDefinition = format.Optional, 1
		}
		p.times = append(p.times, l)
	}
	for _, c := range t.columns {
		if c.Omitted {
			p.readers = p.addSkip(p.readers, c.Node)
			continue
		}
		columns++
		p.readers = p.addReader(p.readers, c.Node, []string{c.name}, 0, 0)
	}
	p.compressor.tables = append(p.compressor.tables, p)
	_, err := f.Write([]byte(magic))
	return p, err
}

// addSkip appends a reader that skips a field of a message.
func (p *parquetTable) addSkip(readers []fieldReader, n *field.Node) []fieldReader {
	p.previous = nil
	return append(readers, func(d *wire.Decoder, _, _ byte) { n.SkipAll(d) })
}

// addReader adds a field of a message to the schema, and appends the field's reader. It joins consecutive numbers of
// one size to a numberRun. repetition and definition are the levels of the message.
func (p *parquetTable) addReader(readers []fieldReader, n *field.Node, path []string,
	repetition, definition byte) []fieldReader {
	previous, first := p.previous, len(p.leaves)
	p.previous = nil
	read := p.addField(n, path, repetition, definition)
	p.previous = nil
	if size := n.Kind.Size(); size > 0 && n.Shape == rosidl.Single {
		if previous != nil && previous.size == size {
			previous.leaves = append(previous.leaves, p.leaves[first])
			p.previous = previous
			return readers
		}
		p.previous = &numberRun{size, []*leaf{p.leaves[first]}}
		read = p.previous.read
	}
	return append(readers, read)
}

// numberRun reads consecutive fields with single numbers of one size. Payloads have no padding between such numbers.
type numberRun struct {
	size   int
	leaves []*leaf
}

// read reads the numbers. repetition and definition are the levels of the numbers.
func (n *numberRun) read(d *wire.Decoder, repetition, definition byte) {
	raw := d.Raw(n.size, n.size*len(n.leaves))
	if raw != nil && d.BigEndian() {
		raw = slices.Clone(raw)
		for b := range slices.Chunk(raw, n.size) {
			slices.Reverse(b)
		}
	}
	for i := 0; i < len(raw); i += n.size {
		n.leaves[i/n.size].add(raw[i:i+n.size], repetition, definition)
	}
}

// addField adds a field to the schema and returns its reader. repetition and definition are the levels of the field's
// message.
func (p *parquetTable) addField(n *field.Node, path []string, repetition, definition byte) fieldReader {
	if n.Shape == rosidl.Single {
		return p.addSingle(n, path, repetition, definition)
	}
	if p.options.keepsBytes(n) {
		l := p.addLeaf(path, n.Kind, parquet.Leaf(parquet.ByteArrayType), repetition, definition)
		return func(d *wire.Decoder, r, def byte) { l.add(d.Raw(1, n.Count(d)), r, def) }
	}
	level := repetition + 1 // repetition level of the array's elements
	first := len(p.leaves)
	one := int32(1) // number of children of the two groups
	p.addSchemaElement(path[len(path)-1], parquet.List(parquet.String()), format.Required, &one)
	p.addSchemaElement("list", nil, format.Repeated, &one)
	read := p.addSingle(n, append(path, "list", "element"), level, definition+1)
	leaves := p.leaves[first:len(p.leaves):len(p.leaves)]
	return func(d *wire.Decoder, r, def byte) {
		count := n.Count(d)
		if count == 0 {
			for _, l := range leaves {
				l.addLevels(1, r, r, def)
			}
		}
		if size := n.Kind.Size(); size > 0 && count > 0 && !d.BigEndian() {
			leaves[0].data = append(leaves[0].data, d.Raw(size, size*count)...)
			leaves[0].addLevels(count, r, level, def+1)
			return
		}
		for range count {
			read(d, r, def+1)
			if d.Err() != nil {
				return
			}
			r = level
		}
	}
}

// keepsBytes reports whether a field is written as a byte array. The default options omit such a field.
func (o Options) keepsBytes(n *field.Node) bool {
	return n.Kind != rosidl.Int8 && Options{}.omits(n.FieldType)
}

// addSingle adds a field that is not an array, or an element of an array, to the schema and returns its reader.
func (p *parquetTable) addSingle(n *field.Node, path []string, repetition, definition byte) fieldReader {
	if n.Kind == rosidl.Nested && len(n.Inner) > 0 {
		return p.addMessage(n, path, repetition, definition)
	}
	column := func(k rosidl.Kind, t parquet.Node) *leaf { return p.addLeaf(path, k, t, repetition, definition) }
	switch n.Kind {
	case rosidl.Nested: // a message without fields in a list: Parquet has no groups without fields
		l := column(rosidl.Bool, parquet.Leaf(parquet.BooleanType))
		return func(d *wire.Decoder, r, def byte) {
			n.Skip(d, 1)
			l.add([]byte{1}, r, def)
		}
	case rosidl.String:
		l := column(n.Kind, parquet.String())
		return func(d *wire.Decoder, r, def byte) { l.add(p.json.UTF8(d.Chars(n.StringBound)), r, def) }
	case rosidl.WString:
		l := column(n.Kind, parquet.String())
		return func(d *wire.Decoder, r, def byte) { l.add([]byte(d.WString(n.StringBound)), r, def) }
	default:
		return (&numberRun{n.Kind.Size(), []*leaf{column(n.Kind, numberNode(n.Kind))}}).read
	}
}

// addMessage adds a message in a list to the schema, as a group, and returns the reader of the message.
func (p *parquetTable) addMessage(n *field.Node, path []string, repetition, definition byte) fieldReader {
	fields := new(int32)
	p.addSchemaElement(path[len(path)-1], nil, format.Required, fields)
	names := uniqueNames{}
	var readers []fieldReader
	for _, inner := range n.Inner {
		if inner.Omitted || inner.Kind == rosidl.Nested && inner.Shape == rosidl.Single && len(inner.Inner) == 0 {
			readers = p.addSkip(readers, inner)
			continue
		}
		*fields++
		readers = p.addReader(readers, inner, append(path, names.add(inner.Name)), repetition, definition)
	}
	if *fields == 0 { // all fields are omitted
		*fields = 1
		l := p.addLeaf(append(path, "empty"), rosidl.Bool, parquet.Leaf(parquet.BooleanType), repetition, definition)
		readers = append(readers, func(_ *wire.Decoder, r, def byte) { l.add([]byte{1}, r, def) })
	}
	return func(d *wire.Decoder, r, def byte) {
		for _, read := range readers {
			read(d, r, def)
		}
	}
}

// numberNode returns the Parquet type of a bool or number.
func numberNode(k rosidl.Kind) parquet.Node {
	switch k {
	case rosidl.Bool:
		return parquet.Leaf(parquet.BooleanType)
	case rosidl.Float32:
		return parquet.Leaf(parquet.FloatType)
	case rosidl.Float64:
		return parquet.Leaf(parquet.DoubleType)
	case rosidl.Int8, rosidl.Int16, rosidl.Int32, rosidl.Int64:
		return parquet.Int(8 * k.Size())
	}
	return parquet.Uint(8 * k.Size())
}

// addLeaf adds a column of values to the schema.
func (p *parquetTable) addLeaf(path []string, k rosidl.Kind, n parquet.Node, repetition, definition byte) *leaf {
	p.addSchemaElement(path[len(path)-1], n, format.Required, nil)
	l := &leaf{kind: k, typ: n.Type(), path: slices.Clone(path), encoding: &parquet.Plain, maxRepetition: repetition,
		maxDefinition: definition, binary: n.Type().Kind() == parquet.ByteArray}
	p.leaves = append(p.leaves, l)
	p.columnOrders = append(p.columnOrders, *l.typ.ColumnOrder())
	return l
}

// setWaiting sets the number of waiting bytes.
func (p *parquetTable) setWaiting(bytes int) {
	p.compressor.waiting += bytes - p.waiting
	p.waiting = bytes
}

// updateWaiting sets the number of waiting bytes to the bytes in memory. The compressor must not run.
func (p *parquetTable) updateWaiting() { p.setWaiting(p.size - p.pagedSize + p.compressed) }

// shrink reduces the waiting bytes. It compresses the waiting rows to pages, or writes the row group if that frees more
// memory. It prefers pages, because small row groups make a file large.
func (p *parquetTable) shrink() {
	if p.size-p.pagedSize < p.compressed {
		p.flush()
		return
	}
	p.setWaiting(p.compressed)
	p.makePages(false)
}

func (p *parquetTable) write(m *codec.Message) error {
	times, has, err := p.messageTimes(m)
	if err != nil {
		return err
	}
	for i, l := range p.times {
		if has[i] {
			l.data = binary.LittleEndian.AppendUint64(l.data, uint64(times[i]))
			l.addLevels(1, 0, 0, 1)
		} else {
			l.addLevels(1, 0, 0, 0)
		}
	}
	p.decoder.Reset(m.Data)
	for _, read := range p.readers {
		read(&p.decoder, 0, 0)
	}
	err = p.finishMessage()
	rowSize := 0
	for _, l := range p.leaves {
		rowSize += l.endRow(err == nil)
	}
	if err != nil {
		return err
	}
	p.size += rowSize
	p.setWaiting(p.waiting + rowSize)
	p.numRows++
	if p.numRows >= groupRows || p.size >= p.groupBytes {
		p.flush()
	} else if p.size-p.pagedSize >= p.pageBytes {
		p.makePages(false)
	}
	if p.compressor.waiting > p.compressor.maxWaiting {
		p.compressor.shrink()
	}
	return nil
}

// maxWaiting is the maximum number of waiting bytes of all tables.
const maxWaiting = 96 << 20

// compressor makes the pages of one table at a time, in goroutines. The writer's mutex guards it.
type compressor struct {
	tables      []*parquetTable
	waiting     int            // waiting bytes of all tables
	maxWaiting  int            // shrink reduces waiting to this number
	running     sync.WaitGroup // the goroutines; while they run, only they use the fields below
	table       *parquetTable  // the table whose pages were made last
	values      []values       // values of the leaves of table; the next rows of the table reuse the memory
	pageWriters []pageWriter
}

// shrink reduces the waiting bytes to maxWaiting.
func (c *compressor) shrink() {
	c.running.Wait()
	for _, t := range c.tables {
		t.updateWaiting()
	}
	for c.waiting > c.maxWaiting {
		slices.MaxFunc(c.tables, func(a, b *parquetTable) int { return cmp.Compare(a.waiting, b.waiting) }).shrink()
	}
}

// flush starts to write the waiting rows as a row group.
func (p *parquetTable) flush() {
	if p.numRows > 0 {
		p.makePages(true)
		p.numRows, p.size, p.pagedRows, p.pagedSize = 0, 0, 0, 0
		p.setWaiting(0)
	}
}

// makePages starts to make pages of the waiting rows. If last, it then writes the row group.
func (p *parquetTable) makePages(last bool) {
	c := p.compressor
	c.running.Wait()
	if c.table != p {
		c.table, c.values = p, make([]values, len(p.leaves))
	}
	for i, l := range p.leaves {
		reused := &c.values[i]
		l.values, *reused = values{data: reused.data[:0], repetitions: reused.repetitions[:0],
			definitions: reused.definitions[:0]}, l.values
		l.rowData, l.rowLevels = 0, 0
	}
	rows, groupRows := p.numRows-p.pagedRows, p.numRows
	p.pagedRows, p.pagedSize = p.numRows, p.size
	c.running.Go(func() {
		next := make(chan int)
		var workers sync.WaitGroup
		for len(c.pageWriters) < runtime.GOMAXPROCS(0) {
			c.pageWriters = append(c.pageWriters, newPageWriter())
		}
		for i := range min(len(c.pageWriters), len(p.leaves)) {
			workers.Go(func() {
				for leaf := range next {
					p.out.setError(c.pageWriters[i].addPage(p.leaves[leaf], &c.values[leaf], rows, p.codec))
				}
			})
		}
		for i := range p.leaves {
			next <- i
		}
		close(next)
		workers.Wait()
		if last {
			p.out.setError(p.endGroup(p.leaves, groupRows))
		}
		p.compressed = 0
		for _, l := range p.leaves {
			p.compressed += l.chunk.compressed
		}
	})
}

func (p *parquetTable) close() {
	p.flush()
	p.compressor.running.Wait()
	p.out.setError(p.writeFooter(p.leaves, p.metadata()))
}

// metadata returns the key-value metadata of the file.
func (p *parquetTable) metadata() map[string]string {
	all := map[string]string{}
	for key, value := range p.create.Metadata {
		all["recording."+key] = value
	}
	var qos []codec.QoS
	for _, c := range p.channels {
		for _, q := range c.QoS {
			if !slices.Contains(qos, q) {
				qos = append(qos, q)
			}
		}
		for key, value := range c.Metadata {
			all["topic."+key] = value
		}
	}
	all["topic"], all["type"] = p.channel.Topic, p.channel.Type
	all["definition"] = string(p.channel.Schema.Data)
	all["definition_encoding"] = p.channel.Schema.Encoding
	all["type_hash"] = p.channel.TypeHash
	all["offered_qos_profiles"] = strings.TrimSpace(codec.FormatQoSProfiles(qos))
	return all
}
