// Package table writes messages as tables, one for each topic: as Parquet, as CSV and as JSON Lines. None of them is
// read.
//
// A row is a message. Its first columns are log_time, publish_time and, where the type has a stamp, header_stamp, in ns
// since the Unix epoch. In Parquet and CSV a column is a field that holds a value or an array, named by its path.
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

// Options are the choices that tables have.
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
	f := o.format(kind{name: "parquet", compression: []string{"zstd", "none"}, rows: newParquet})
	f.Keeps = codec.Keeps{Encodings: f.Keeps.Encodings, PublishTime: true, QoS: true, Metadata: true,
		ChannelMetadata: true}
	f.Stream = nil // the library buffers no pipe's worth, and a terminal is no place for it
	return f
}

// CSV returns the format of CSV files.
func (o Options) CSV() codec.Format {
	return o.format(kind{name: "csv", compression: []string{"none"}, rows: newCSV})
}

// JSONL returns the format of files with a line of JSON for each message.
func (o Options) JSONL() codec.Format {
	return o.format(kind{name: "jsonl", compression: []string{"none"}, merges: true, rows: newJSONL})
}

// kind is what the formats differ in.
type kind struct {
	name        string // also the extension of files
	compression []string
	merges      bool // a file may hold several topics
	rows        func(*table, *file) (rows, error)
}

// rows writes the messages of a table to its file.
type rows interface {
	// write writes a message. An error concerns only this message; those of the disk are kept in the file.
	write(m *codec.Message) error
	// flush writes the messages that wait.
	flush()
	// close completes the table.
	close()
}

func (o Options) format(k kind) codec.Format {
	extension := "." + k.name
	return codec.Format{
		Name:  k.name,
		Named: func(path string) bool { return strings.EqualFold(filepath.Ext(path), extension) },
		Check: k.check,
		Create: func(path string, c codec.CreateOptions) (codec.Writer, error) {
			return newWriter(o, k, path, nil, c)
		},
		Stream: func(w io.Writer, c codec.CreateOptions) (codec.Writer, error) {
			return newWriter(o, k, "standard output", w, c)
		},
		Accepts: func(c *codec.Channel) error {
			_, err := o.newTable(c)
			return err
		},
		Files: []string{extension},
		Keeps: codec.Keeps{Encodings: []string{codec.EncodingCDR}, PublishTime: true},
	}
}

// table is what a topic with one type becomes.
type table struct {
	options  Options
	create   codec.CreateOptions
	channel  *codec.Channel
	channels []*codec.Channel // all that are in it
	schema   *cdr.Schema
	stamps   *cdr.Stamps   // nil if the type has none
	fields   []*field.Node // all
	columns  []column      // those of all but messages
	left     []*field.Node
	losses   codec.LossCounts
	json     field.JSON
	decoder  wire.Decoder
	rows     rows
	file     *file
	groups   *groups // of all tables
}

// column is a column of a table.
type column struct {
	*field.Node
	name string
}

// newTable returns the table of a channel, without rows.
func (o Options) newTable(c *codec.Channel) (*table, error) {
	schema, err := cdr.NewSchema(c.Library(msgs.Library()), c.Type)
	if err != nil {
		return nil, err
	}
	t := &table{options: o, channel: c, schema: schema, stamps: schema.Stamps()}
	t.fields, err = field.Tree(schema, o.leaves)
	if err != nil {
		return nil, err
	}
	names := unique{}
	for _, name := range t.times() {
		names.name(name)
	}
	for _, n := range field.Flat(t.fields) {
		col := column{Node: n}
		if !n.Omitted {
			col.name = names.name(n.Path)
		}
		t.columns = append(t.columns, col)
	}
	t.left = left(t.fields)
	return t, nil
}

// leaves reports whether a field is left out: pixels and points would be most of a table, and nobody reads them there.
func (o Options) leaves(f cdr.FieldType) bool {
	return !o.Bytes && f.Kind.Size() == 1 && f.Kind != rosidl.Bool && f.Shape == rosidl.Sequence && f.Length == 0
}

// left returns the fields that are left out.
func left(nodes []*field.Node) (all []*field.Node) {
	for _, n := range nodes {
		if n.Omitted && n.Kind != rosidl.Nested {
			all = append(all, n)
		}
		all = append(all, left(n.Inner)...)
	}
	return all
}

// times returns the names of the columns of times.
func (t *table) times() []string {
	if t.stamps == nil {
		return []string{"log_time", "publish_time"}
	}
	return []string{"log_time", "publish_time", "header_stamp"}
}

// unique makes names unique. Cases do not tell columns apart, as in SQL.
type unique map[string]bool

func (u unique) name(name string) string {
	one := name
	for i := 2; u[strings.ToLower(one)]; i++ {
		one = fmt.Sprintf("%s_%d", name, i)
	}
	u[strings.ToLower(one)] = true
	return one
}

// timesOf returns the times of a message and whether it has them.
func (t *table) timesOf(m *codec.Message) (times [3]int64, has [3]bool, err error) {
	times = [3]int64{m.LogTime, m.PublishTime, 0}
	has = [3]bool{true, m.PublishTime != 0, false}
	if t.stamps != nil {
		times[2], has[2], err = t.stamps.First(m.Data)
	}
	return times, has, err
}

// done is called behind the last field of a message, and counts what is lost of it.
func (t *table) done() error {
	err := t.schema.Finish(&t.decoder)
	lost := func(what string) {
		if err == nil {
			t.losses.Add(t.channel.Topic, what, 1)
		}
	}
	for _, n := range t.left {
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
