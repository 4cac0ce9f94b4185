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

// A row group ends at groupRows rows or groupBytes bytes. Its waiting rows become pages when they have pageBytes bytes.
const (
	groupRows  = 1 << 16
	groupBytes = 32 << 20
	pageBytes  = 2 << 20
)

// parquetTable is a Parquet file. Values wait in leaves until there are enough for pages.
type parquetTable struct {
	*table
	leaves     []*leaf
	times      []*leaf
	readers    []reader // of the fields of a message
	previous   *numbers // the field that was added last, if it is a single number
	groupBytes int      // bytes at which a row group ends
	pageBytes  int      // bytes of waiting rows that become pages

	// rows and bytes of the row group, and rows and bytes of it that are in pages
	count, pagedCount int
	bytes, pagedBytes int
	packed            int // compressed bytes of the pages; valid only while groups does not run
	waiting           int // bytes that wait to be written; an upper bound until settle corrects it

	parquetFile
}

// reader reads a field to its leaves.
type reader func(d *wire.Decoder, repetition, definition byte)

func newParquet(t *table, f *file) (rows, error) {
	p := &parquetTable{table: t, groupBytes: groupBytes, pageBytes: pageBytes}
	if t.create.ChunkSize > 0 {
		p.groupBytes = t.create.ChunkSize
	}
	p.parquetFile = parquetFile{out: f, codec: format.Zstd}
	if t.create.Compression == "none" {
		p.codec = format.Uncompressed
	}
	columns := int32(len(t.times()))
	p.element("message", nil, format.Required, &columns)
	p.elements[0].RepetitionType = nil
	for i, name := range t.times() {
		l := p.leaf([]string{name}, rosidl.Int64, parquet.TimestampAdjusted(parquet.Nanosecond, false), 0, 0)
		l.encoding = &parquet.DeltaBinaryPacked
		if i > 0 {
			*p.elements[len(p.elements)-1].RepetitionType, l.deepest = format.Optional, 1
		}
		p.times = append(p.times, l)
	}
	for _, c := range t.columns {
		if c.Omitted {
			p.readers = p.addSkip(p.readers, c.Node)
			continue
		}
		columns++
		p.readers = p.add(p.readers, c.Node, []string{c.name}, 0, 0)
	}
	p.groups.tables = append(p.groups.tables, p)
	_, err := f.Write([]byte(magic))
	return p, err
}

// addSkip appends a reader that skips a field of a message.
func (p *parquetTable) addSkip(readers []reader, n *field.Node) []reader {
	p.previous = nil
	return append(readers, func(d *wire.Decoder, _, _ byte) { n.SkipAll(d) })
}

// add appends a reader of a field of a message. repetition and definition are the levels of the message.
func (p *parquetTable) add(readers []reader, n *field.Node, path []string, repetition, definition byte) []reader {
	previous, first := p.previous, len(p.leaves)
	p.previous = nil
	read := p.node(n, path, repetition, definition)
	p.previous = nil
	if size := n.Kind.Size(); size > 0 && n.Shape == rosidl.Single {
		if previous != nil && previous.size == size {
			previous.leaves = append(previous.leaves, p.leaves[first])
			p.previous = previous
			return readers
		}
		p.previous = &numbers{size, []*leaf{p.leaves[first]}}
		read = p.previous.read
	}
	return append(readers, read)
}

// numbers are consecutive single numbers of one size, between which payloads have no padding.
type numbers struct {
	size   int
	leaves []*leaf
}

