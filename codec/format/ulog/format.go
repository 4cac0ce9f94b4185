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

const (
	maxStruct  = 1<<16 - 1 // greatest size of a message, in bytes
	maxDepth   = 16        // of formats in formats
	maxCopies  = 1 << 20   // of all topics of a log; some 5000 are usual
	maxSchemas = 64 << 20  // bytes of the definitions of all topics of a log
	maxTries   = 1000      // topics that get no layout, until no more are tried
)

// basicTypes are ULog's types: their names in ROS 2 and their sizes.
var basicTypes = map[string]struct {
	name string
	size int
}{
	"int8_t": {"int8", 1}, "uint8_t": {"uint8", 1}, "int16_t": {"int16", 2}, "uint16_t": {"uint16", 2},
	"int32_t": {"int32", 4}, "uint32_t": {"uint32", 4}, "int64_t": {"int64", 8}, "uint64_t": {"uint64", 8},
	"float": {"float32", 4}, "double": {"float64", 8}, "bool": {"bool", 1}, "char": {"char", 1},
}

// field is a field of a format: of a basic type, or of another format.
type field struct {
	name, kind string
	count      int // of an array; 0: none
}

func (f *field) isPadding() bool { return strings.HasPrefix(f.name, "_padding") }

// isName reports whether s can be the name of a format or, without slashes and dashes, of a field.
func isName(s string, more string) bool {
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
	for part := range strings.SplitSeq(strings.TrimSuffix(list, ";"), ";") {
		f, err := parseField(part)
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

// placedField is a field with its place in the bytes of a message.
type placedField struct {
	field
	offset int   // in bytes
	size   int   // of an element, in bytes
	node   *node // nested format; nil for a basic type
}

// rosType returns the field's type in ROS 2. nested is the name of its nested type, if any.
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

// formats are the formats of a log by name.
type formats map[string][]field

// node returns a format with its nested formats. It is nested in depth other formats.
func (f formats) node(name string, depth int) (*node, error) {
	fields, ok := f[name]
	if !ok {
		return nil, fmt.Errorf("the log does not define the format %q", name)
	}
	if depth == maxDepth {
		return nil, fmt.Errorf("format %q is nested too deeply", name)
	}
	n := new(node)
	for _, one := range fields {
		p := placedField{field: one, offset: n.size, size: basicTypes[one.kind].size}
		if p.size == 0 {
			var err error
			p.node, err = f.node(one.kind, depth+1)
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
	typeName       string
	schema         string
	hash           string
	least, most    int // bytes of a message: padding at the end may be missing
	size           int // bytes of the payload
	copies         []copyRange
	stamp          int // offset of the timestamp; -1: none
	utc, utcMoment int // offsets of a GPS receiver's UTC time, and of its moment relative to stamp; -1: none
	fix            int // offset of the kind of fix; -1: none
}

// copyRange is a range of bytes to copy from a message to a payload.
type copyRange struct{ from, to, size int }

// layouter makes the layouts of the messages of a log.
type layouter struct {
	formats formats
	layouts map[string]*layout
	failed  map[string]*failure // topics without a layout
	tries   int                 // layouts that could not be made
	copies  int                 // of all layouts
	schemas int                 // bytes of the definitions of all layouts
}

// failure describes a topic without a layout.
type failure struct {
	at      int64 // position of the first announcement
	repeats int   // later announcements
}

// layout returns the layout of a topic, whose format has the topic's name. at is the position of the announcement. A
// failure is kept, and not tried again.
func (l *layouter) layout(topic string, at int64) (*layout, error) {
	if known := l.layouts[topic]; known != nil {
		return known, nil
	}
	if failed := l.failed[topic]; failed != nil {
		failed.repeats++
		return nil, errFailedBefore
	}
	err := errTries
	if l.tries < maxTries {
		var made *layout
		made, err = l.make(topic)
		if err == nil {
			l.layouts[topic] = made
			return made, nil
		}
		l.tries++
	}
	l.failed[topic] = &failure{at: at}
	return nil, err
}

var (
	errFailedBefore = errors.New("the topic failed before")
	errTries        = errors.New("too many topics have formats that cannot be used")
)

func (l *layouter) make(topic string) (*layout, error) {
	root, err := l.formats.node(topic, 0)
	if err != nil {
		return nil, err
	}
	made := &layout{least: root.size, most: root.size, stamp: -1, utc: -1, utcMoment: -1, fix: -1}
	for i := len(root.fields) - 1; i >= 0 && root.fields[i].isPadding(); i-- {
		made.least = root.fields[i].offset
	}
	for _, f := range []struct {
		name, kind string
		to         *int
	}{{"timestamp", "uint64_t", &made.stamp}, {"time_utc_usec", "uint64_t", &made.utc},
		{"timestamp_time_relative", "int32_t", &made.utcMoment}, {"fix_type", "uint8_t", &made.fix}} {
		matches := func(p placedField) bool { return p.name == f.name && p.kind == f.kind && p.count == 0 }
		if i := slices.IndexFunc(root.fields, matches); i >= 0 {
			*f.to = root.fields[i].offset
		}
	}
	c := compiler{layouter: l, layout: made, definitions: map[string]string{}, formatOf: map[string]string{}}
	made.size = 4
	if err := c.compile(root, topic); err != nil {
		return nil, err
	}
	l.schemas += len(made.schema)
	if l.schemas > maxSchemas {
		return nil, errors.New("the definitions of all topics are too long")
	}
	return made, nil
}

// compiler makes one layout.
type compiler struct {
	*layouter
	layout      *layout
	nested      []string          // names of the nested types, in the order of the schema
	definitions map[string]string // of the nested types, by name
	formatOf    map[string]string // formats, by the names of their types
	err         error             // of define
}

func (c *compiler) compile(root *node, topic string) error {
	pkg, name := "ulog", camelCase(topic)
	version := px4Version(root, cmp.Or(px4().topicTypes[topic], name))
	if version != nil {
		pkg, name = "px4_msgs", version.name
	}
	c.formatOf[name] = topic
	text := c.define(root, version)
	if c.err != nil {
		return c.err
	}
	if err := c.add(root, version, 0); err != nil {
		return err
	}
	c.layout.typeName = pkg + "/msg/" + name
	var b strings.Builder
	b.WriteString(text)
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

// ordered returns the fields of n without padding: in the order of version, or as they are if version is nil.
func ordered(n *node, version *px4Type) []placedField {
	fields := slices.DeleteFunc(slices.Clone(n.fields), func(p placedField) bool { return p.isPadding() })
	if version != nil {
		at := func(p placedField) int {
			return slices.IndexFunc(version.fields, func(f field) bool { return f.name == p.name })
		}
		slices.SortFunc(fields, func(a, b placedField) int { return at(a) - at(b) })
	}
	return fields
}

// define returns the definition of a type, and adds the definitions of nested types to c.
func (c *compiler) define(n *node, version *px4Type) string {
	var b strings.Builder
	for i, f := range ordered(n, version) {
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

// add adds the copies of a format's fields. offset is where the format begins in the message.
func (c *compiler) add(n *node, version *px4Type, offset int) error {
	fields := ordered(n, version)
	if len(fields) == 0 {
		c.layout.size++
	}
	for i, f := range fields {
		if f.node == nil {
			if err := c.copy(offset+f.offset, f.size, max(1, f.count)); err != nil {
				return err
			}
			continue
		}
		nested := px4Nested(f.node, version, nestedName(&f, version, i))
		for k := range max(1, f.count) {
			if err := c.add(f.node, nested, offset+f.offset+k*f.size); err != nil {
				return err
			}
		}
	}
	return nil
}

// copy adds the copy of n elements of size bytes. They are aligned as in CDR, relative to the end of the 4-byte header.
func (c *compiler) copy(from, size, n int) error {
	l := c.layout
	l.size += (size - (l.size-4)%size) % size
	to := l.size
	l.size += size * n
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

// convert appends the payload of a message of the layout's format.
func (l *layout) convert(to, data []byte) []byte {
	start := len(to)
	to = append(to, make([]byte, l.size)...)
	payload := to[start:]
	payload[1] = 1 // little-endian CDR
	for _, c := range l.copies {
		copy(payload[c.to:c.to+c.size], data[c.from:])
	}
	return to
}

// time returns the timestamp of a message in µs; 0: none.
func (l *layout) time(data []byte) uint64 {
	if l.stamp < 0 {
		return 0
	}
	return binary.LittleEndian.Uint64(data[l.stamp:])
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
