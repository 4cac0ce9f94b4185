package table

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"tapedeck/codec"
	"tapedeck/codec/field"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/wire"
)

// A row group ends with these many rows or bytes.
const (
	groupRows  = 1 << 16
	groupBytes = 32 << 20
)

// parquetTable is a Parquet file. The rows of a row group wait in leaves, values one behind the other, as long as they
// are few: the pages of all tables would take much more.
type parquetTable struct {
	*table
	out    *parquet.GenericWriter[any]
	leaves []*leaf
	times  []*leaf
	read   []func(d *wire.Decoder, repetition, definition byte) // of columns
	count  int                                                  // rows that wait
	bytes  int
	most   int // bytes
}

// leaf is a column of values as Parquet has it. Lists have levels, which say where values are and where none.
type leaf struct {
	kind        rosidl.Kind
	binary      bool // one value is many bytes
	repeated    bool
	deepest     byte // definition level of values
	data        []byte
	ends        []int // in data, of texts and of bytes
	repetitions []byte
	definitions []byte

	// how much there was before the row that is being written
	wasData, wasEnds, wasLevels int
}

func newParquet(t *table, f *file) (rows, error) {
	p := &parquetTable{table: t, most: groupBytes}
	if t.create.ChunkSize > 0 {
		p.most = t.create.ChunkSize
	}
	root := &group{Group: parquet.Group{}}
	stamp := parquet.Encoded(parquet.TimestampAdjusted(parquet.Nanosecond, false), &parquet.DeltaBinaryPacked)
	for i, name := range t.times() {
		l := &leaf{kind: rosidl.Int64}
		node := stamp
		if i > 0 {
			node, l.deepest = parquet.Optional(stamp), 1
		}
		root.add(name, node)
		p.times, p.leaves = append(p.times, l), append(p.leaves, l)
	}
	for _, c := range t.columns {
		if c.Left {
			p.read = append(p.read, func(d *wire.Decoder, _, _ byte) { c.Over(d) })
			continue
		}
		node, read := p.node(c.Node, 0, 0)
		root.add(c.name, node)
		p.read = append(p.read, read)
	}
	fastest := &zstd.Codec{Level: zstd.SpeedFastest}
	codecs := map[string]compress.Codec{"": fastest, "zstd": fastest, "none": &parquet.Uncompressed}
	schema := parquet.NewSchema("message", root)
	options := []parquet.WriterOption{schema, parquet.Compression(codecs[t.create.Compression]),
		parquet.DataPageVersion(1), parquet.PageBufferSize(1 << 17), parquet.DictionaryMaxBytes(1 << 20),
		parquet.WriteBufferSize(0), parquet.DataPageStatistics(false), parquet.CreatedBy("tapedeck", "1", "0")}
	for i, path := range schema.Columns() {
		if p.leaves[i].binary { // the bounds of a page would be whole texts and images
			options = append(options, parquet.SkipPageBounds(path...))
		}
	}
	p.out = parquet.NewGenericWriter[any](f, options...)
	return p, nil
}

// group is a parquet.Group whose fields keep their order.
type group struct {
	parquet.Group
	fields []parquet.Field
}

func (g *group) add(name string, node parquet.Node) {
	g.Group[name] = node
	one := parquet.Group{name: node}
	g.fields = append(g.fields, one.Fields()[0])
}

// Fields implements parquet.Node.
func (g *group) Fields() []parquet.Field { return g.fields }

