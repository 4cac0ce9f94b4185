// Package echo prints messages for people and programs.
package echo

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/encoding/field"
	"tapedeck/codec/text/human"
	"tapedeck/codec/text/printable"
	"tapedeck/config"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl/wire"
)

// optionTexts are the help texts of options: see config.Described.
//
//go:embed options.txt
var optionTexts string

// Options are the options of commands that print messages.
type Options struct {
	Once  bool   `param:"once" group:"Messages"`
	Count uint64 `param:"count" short:"n" group:"Messages"`

	Field       []string `param:"field" group:"Output" value:"FIELD"`
	CSV         bool     `param:"csv" group:"Output"`
	JSON        bool     `param:"json" group:"Output"`
	MessageInfo bool     `param:"include_message_info" short:"i" group:"Output"`
	FullLength  bool     `param:"full_length" short:"f" group:"Output"`
	Truncate    int      `param:"truncate_length" short:"l" group:"Output" min:"1"`
	NoArr       bool     `param:"no_arr" group:"Output"`
	NoStr       bool     `param:"no_str" group:"Output"`
}

// OptionTexts returns the help texts of the options.
func (*Options) OptionTexts() string { return optionTexts }

// DefaultOptions returns the default options. Truncate is the default of "ros2 topic echo".
func DefaultOptions() Options { return Options{Truncate: 128} }

// Printer prints messages. They must be encoded as CDR.
type Printer struct {
	options Options
	yaml    field.YAML
	fields  []string // paths of the fields to print; nil: whole messages
	w       io.Writer
	types   map[*codec.Channel]*channelReader
	json    field.JSON
	buffer  []byte
	header  []string // of the CSV table; nil: not written yet
	printed uint64
}

// channelReader reads the messages of a channel.
type channelReader struct {
	schema  *cdr.Schema
	message cdr.FieldType
	fields  []printedField // to print: the fields of Options.Field, or the message
	header  []string       // names of columns of a table
}

// printedField is a field to print, or the whole message.
type printedField struct {
	*field.Node
	path    *cdr.Path     // nil: the whole message
	columns []*field.Node // of a table
}

// find sets d to the field in a payload. It returns false if the field is not there, because an array is too short.
func (p *printedField) find(d *wire.Decoder, payload []byte) bool {
	if p.path == nil {
		d.Reset(payload)
		return true
	}
	p.path.Find(d, payload)
	return d.Err() == nil
}

// NewPrinter returns a printer that writes each message to w at once.
func NewPrinter(o Options, w io.Writer) (*Printer, error) {
	if o.CSV && o.JSON {
		return nil, config.Usagef("--csv and --json do not go together")
	}
	if o.Once && o.Count > 1 {
		return nil, config.Usagef("--once and --count %d do not go together", o.Count)
	}
	if o.Once {
		o.Count = 1
	}
	p := &Printer{options: o, w: w, types: map[*codec.Channel]*channelReader{},
		yaml: field.YAML{Longest: o.Truncate, NoArrays: o.NoArr, NoStrings: o.NoStr}}
	if o.FullLength {
		p.yaml.Longest = 0
	}
	for _, text := range o.Field {
		for name := range strings.SplitSeq(text, ",") {
			p.fields = append(p.fields, strings.TrimSpace(name))
		}
	}
	return p, nil
}

// Printed returns the number of printed messages.
func (p *Printer) Printed() uint64 { return p.printed }

// Done reports whether Options.Count messages were printed.
func (p *Printer) Done() bool { return p.options.Count > 0 && p.printed >= p.options.Count }

// Prepare returns an error if messages of a channel cannot be decoded or lack one of the fields.
func (p *Printer) Prepare(c *codec.Channel) error {
	_, err := p.channelReader(c)
	return err
}

func (p *Printer) channelReader(c *codec.Channel) (*channelReader, error) {
	if r := p.types[c]; r != nil {
		return r, nil
	}
	if c.Encoding != codec.EncodingCDR {
		return nil, fmt.Errorf("messages of %s [%s] are encoded as %s, which cannot be shown", human.Printable(c.Topic),
			human.OrDash(c.Type), human.OrDash(c.Encoding))
	}
	schema, err := cdr.NewSchema(c.Library(msgs.Library()), c.Type)
	if err != nil {
		return nil, fmt.Errorf("messages of %s cannot be shown: %w", human.Printable(c.Topic), err)
	}
	r := &channelReader{schema: schema, message: schema.Field(), header: []string{"log_time", "publish_time"}}
	add := func(path *cdr.Path, f cdr.FieldType) error {
		n, err := field.Of(f)
		if err != nil {
			return err
		}
		columns := field.Flat([]*field.Node{n})
		r.fields = append(r.fields, printedField{n, path, columns})
		for _, n := range columns {
			if !n.Omitted {
				r.header = append(r.header, n.Path)
			}
		}
		return nil
	}
	for _, name := range p.fields {
		path, err := schema.Path(name)
		if err == nil {
			f := path.Field()
			f.Name = name
			err = add(path, f)
		}
		if err != nil {
			return nil, fmt.Errorf("--field: %w", err)
		}
	}
	if p.fields == nil {
		if err := add(nil, r.message); err != nil {
			return nil, fmt.Errorf("messages of %s cannot be shown: %w", human.Printable(c.Topic), err)
		}
	}
	p.types[c] = r
	return r, nil
}

