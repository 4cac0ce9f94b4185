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

// A row group ends with groupRows rows or groupBytes bytes. Its rows become pages whenever pageBytes of them wait.
const (
	groupRows  = 1 << 16
	groupBytes = 32 << 20
	pageBytes  = 2 << 20
)

// parquetTable is a Parquet file. Rows wait in leaves, values one behind the other, until they are enough for pages.
type parquetTable struct {
	*table
	leaves []*leaf
	times  []*leaf
	read   []reader // of columns
	before *numbers // the field that was added last, if it is one of them
	most   int      // bytes of a row group
	least  int      // bytes that become pages

	// rows and bytes of the row group, and how many of them are in pages
	count, pagedCount int
	bytes, pagedBytes int
	packed            int // bytes of these pages; to be read only while groups does not run
	waiting           int // bytes that wait to be written, or more: settle makes it what they are in memory

	parquetFile
}

// reader reads a field to its leaves.
type reader func(d *wire.Decoder, repetition, definition byte)

func newParquet(t *table, f *file) (rows, error) {
	p := &parquetTable{table: t, most: groupBytes, least: pageBytes}
	if t.create.ChunkSize > 0 {
		p.most = t.create.ChunkSize
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
			p.read = p.over(p.read, c.Node)
			continue
		}
		columns++
		p.read = p.add(p.read, c.Node, []string{c.name}, 0, 0)
	}
	p.groups.tables = append(p.groups.tables, p)
	_, err := f.Write([]byte(magic))
	return p, err
}

// over appends to all what reads over a field of a message.
func (p *parquetTable) over(all []reader, n *field.Node) []reader {
	p.before = nil
	return append(all, func(d *wire.Decoder, _, _ byte) { n.SkipAll(d) })
}

// add appends to all what reads a field of a message to leaves below these levels.
func (p *parquetTable) add(all []reader, n *field.Node, path []string, repetition, definition byte) []reader {
	before, first := p.before, len(p.leaves)
	p.before = nil
	read := p.node(n, path, repetition, definition)
	p.before = nil
	if size := n.Kind.Size(); size > 0 && n.Shape == rosidl.Single {
		p.before = before
		if before != nil && before.size == size {
			before.leaves = append(before.leaves, p.leaves[first])
			return all
		}
		p.before = &numbers{size, []*leaf{p.leaves[first]}}
		read = p.before.read
	}
	return append(all, read)
}

// numbers are single numbers of one size, between which payloads have no padding.
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

// node returns what reads a field to leaves below these levels.
func (p *parquetTable) node(n *field.Node, path []string, repetition, definition byte) reader {
	if n.Shape == rosidl.Single {
		return p.one(n, path, repetition, definition)
	}
	if p.options.leavesNot(n) {
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

// leavesNot reports whether a field would be left out by default.
func (o Options) leavesNot(n *field.Node) bool {
	return n.Kind != rosidl.Int8 && Options{}.leaves(n.FieldType)
}

// one returns what reads a field that is no array, or an element of an array.
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

// message returns what reads a message in a list, which is a group.
func (p *parquetTable) message(n *field.Node, path []string, repetition, definition byte) reader {
	fields := new(int32)
	p.element(path[len(path)-1], nil, format.Required, fields)
	names := unique{}
	var read []reader
	for _, inner := range n.Inner {
		if inner.Omitted || inner.Kind == rosidl.Nested && inner.Shape == rosidl.Single && len(inner.Inner) == 0 {
			read = p.over(read, inner)
			continue
		}
		*fields++
		read = p.add(read, inner, append(path, names.name(inner.Name)), repetition, definition)
	}
	if *fields == 0 { // all of them are left out
		*fields = 1
		l := p.leaf(append(path, "empty"), rosidl.Bool, parquet.Leaf(parquet.BooleanType), repetition, definition)
		read = append(read, func(_ *wire.Decoder, r, def byte) { l.add([]byte{1}, r, def) })
	}
	return func(d *wire.Decoder, r, def byte) {
		for _, one := range read {
			one(d, r, def)
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

// wait changes how many bytes wait.
func (p *parquetTable) wait(bytes int) {
	p.groups.waiting += bytes - p.waiting
	p.waiting = bytes
}

func (p *parquetTable) settle() { p.wait(p.bytes - p.pagedBytes + p.packed) }

// shrink makes pages of rows while that saves more than to end the row group, as small groups make large files.
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
	for _, read := range p.read {
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
	if p.count >= groupRows || p.bytes >= p.most {
		p.flush()
	} else if p.bytes-p.pagedBytes >= p.least {
		p.page(false)
	}
	if p.groups.waiting > p.groups.most {
		p.groups.shrink()
	}
	return nil
}

// maxWaiting is how many bytes of all tables together wait to be written.
const maxWaiting = 96 << 20

// groups makes the pages of one table at a time, in goroutines of its own.
type groups struct {
	tables  []*parquetTable
	waiting int // bytes in all tables
	most    int // of them

	running sync.WaitGroup
	of      *parquetTable // whose rows were the last ones
	values  []values      // of these rows; their memory is for the next ones of the table
	pagers  []pager
}

// shrink makes fewer bytes wait.
func (g *groups) shrink() {
	g.running.Wait()
	for _, t := range g.tables {
		t.settle()
	}
	for g.waiting > g.most {
		slices.MaxFunc(g.tables, func(a, b *parquetTable) int { return cmp.Compare(a.waiting, b.waiting) }).shrink()
	}
}

// flush begins to write the rows that wait as a row group.
func (p *parquetTable) flush() {
	if p.count > 0 {
		p.page(true)
		p.count, p.bytes, p.pagedCount, p.pagedBytes = 0, 0, 0, 0
		p.wait(0)
	}
}

// page begins to make pages of the rows that wait, the last ones of a row group or not.
func (p *parquetTable) page(last bool) {
	g := p.groups
	g.running.Wait()
	if g.of != p {
		g.of, g.values = p, make([]values, len(p.leaves))
	}
	for i, l := range p.leaves {
		spare := &g.values[i]
		l.values, *spare = values{data: spare.data[:0], repetitions: spare.repetitions[:0],
			definitions: spare.definitions[:0]}, l.values
		l.wasData, l.wasLevels = 0, 0
	}
	rows, all := p.count-p.pagedCount, p.count
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
			p.out.fail(p.group(p.leaves, all))
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

// metadata returns what the file has beside rows.
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
