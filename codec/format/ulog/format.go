package ulog

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec"
	"tapedeck/msgs/rosidl"
)

// Limits, so that a damaged log cannot use up memory or time.
const (
	maxStruct   = 1<<16 - 1 // greatest size of a message, in bytes
	maxDepth    = 16        // of formats in formats
	maxCopies   = 1 << 20   // copy ranges of all topics of a log; some 5000 are usual
	maxSchemas  = 64 << 20  // bytes of the definitions of all topics of a log
	maxFailures = 1000      // topics whose formats cannot be used; after them no other topic gets a layout
)

// basicTypes maps ULog's types to names in ROS 2 and sizes in bytes.
var basicTypes = map[string]struct {
	name string
	size int
}{
	"int8_t": {"int8", 1}, "uint8_t": {"uint8", 1}, "int16_t": {"int16", 2}, "uint16_t": {"uint16", 2},
	"int32_t": {"int32", 4}, "uint32_t": {"uint32", 4}, "int64_t": {"int64", 8}, "uint64_t": {"uint64", 8},
	"float": {"float32", 4}, "double": {"float64", 8}, "bool": {"bool", 1}, "char": {"char", 1},
}

// field is a field of a format.
type field struct {
	name  string
	kind  string // a basic type or the name of another format
	count int    // elements of an array; 0: no array
}

func (f *field) isPadding() bool { return strings.HasPrefix(f.name, "_padding") }

// isName reports whether s can be a name: it consists of letters, digits, underscores and the characters of more.
func isName(s, more string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"+more) == ""
}

// parseField parses "uint8_t[4] name".
func parseField(text string) (f field, err error) {
	kind, name, ok := strings.Cut(text, " ")
	if inner, array := strings.CutSuffix(kind, "]"); array {
		var count string
		kind, count, _ = strings.Cut(inner, "[")
		f.count, err = strconv.Atoi(count)
		if err != nil || f.count < 1 || f.count > maxStruct {
			return f, fmt.Errorf("%q is no field: want an array of 1 to %d elements", text, maxStruct)
		}
	}
	f.kind, f.name = kind, name
	if !ok || !isName(kind, "-/") || !isName(name, "") {
		return f, fmt.Errorf("%q is no field", text)
	}
	return f, nil
}

// parseFormat parses "name:type field;type field;".
func parseFormat(text string) (name string, fields []field, err error) {
	name, list, ok := strings.Cut(text, ":")
	if _, basic := basicTypes[name]; !ok || basic || !isName(name, "-/") {
		return "", nil, fmt.Errorf("%.60q is no format", text)
	}
	for text := range strings.SplitSeq(strings.TrimSuffix(list, ";"), ";") {
		f, err := parseField(text)
		if err != nil {
			return "", nil, fmt.Errorf("format %s: %w", name, err)
		}
		fields = append(fields, f)
	}
	return name, fields, nil
}

// node is a format with its nested formats.
type node struct {
	fields []placedField
	size   int // in bytes
}

// placedField is a field with its place in a message.
type placedField struct {
	field
	offset int   // in bytes
	size   int   // of an element, in bytes
	node   *node // nested format; nil for a basic type
}

// rosType returns the field's type in ROS 2. nested is the type of a field with a nested format.
func (f *placedField) rosType(nested string) string {
	name := nested
	if f.node == nil {
		name = basicTypes[f.kind].name
	}
	if f.count > 0 {
		name += "[" + strconv.Itoa(f.count) + "]"
	}
	return name
}

// formats are the fields of a log's formats, by name.
type formats map[string][]field

// node returns a format with its nested formats. depth is the number of formats around the format.
func (f formats) node(name string, depth int) (*node, error) {
	fields, ok := f[name]
	if !ok {
		return nil, fmt.Errorf("the log does not define the format %q", name)
	}
	if depth == maxDepth {
		return nil, fmt.Errorf("format %q is nested too deeply", name)
	}
	n := new(node)
	for _, member := range fields {
		p := placedField{field: member, offset: n.size, size: basicTypes[member.kind].size}
		if p.size == 0 {
			var err error
			p.node, err = f.node(member.kind, depth+1)
			if err != nil {
				return nil, err
			}
			p.size = p.node.size
		}
		n.size += p.size * max(1, p.count)
		if n.size > maxStruct {
			return nil, fmt.Errorf("format %q is larger than a message", name)
		}
		n.fields = append(n.fields, p)
	}
	return n, nil
}