// PayloadError is an error about a message that does not match its definition. Other messages can be printed.
type PayloadError struct{ Err error }

func (e *PayloadError) Error() string { return e.Err.Error() }
func (e *PayloadError) Unwrap() error { return e.Err }

// Print prints a message.
func (p *Printer) Print(m *codec.Message) error {
	r, err := p.channelReader(m.Channel)
	if err != nil {
		return err
	}
	if p.options.CSV && p.header != nil && !slices.Equal(r.header, p.header) {
		return fmt.Errorf("message of %s at %s has other fields than the first one; --csv needs one type, name "+
			"columns that all have by --field", human.Printable(m.Channel.Topic), human.Seconds(m.LogTime))
	}
	d := wire.NewDecoder(m.Data)
	r.message.Skip(d, 1)
	err = r.schema.Finish(d)
	if err == nil {
		switch {
		case p.options.JSON:
			err = p.object(r, m, d)
		case p.options.CSV:
			err = p.record(r, m, d)
		default:
			err = p.text(r, m, d)
		}
	}
	if err != nil {
		return &PayloadError{fmt.Errorf("message of %s at %s: %w", human.Printable(m.Channel.Topic),
			human.Seconds(m.LogTime), err)}
	}
	p.printed++
	_, err = p.w.Write(p.buffer)
	return err
}

// text sets the buffer to a message as YAML.
func (p *Printer) text(r *channelReader, m *codec.Message, d *wire.Decoder) error {
	b := p.buffer[:0]
	if p.options.MessageInfo {
		b = fmt.Appendf(b, "# received %s", human.Clock(m.LogTime))
		if m.PublishTime != 0 {
			b = fmt.Appendf(b, ", sent %s", human.Clock(m.PublishTime))
		}
		b = append(b, '\n')
	}
	for i := range r.fields {
		f := &r.fields[i]
		switch there := f.find(d, m.Data); {
		case !there && len(r.fields) > 1:
			b = append(append(b, f.Name...), ": null\n"...)
			continue
		case !there:
			b = append(b, "null\n"...)
			continue
		case len(r.fields) > 1:
			b = p.yaml.Field(b, f.Node, d)
		default:
			b = p.yaml.Append(b, f.Node, d)
		}
		if d.Err() != nil {
			return d.Err()
		}
	}
	p.buffer = append(b, "---\n"...)
	return nil
}

// object sets the buffer to a message as a line of JSON.
func (p *Printer) object(r *channelReader, m *codec.Message, d *wire.Decoder) error {
	b := append(p.buffer[:0], `{"topic":`...)
	b = fmt.Appendf(field.AppendQuoted(b, m.Channel.Topic), `,"log_time":%d`, m.LogTime)
	if m.PublishTime != 0 {
		b = fmt.Appendf(b, `,"publish_time":%d`, m.PublishTime)
	}
	for i := range r.fields {
		f := &r.fields[i]
		b = append(field.AppendQuoted(append(b, ','), cmp.Or(f.Name, "message")), ':')
		if !f.find(d, m.Data) {
			b = append(b, "null"...)
			continue
		}
		b = p.json.Field(b, f.Node, d)
		if d.Err() != nil {
			return d.Err()
		}
	}
	p.buffer = append(b, "}\n"...)
	return nil
}

// record sets the buffer to a message as a record of CSV. Before the first message it adds the header.
func (p *Printer) record(r *channelReader, m *codec.Message, d *wire.Decoder) error {
	row := []string{strconv.FormatInt(m.LogTime, 10), ""}
	if m.PublishTime != 0 {
		row[1] = strconv.FormatInt(m.PublishTime, 10)
	}
	for i := range r.fields {
		f := &r.fields[i]
		there := f.find(d, m.Data)
		for _, n := range f.columns {
			if n.Omitted {
				n.SkipAll(d)
				continue
			}
			cell := ""
			if there {
				cell = string(p.json.Cell(nil, n, d))
			}
			if strings.ContainsFunc(cell, func(r rune) bool { return printable.Hidden(r) && r != '\n' && r != '\t' }) {
				cell = string(field.AppendQuoted(nil, cell)) // the cell could control a terminal
			}
			row = append(row, cell)
		}
		if there && d.Err() != nil {
			return d.Err()
		}
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out) // writing to a buffer does not fail
	if p.header == nil {
		p.header = r.header
		_ = w.Write(r.header)
	}
	_ = w.Write(row)
	w.Flush()
	p.buffer = append(p.buffer[:0], out.Bytes()...)
	return nil
}