// node returns a field as Parquet has it below these levels, and what reads it to its leaves.
func (p *parquetTable) node(n *field.Node, repetition, definition byte) (parquet.Node,
	func(d *wire.Decoder, repetition, definition byte)) {
	if n.Shape == rosidl.Single {
		return p.one(n, repetition, definition)
	}
	if p.options.leavesNot(n) {
		l := p.leaf(&leaf{kind: n.Kind, binary: true, repeated: repetition > 0, deepest: definition})
		return parquet.Leaf(parquet.ByteArrayType), func(d *wire.Decoder, r, def byte) {
			l.add(d.Raw(1, n.Count(d)), r, def)
		}
	}
	level := repetition + 1
	first := len(p.leaves)
	element, read := p.one(n, level, definition+1)
	leaves := p.leaves[first:len(p.leaves):len(p.leaves)]
	return parquet.List(element), func(d *wire.Decoder, r, def byte) {
		count := n.Count(d)
		if count == 0 {
			for _, l := range leaves {
				l.level(r, def)
			}
		}
		if size := n.Kind.Size(); size > 0 && count > 0 && !d.BigEndian() && n.Kind != rosidl.Bool {
			leaves[0].addAll(d.Raw(size, size*count), count, r, level, def+1)
			return
		}
		for range count {
			if read(d, r, def+1); d.Err() != nil {
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

// one returns what a field that is no array holds, or an element of an array.
func (p *parquetTable) one(n *field.Node, repetition, definition byte) (parquet.Node,
	func(d *wire.Decoder, repetition, definition byte)) {
	if n.Kind == rosidl.Nested && len(n.Inner) > 0 {
		return p.message(n, repetition, definition)
	}
	l := p.leaf(&leaf{kind: n.Kind, repeated: repetition > 0, deepest: definition})
	text := n.Kind == rosidl.String || n.Kind == rosidl.WString
	l.binary = text
	switch size := n.Kind.Size(); {
	case n.Kind == rosidl.Nested: // a message without fields in a list: Parquet has no groups without fields
		l.kind = rosidl.Bool
		return parquet.Leaf(parquet.BooleanType), func(d *wire.Decoder, r, def byte) {
			n.Skip(d, 1)
			l.add([]byte{1}, r, def)
		}
	case n.Kind == rosidl.String:
		return stringNode(), func(d *wire.Decoder, r, def byte) { l.add(p.utf8(d.Chars(n.StringBound)), r, def) }
	case text:
		return stringNode(), func(d *wire.Decoder, r, def byte) { l.add([]byte(d.WString(n.StringBound)), r, def) }
	default:
		var b [8]byte
		return numberNode(n.Kind), func(d *wire.Decoder, r, def byte) {
			raw := d.Raw(size, size)
			if raw != nil && d.BigEndian() {
				copy(b[:], raw)
				slices.Reverse(b[:size])
				raw = b[:size]
			}
			l.add(raw, r, def)
		}
	}
}

// message returns a message in a list as a group.
func (p *parquetTable) message(n *field.Node, repetition, definition byte) (parquet.Node,
	func(d *wire.Decoder, repetition, definition byte)) {
	g := &group{Group: parquet.Group{}}
	names := unique{}
	var read []func(d *wire.Decoder, repetition, definition byte)
	for _, inner := range n.Inner {
		if inner.Left || inner.Kind == rosidl.Nested && inner.Shape == rosidl.Single && len(inner.Inner) == 0 {
			read = append(read, func(d *wire.Decoder, _, _ byte) { inner.Over(d) })
			continue
		}
		node, one := p.node(inner, repetition, definition)
		g.add(names.name(inner.Name), node)
		read = append(read, one)
	}
	if len(g.fields) == 0 { // all of them are left out
		l := p.leaf(&leaf{kind: rosidl.Bool, repeated: repetition > 0, deepest: definition})
		g.add("empty", parquet.Leaf(parquet.BooleanType))
		read = append(read, func(_ *wire.Decoder, r, def byte) { l.add([]byte{1}, r, def) })
	}
	return g, func(d *wire.Decoder, r, def byte) {
		for _, one := range read {
			one(d, r, def)
		}
	}
}

func (p *parquetTable) leaf(l *leaf) *leaf {
	p.leaves = append(p.leaves, l)
	return l
}

func stringNode() parquet.Node { return parquet.Encoded(parquet.String(), &parquet.RLEDictionary) }

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

// level adds a row or list without a value.
func (l *leaf) level(repetition, definition byte) {
	l.definitions = append(l.definitions, definition)
	if l.repeated {
		l.repetitions = append(l.repetitions, repetition)
	}
}

// add adds a value, little-endian.
func (l *leaf) add(b []byte, repetition, definition byte) {
	l.data = append(l.data, b...)
	if l.binary {
		l.ends = append(l.ends, len(l.data))
	}
	if l.deepest > 0 {
		l.level(repetition, definition)
	}
}

// addAll adds the values of a list. The first has the level of what it is in.
func (l *leaf) addAll(b []byte, n int, first, repetition, definition byte) {
	l.data = append(l.data, b...)
	l.level(first, definition)
	for range n - 1 {
		l.level(repetition, definition)
	}
}

// keep keeps what was added since the last call, or drops it, and returns its bytes.
func (l *leaf) keep(ok bool) int {
	if !ok {
		l.data, l.ends, l.definitions = l.data[:l.wasData], l.ends[:l.wasEnds], l.definitions[:l.wasLevels]
		l.repetitions = l.repetitions[:min(len(l.repetitions), l.wasLevels)]
		return 0
	}
	bytes := len(l.data) - l.wasData + 8*(len(l.ends)-l.wasEnds) + 2*(len(l.definitions)-l.wasLevels)
	l.wasData, l.wasEnds, l.wasLevels = len(l.data), len(l.ends), len(l.definitions)
	return bytes
}

func (p *parquetTable) size() int { return p.bytes }

func (p *parquetTable) write(m *codec.Message) error {
	times, has, err := p.timesOf(m)
	if err != nil {
		return err
	}
	for i, l := range p.times {
		if has[i] {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], uint64(times[i]))
			l.add(b[:], 0, 1)
		} else {
			l.level(0, 0)
		}
	}
	p.decoder.Reset(m.Data)
	for _, read := range p.read {
		read(&p.decoder, 0, 0)
	}
	err = p.done()
	for _, l := range p.leaves {
		p.bytes += l.keep(err == nil)
	}
	if err != nil {
		return err
	}
	if p.count++; p.count >= groupRows || p.bytes >= p.most {
		p.flush()
	}
	return nil
}

// groups writes one row group at a time, in a goroutine of its own.
type groups struct {
	running sync.WaitGroup
	of      *parquetTable // whose row group was the last one
	leaves  []leaf        // of that; its memory is for the next row group of the table
}

// flush begins to write the rows that wait as a row group.
func (p *parquetTable) flush() {
	if p.count == 0 {
		return
	}
	g := p.groups
	g.running.Wait()
	if g.of != p {
		g.of, g.leaves = p, make([]leaf, len(p.leaves))
	}
	full := p.count >= groupRows || p.bytes >= p.most // another row group is likely, and about as large
	for i, l := range p.leaves {
		spare := g.leaves[i]
		if full {
			spare.data = slices.Grow(spare.data[:0], len(l.data))
			spare.ends = slices.Grow(spare.ends[:0], len(l.ends))
			spare.repetitions = slices.Grow(spare.repetitions[:0], len(l.repetitions))
			spare.definitions = slices.Grow(spare.definitions[:0], len(l.definitions))
		}
		g.leaves[i] = *l
		*l = leaf{kind: l.kind, binary: l.binary, repeated: l.repeated, deepest: l.deepest, data: spare.data[:0],
			ends: spare.ends[:0], repetitions: spare.repetitions[:0], definitions: spare.definitions[:0]}
	}
	count := p.count
	p.count, p.bytes = 0, 0
	g.running.Go(func() { p.writeGroup(g.leaves, count) })
}

// writeGroup writes a row group, several columns at once.
func (p *parquetTable) writeGroup(leaves []leaf, count int) {
	g := p.out.BeginRowGroup()
	next := make(chan int)
	var running sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(leaves)) {
		running.Go(func() {
			values := make([]parquet.Value, 0, 2*batch)
			for i := range next {
				var err error
				values, err = leaves[i].writeTo(g.ColumnWriters()[i], i, count, values)
				p.file.fail(err)
			}
		})
	}
	for i := range leaves {
		next <- i
	}
	close(next)
	running.Wait()
	if _, err := g.Commit(); err != nil {
		p.file.fail(fmt.Errorf("write a row group: %w", err))
	}
}

// batch is how many values are handed to the library at once, at least: rows are not cut apart.
const batch = 1024

// writeTo writes the column of this index, which has as many rows. values is memory for those that are handed over, and
// is returned for the next use.
func (l *leaf) writeTo(w *parquet.ColumnWriter, index, rows int, values []parquet.Value) ([]parquet.Value, error) {
	n := rows
	if l.deepest > 0 {
		n = len(l.definitions)
	}
	start, at := 0, 0 // start of a text, and next in data or in ends
	size := l.kind.Size()
	for i := range n {
		var v parquet.Value
		var repetition int
		definition := int(l.deepest)
		if definition > 0 {
			definition = int(l.definitions[i])
		}
		if l.repeated {
			repetition = int(l.repetitions[i])
		}
		if repetition == 0 && len(values) >= batch {
			if _, err := w.WriteRowValues(values); err != nil {
				return values[:0], err
			}
			values = values[:0]
		}
		switch {
		case definition < int(l.deepest):
		case l.binary:
			v = parquet.ByteArrayValue(l.data[start:l.ends[at]])
			start, at = l.ends[at], at+1
		case l.kind == rosidl.Float64: // most numbers
			v = parquet.DoubleValue(math.Float64frombits(binary.LittleEndian.Uint64(l.data[at:])))
			at += size
		default:
			v = number(l.kind, l.data[at:])
			at += size
		}
		if l.deepest > 0 {
			v = v.Level(repetition, definition, index)
		}
		values = append(values, v)
	}
	_, err := w.WriteRowValues(values)
	return values[:0], err
}

// number returns the number that b begins with.
func number(k rosidl.Kind, b []byte) parquet.Value {
	switch k {
	case rosidl.Bool:
		return parquet.BooleanValue(b[0] != 0)
	case rosidl.Int8:
		return parquet.Int32Value(int32(int8(b[0])))
	case rosidl.Int16:
		return parquet.Int32Value(int32(int16(binary.LittleEndian.Uint16(b))))
	case rosidl.Uint16:
		return parquet.Int32Value(int32(binary.LittleEndian.Uint16(b)))
	case rosidl.Int32, rosidl.Uint32:
		return parquet.Int32Value(int32(binary.LittleEndian.Uint32(b)))
	case rosidl.Int64, rosidl.Uint64:
		return parquet.Int64Value(int64(binary.LittleEndian.Uint64(b)))
	case rosidl.Float32:
		return parquet.FloatValue(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case rosidl.Float64:
		return parquet.DoubleValue(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return parquet.Int32Value(int32(b[0]))
}

func (p *parquetTable) close() {
	p.flush()
	p.groups.running.Wait()
	for key, value := range p.metadata() {
		p.out.SetKeyValueMetadata(key, value)
	}
	p.file.fail(p.out.Close())
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