// layout maps the bytes of a format's messages to the bytes of ROS 2 payloads.
type layout struct {
	typeName string // in ROS 2
	schema   string // definition in ROS 2, with nested types
	hash     string // type hash in ROS 2

	minSize, maxSize int // bytes of a message: padding at the end may be missing
	payloadSize      int // bytes of the payload, with its 4-byte header
	copies           []copyRange

	// Offsets of fields in a message; -1: no such field.
	timestamp int
	utc       int // a GPS receiver's UTC time in µs
	utcMoment int // moment of utc, in µs after timestamp
	fix       int // the receiver's kind of fix
}

const payloadHead = 4 // size of a CDR header, in bytes

// copyRange is a range of bytes to copy from a message to a payload.
type copyRange struct{ from, to, size int }

// layouter makes the layouts of the topics of a log.
type layouter struct {
	formats  formats
	layouts  map[string]*layout  // by topic
	failed   map[string]*failure // topics without a layout; a new definition of the format removes the topic
	failures int                 // attempts to make a layout that failed
	copies   int                 // copy ranges of all layouts
	schemas  int                 // bytes of the definitions of all layouts
}

// failure describes a topic without a layout.
type failure struct {
	at      int64 // position of the first announcement
	repeats int   // later announcements
}

// layout returns the layout of a topic. The topic's format has the topic's name. at is the position of the
// announcement. The error is errFailedBefore if the layout of the topic failed before.
func (l *layouter) layout(topic string, at int64) (*layout, error) {
	if existing := l.layouts[topic]; existing != nil {
		return existing, nil
	}
	if failed := l.failed[topic]; failed != nil {
		failed.repeats++
		return nil, errFailedBefore
	}
	err := errTooManyFailures
	if l.failures < maxFailures {
		var created *layout
		created, err = l.newLayout(topic)
		if err == nil {
			l.layouts[topic] = created
			return created, nil
		}
		l.failures++
	}
	l.failed[topic] = &failure{at: at}
	return nil, err
}

var (
	errFailedBefore    = errors.New("the topic failed before")
	errTooManyFailures = errors.New("too many topics have formats that cannot be used")
)

func (l *layouter) newLayout(topic string) (*layout, error) {
	root, err := l.formats.node(topic, 0)
	if err != nil {
		return nil, err
	}
	created := &layout{minSize: root.size, maxSize: root.size, timestamp: -1, utc: -1, utcMoment: -1, fix: -1}
	for i := len(root.fields) - 1; i >= 0 && root.fields[i].isPadding(); i-- {
		created.minSize = root.fields[i].offset
	}
	for _, f := range []struct {
		name, kind string
		offset     *int
	}{{"timestamp", "uint64_t", &created.timestamp}, {"time_utc_usec", "uint64_t", &created.utc},
		{"timestamp_time_relative", "int32_t", &created.utcMoment}, {"fix_type", "uint8_t", &created.fix}} {
		matches := func(p placedField) bool { return p.name == f.name && p.kind == f.kind && p.count == 0 }
		if i := slices.IndexFunc(root.fields, matches); i >= 0 {
			*f.offset = root.fields[i].offset
		}
	}
	c := compiler{layouter: l, layout: created, definitions: map[string]string{}, formatOf: map[string]string{}}
	created.payloadSize = payloadHead
	if err := c.compile(root, topic); err != nil {
		return nil, err
	}
	l.schemas += len(created.schema)
	if l.schemas > maxSchemas {
		return nil, errors.New("the definitions of all topics are too long")
	}
	return created, nil
}

// compiler fills one layout.
type compiler struct {
	*layouter
	layout      *layout
	nested      []string          // names of the nested types, in the order of the schema
	definitions map[string]string // definitions of the nested types, by name
	formatOf    map[string]string // names of formats, by the names of the types made of the formats
	err         error             // set by define
}

// compile fills c.layout except for the sizes and offsets in a message.
func (c *compiler) compile(root *node, topic string) error {
	pkg, name := "ulog", camelCase(topic)
	version := px4Version(root, cmp.Or(px4().topicTypes[topic], name))
	if version != nil {
		pkg, name = "px4_msgs", version.name
	}
	c.formatOf[name] = topic
	definition := c.define(root, version)
	if c.err != nil {
		return c.err
	}
	if err := c.copyFields(root, version, 0); err != nil {
		return err
	}
	c.layout.typeName = pkg + "/msg/" + name
	var b strings.Builder
	b.WriteString(definition)
	for _, nested := range c.nested {
		fmt.Fprintf(&b, "%s\nMSG: %s/%s\n%s", strings.Repeat("=", 80), pkg, nested, c.definitions[nested])
	}
	c.layout.schema = b.String()
	library, err := rosidl.ParseConcatenated(c.layout.typeName, c.layout.schema)
	if err != nil {
		return err
	}
	c.layout.hash, err = library.Hash(c.layout.typeName)
	return err
}

