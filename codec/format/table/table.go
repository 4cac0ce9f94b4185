// Package table writes messages as tables, one for each topic: as Parquet, as CSV and as JSON Lines. Tables cannot be
// read.
//
// A row is a message. Its first columns are log_time, publish_time and, if the type has a stamp, header_stamp, in ns
// since the Unix epoch. In Parquet and CSV, each field with a value or an array has a column. The column's name is the
// path of the field.
package table

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/encoding/field"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// Options are the options of tables.
type Options struct {
	Bytes bool   `param:"table_bytes" group:"Tables"`
	Times string `param:"table_times" group:"Tables" options:"ns|iso"`
}

// DefaultOptions are the defaults of Options.
func DefaultOptions() Options { return Options{Times: "ns"} }

// The formats with the default options.
var (
	Parquet = DefaultOptions().Parquet()
	CSV     = DefaultOptions().CSV()
	JSONL   = DefaultOptions().JSONL()
)

// Parquet returns the format of Parquet files.
func (o Options) Parquet() codec.Format {
	f := o.format(fileType{name: "parquet", compressions: []string{"zstd", "none"}, newRows: newParquet})
	f.Keeps = codec.Keeps{Encodings: f.Keeps.Encodings, PublishTime: true, QoS: true, Metadata: true,
		ChannelMetadata: true}
	f.Stream = nil // the end of a Parquet file needs offsets, and the file has no use on a terminal
	return f
}

// CSV returns the format of CSV files.
func (o Options) CSV() codec.Format {
	return o.format(fileType{name: "csv", compressions: []string{"none"}, newRows: newCSV})
}

// JSONL returns the format of files with a line of JSON for each message.
func (o Options) JSONL() codec.Format {
	return o.format(fileType{name: "jsonl", compressions: []string{"none"}, merges: true, newRows: newJSONL})
}

// fileType describes one of the three formats.
type fileType struct {
	name         string   // name of the format and extension of files
	compressions []string // values of codec.CreateOptions.Compression
	merges       bool     // a file may hold several topics
	newRows      func(*table, *file) (rowWriter, error)
}

// rowWriter writes the messages of a table to its file.
type rowWriter interface {
	// write writes a message. Its error concerns only this message; the file keeps errors of the disk.
	write(m *codec.Message) error
	// flush writes waiting messages.
	flush()
	// close completes the table.
	close()
}

// format returns the codec.Format of a file type.
func (o Options) format(t fileType) codec.Format {
	extension := "." + t.name
	return codec.Format{
		Name:  t.name,
		Named: func(path string) bool { return strings.EqualFold(filepath.Ext(path), extension) },
		Check: t.check,
		Create: func(path string, c codec.CreateOptions) (codec.Writer, error) {
			return newWriter(o, t, path, nil, c)
		},
		Stream: func(w io.Writer, c codec.CreateOptions) (codec.Writer, error) {
			return newWriter(o, t, "standard output", w, c)
		},
		Accepts: func(c *codec.Channel) error {
			_, err := o.newTable(c)
			return err
		},
		Files: []string{extension},
		Keeps: codec.Keeps{Encodings: []string{codec.EncodingCDR}, PublishTime: true},
	}
}

// table is the table of the messages of one type on one topic.
type table struct {
	options  Options
	create   codec.CreateOptions
	channel  *codec.Channel   // first channel of the table
	channels []*codec.Channel // all channels of the table
	schema   *cdr.Schema
	stamps   *cdr.Stamps   // nil if the type has no stamps
	fields   []*field.Node // all fields of the type
	columns  []column      // columns of the fields that are not single messages
	omitted  []*field.Node // fields without a column
	losses   codec.LossCounts
	json     field.JSON
	decoder  wire.Decoder
	rows     rowWriter
	file     *file

	compressor *compressor // shared by all tables
}

// column is a column of a table.
type column struct {
	*field.Node
	name string
}

// newTable returns the table of a channel without a file.
func (o Options) newTable(c *codec.Channel) (*table, error) {
	schema, err := cdr.NewSchema(c.Library(msgs.Library()), c.Type)
	if err != nil {
		return nil, err
	}
	t := &table{options: o, channel: c, schema: schema, stamps: schema.Stamps()}
	t.fields, err = field.Tree(schema, o.omits)
	if err != nil {
		return nil, err
	}
	names := uniqueNames{}
	for _, name := range t.timeColumns() {
		names.add(name)
	}
	for _, n := range field.Flat(t.fields) {
		col := column{Node: n}
		if !n.Omitted {
			col.name = names.add(n.Path)
		}
		t.columns = append(t.columns, col)
	}
	t.omitted = omittedFields(t.fields)
	return t, nil
}

// omits reports whether a field is omitted. Byte arrays such as pixels and points would take most of a table's space,
// and are useless there.
func (o Options) omits(f cdr.FieldType) bool {
	return !o.Bytes && f.Kind.Size() == 1 && f.Kind != rosidl.Bool && f.Shape == rosidl.Sequence && f.Length == 0
}

// omittedFields returns the omitted fields at any depth.
func omittedFields(nodes []*field.Node) (all []*field.Node) {
	for _, n := range nodes {
		if n.Omitted && n.Kind != rosidl.Nested {
			all = append(all, n)
		}
		all = append(all, omittedFields(n.Inner)...)
	}
	return all
}

// timeColumns returns the names of the columns of times.
func (t *table) timeColumns() []string {
	if t.stamps == nil {
		return []string{"log_time", "publish_time"}
	}
	return []string{"log_time", "publish_time", "header_stamp"}
}

// uniqueNames is a set of used names in lower case, because names that differ only in case are equal in SQL.
type uniqueNames map[string]bool

// add returns name, with a number if name is used, and marks the result as used.
func (u uniqueNames) add(name string) string {
	result := name
	for i := 2; u[strings.ToLower(result)]; i++ {
		result = fmt.Sprintf("%s_%d", name, i)
	}
	u[strings.ToLower(result)] = true
	return result
}

// messageTimes returns the times of a message for the columns of times. has reports which times the message has.
func (t *table) messageTimes(m *codec.Message) (times [3]int64, has [3]bool, err error) {
	times = [3]int64{m.LogTime, m.PublishTime, 0}
	has = [3]bool{true, m.PublishTime != 0, false}
	if t.stamps != nil {
		times[2], has[2], err = t.stamps.First(m.Data)
	}
	return times, has, err
}

// finishMessage checks that the decoder has read all of a message, and counts the losses of the message.
func (t *table) finishMessage() error {
	err := t.schema.Finish(&t.decoder)
	lost := func(what string) {
		if err == nil {
			t.losses.Add(t.channel.Topic, what, 1)
		}
	}
	for _, n := range t.omitted {
		if n.Seen {
			n.Seen = false
			lost("byte arrays (" + n.Path + "), which --table-bytes keeps")
		}
	}
	if t.json.Invalid {
		t.json.Invalid = false
		lost("bytes of texts that are not UTF-8")
	}
	if t.json.NonFinite {
		t.json.NonFinite = false
		if t.json.Nulls {
			lost("NaN and infinity, which JSON lacks and which became null")
		}
	}
	return err
}