func (n *numbers) read(d *wire.Decoder, repetition, definition byte) {
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

// node returns a reader of a field. repetition and definition are the levels of the message that holds the field.
func (p *parquetTable) node(n *field.Node, path []string, repetition, definition byte) reader {
	if n.Shape == rosidl.Single {
		return p.one(n, path, repetition, definition)
	}
	if p.options.keepsBytes(n) {
		l := p.leaf(path, n.Kind, parquet.Leaf(parquet.ByteArrayType), repetition, definition)
		return func(d *wire.Decoder, r, def byte) { l.add(d.Raw(1, n.Count(d)), r, def) }
	}
	level := repetition + 1
	first := len(p.leaves)
	one := int32(1)
	p.element(path[len(path)-1], parquet.List(parquet.String()), format.Required, &one)
	p.element("list", nil, format.Repeated, &one)
	read := p.one(n, append(path, "list", "element"), level, definition+1)
	leaves := p.leaves[first:len(p.leaves):len(p.leaves)]
	return func(d *wire.Decoder, r, def byte) {
		count := n.Count(d)
		if count == 0 {
			for _, l := range leaves {
				l.level(1, r, r, def)
			}
		}
		if size := n.Kind.Size(); size > 0 && count > 0 && !d.BigEndian() {
			leaves[0].data = append(leaves[0].data, d.Raw(size, size*count)...)
			leaves[0].level(count, r, level, def+1)
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

// one returns a reader of a field that is no array, or of an element of an array.
func (p *parquetTable) one(n *field.Node, path []string, repetition, definition byte) reader {
	if n.Kind == rosidl.Nested && len(n.Inner) > 0 {
		return p.message(n, path, repetition, definition)
	}
	column := func(k rosidl.Kind, t parquet.Node) *leaf { return p.leaf(path, k, t, repetition, definition) }
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
		return (&numbers{n.Kind.Size(), []*leaf{column(n.Kind, numberNode(n.Kind))}}).read
	}
}

// message returns a reader of a message in a list. The message is a group in the schema.
func (p *parquetTable) message(n *field.Node, path []string, repetition, definition byte) reader {
	fields := new(int32)
	p.element(path[len(path)-1], nil, format.Required, fields)
	names := unique{}
	var readers []reader
	for _, inner := range n.Inner {
		if inner.Omitted || inner.Kind == rosidl.Nested && inner.Shape == rosidl.Single && len(inner.Inner) == 0 {
			readers = p.addSkip(readers, inner)
			continue
		}
		*fields++
		readers = p.add(readers, inner, append(path, names.name(inner.Name)), repetition, definition)
	}
	if *fields == 0 { // all fields are omitted
		*fields = 1
		l := p.leaf(append(path, "empty"), rosidl.Bool, parquet.Leaf(parquet.BooleanType), repetition, definition)
		readers = append(readers, func(_ *wire.Decoder, r, def byte) { l.add([]byte{1}, r, def) })
	}
	return func(d *wire.Decoder, r, def byte) {
		for _, read := range readers {
			read(d, r, def)
		}
	}
}

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

// leaf adds a column of values to the schema.
func (p *parquetTable) leaf(path []string, k rosidl.Kind, n parquet.Node, repetition, definition byte) *leaf {
	p.element(path[len(path)-1], n, format.Required, nil)
	l := &leaf{kind: k, typ: n.Type(), path: slices.Clone(path), encoding: &parquet.Plain, repeats: repetition,
		deepest: definition, binary: n.Type().Kind() == parquet.ByteArray}
	p.leaves = append(p.leaves, l)
	p.orders = append(p.orders, *l.typ.ColumnOrder())
	return l
}

// wait sets the number of waiting bytes.
func (p *parquetTable) wait(bytes int) {
	p.groups.waiting += bytes - p.waiting
	p.waiting = bytes
}

// settle sets the number of waiting bytes to the bytes in memory. groups must not run.
func (p *parquetTable) settle() { p.wait(p.bytes - p.pagedBytes + p.packed) }

// shrink reduces the waiting bytes. It makes pages of the waiting rows, or ends the row group if that saves more. Small
// row groups make large files.
func (p *parquetTable) shrink() {
	if p.bytes-p.pagedBytes < p.packed {
		p.flush()
		return
	}
	p.wait(p.packed)
	p.page(false)
}

func (p *parquetTable) write(m *codec.Message) error {
	times, has, err := p.timesOf(m)
	if err != nil {
		return err
	}
	for i, l := range p.times {
		if has[i] {
			l.data = binary.LittleEndian.AppendUint64(l.data, uint64(times[i]))
			l.level(1, 0, 0, 1)
		} else {
			l.level(1, 0, 0, 0)
		}
	}
	p.decoder.Reset(m.Data)
	for _, read := range p.readers {
		read(&p.decoder, 0, 0)
	}
	err = p.done()
	bytes := 0
	for _, l := range p.leaves {
		bytes += l.keep(err == nil)
	}
	if err != nil {
		return err
	}
	p.bytes += bytes
	p.wait(p.waiting + bytes)
	p.count++
	if p.count >= groupRows || p.bytes >= p.groupBytes {
		p.flush()
	} else if p.bytes-p.pagedBytes >= p.pageBytes {
		p.page(false)
	}
	if p.groups.waiting > p.groups.maxWaiting {
		p.groups.shrink()
	}
	return nil
}

// maxWaiting is the most bytes of all tables that wait to be written.
const maxWaiting = 96 << 20

// groups makes the pages of one table at a time, in goroutines of its own.
type groups struct {
	tables     []*parquetTable
	waiting    int // waiting bytes of all tables
	maxWaiting int // bytes
	running    sync.WaitGroup
	table      *parquetTable // the table whose pages were made last
	values     []values      // rows of table; the next rows of the table reuse the memory
	pagers     []pager
}

// shrink reduces the waiting bytes to maxWaiting.
func (g *groups) shrink() {
	g.running.Wait()
	for _, t := range g.tables {
		t.settle()
	}
	for g.waiting > g.maxWaiting {
		slices.MaxFunc(g.tables, func(a, b *parquetTable) int { return cmp.Compare(a.waiting, b.waiting) }).shrink()
	}
}

// flush starts to write the waiting rows as a row group.
func (p *parquetTable) flush() {
	if p.count > 0 {
		p.page(true)
		p.count, p.bytes, p.pagedCount, p.pagedBytes = 0, 0, 0, 0
		p.wait(0)
	}
}

// page starts to make pages of the waiting rows. last is set if they complete the row group.
func (p *parquetTable) page(last bool) {
	g := p.groups
	g.running.Wait()
	if g.table != p {
		g.table, g.values = p, make([]values, len(p.leaves))
	}
	for i, l := range p.leaves {
		spare := &g.values[i]
		l.values, *spare = values{data: spare.data[:0], repetitions: spare.repetitions[:0],
			definitions: spare.definitions[:0]}, l.values
		l.wasData, l.wasLevels = 0, 0
	}
	rows, groupRows := p.count-p.pagedCount, p.count
	p.pagedCount, p.pagedBytes = p.count, p.bytes
	g.running.Go(func() {
		next := make(chan int)
		var running sync.WaitGroup
		for len(g.pagers) < runtime.GOMAXPROCS(0) {
			g.pagers = append(g.pagers, newPager())
		}
		for i := range min(len(g.pagers), len(p.leaves)) {
			running.Go(func() {
				for leaf := range next {
					p.out.fail(g.pagers[i].page(p.leaves[leaf], &g.values[leaf], rows, p.codec))
				}
			})
		}
		for i := range p.leaves {
			next <- i
		}
		close(next)
		running.Wait()
		if last {
			p.out.fail(p.group(p.leaves, groupRows))
		}
		p.packed = 0
		for _, l := range p.leaves {
			p.packed += l.chunk.packed
		}
	})
}

func (p *parquetTable) close() {
	p.flush()
	p.groups.running.Wait()
	p.out.fail(p.end(p.leaves, p.metadata()))
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