// nestedName returns the name of the nested type of f. Unless version is nil, field i of version names the type.
func nestedName(f *placedField, version *px4Type, i int) string {
	if version != nil {
		return version.fields[i].kind
	}
	return camelCase(f.kind)
}

// orderFields returns the fields of n without padding, in the order of version. If version is nil, the order is n's.
func orderFields(n *node, version *px4Type) []placedField {
	fields := slices.DeleteFunc(slices.Clone(n.fields), func(p placedField) bool { return p.isPadding() })
	if version != nil {
		at := func(p placedField) int {
			return slices.IndexFunc(version.fields, func(f field) bool { return f.name == p.name })
		}
		slices.SortFunc(fields, func(a, b placedField) int { return at(a) - at(b) })
	}
	return fields
}

// define returns the definition of a type. It adds the definitions of nested types to c.
func (c *compiler) define(n *node, version *px4Type) string {
	var b strings.Builder
	for i, f := range orderFields(n, version) {
		nested := ""
		if f.node != nil {
			nested = nestedName(&f, version, i)
			if other, ok := c.formatOf[nested]; ok && other != f.kind {
				c.err = fmt.Errorf("formats %q and %q would have the same name in ROS 2", other, f.kind)
			}
			c.formatOf[nested] = f.kind
			if _, ok := c.definitions[nested]; !ok {
				c.definitions[nested] = ""
				c.nested = append(c.nested, nested)
				c.definitions[nested] = c.define(f.node, px4Nested(f.node, version, nested))
			}
		}
		name := f.name
		if first := name[0]; first == '_' || '0' <= first && first <= '9' {
			name = "field" + name // ROS 2 allows no such name
		}
		fmt.Fprintf(&b, "%s %s\n", f.rosType(nested), name)
	}
	if b.Len() == 0 {
		b.WriteString("uint8 structure_needs_at_least_one_member\n")
	}
	return b.String()
}

// copyFields adds the copy ranges of a format's fields. offset is where the format begins in the message.
func (c *compiler) copyFields(n *node, version *px4Type, offset int) error {
	fields := orderFields(n, version)
	if len(fields) == 0 {
		c.layout.payloadSize++ // structure_needs_at_least_one_member
	}
	for i, f := range fields {
		if f.node == nil {
			if err := c.copyElements(offset+f.offset, f.size, max(1, f.count)); err != nil {
				return err
			}
			continue
		}
		nested := px4Nested(f.node, version, nestedName(&f, version, i))
		for k := range max(1, f.count) {
			if err := c.copyFields(f.node, nested, offset+f.offset+k*f.size); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyElements adds the copy range of n elements of size bytes. CDR aligns elements relative to the end of the header.
func (c *compiler) copyElements(from, size, n int) error {
	l := c.layout
	l.payloadSize += (size - (l.payloadSize-payloadHead)%size) % size
	to := l.payloadSize
	l.payloadSize += size * n
	if last := len(l.copies) - 1; last >= 0 {
		if r := &l.copies[last]; r.from+r.size == from && r.to+r.size == to {
			r.size += size * n
			return nil
		}
	}
	c.copies++
	if c.copies > maxCopies {
		return errors.New("the formats of all topics have too many fields")
	}
	l.copies = append(l.copies, copyRange{from, to, size * n})
	return nil
}

// convert appends the payload of a message with the given data to buf.
func (l *layout) convert(buf, data []byte) []byte {
	start := len(buf)
	buf = append(buf, make([]byte, l.payloadSize)...)
	payload := buf[start:]
	payload[1] = 1 // little-endian CDR
	for _, c := range l.copies {
		copy(payload[c.to:c.to+c.size], data[c.from:])
	}
	return buf
}

// time returns the timestamp of a message in µs; 0: no timestamp.
func (l *layout) time(data []byte) uint64 {
	if l.timestamp < 0 {
		return 0
	}
	return binary.LittleEndian.Uint64(data[l.timestamp:])
}

// channel returns the channel of a topic's instance.
func (l *layout) channel(topic string, instance uint8) *codec.Channel {
	name := namespace + strings.ReplaceAll(topic, "-", "_")
	if instance > 0 {
		name += "_" + strconv.Itoa(int(instance))
	}
	return &codec.Channel{Topic: name, Type: l.typeName, Encoding: codec.EncodingCDR, TypeHash: l.hash,
		Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(l.schema)}}
}
