// Package echo prints messages for people and programs.
package echo

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/codec/field"
	"tapedeck/config"
	"tapedeck/msgs"
	"tapedeck/nodes/internal/human"
)

// Options say how messages are printed. They are parameters of each command that prints some.
type Options struct {
	Once  bool   `param:"once" group:"Messages" help:"print one message, as --count 1"`
	Count uint64 `param:"count" short:"n" group:"Messages" help:"print this many messages; 0 is all"`

	Field       []string `param:"field" group:"Output" value:"FIELD" help:"print only this field, such as pose.position.x or ranges[3]; repeat it, or separate several by commas"`
	CSV         bool     `param:"csv" group:"Output" help:"print a table: the times in ns since 1970 and one column for each field; arrays are one column, as JSON"`
	JSON        bool     `param:"json" group:"Output" help:"print one JSON object a line"`
	MessageInfo bool     `param:"include_message_info" short:"i" group:"Output" help:"in YAML, put a comment with the times of each message in front of it"`
	FullLength  bool     `param:"full_length" short:"f" group:"Output" help:"in YAML, print all elements of arrays and all characters of strings"`
	Truncate    int      `param:"truncate_length" short:"l" group:"Output" min:"1" help:"in YAML, print this many elements of arrays and characters of strings, and ... for the rest"`
	NoArr       bool     `param:"no_arr" group:"Output" help:"in YAML, print only type and length of arrays"`
	NoStr       bool     `param:"no_str" group:"Output" help:"in YAML, print only the length of strings"`
}

// DefaultOptions are the defaults of Options; the length is that of "ros2 topic echo".
func DefaultOptions() Options { return Options{Truncate: 128} }

// Printer prints messages of a topic. Messages must be encoded as CDR.
type Printer struct {
	options Options
	yaml    field.YAML
	fields  []string
	w       io.Writer
	types   map[*codec.Channel]*decoder
	header  []string // of the table, with --csv
	printed uint64
}

// decoder decodes the messages of a channel.
type decoder struct {
	schema *cdr.Schema
	paths  []*cdr.Path // to the fields that are printed; none for all
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
	p := &Printer{options: o, w: w, types: map[*codec.Channel]*decoder{},
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

// Printed returns how many messages were printed.
func (p *Printer) Printed() uint64 { return p.printed }

// Done reports whether as many messages were printed as were asked for.
func (p *Printer) Done() bool { return p.options.Count > 0 && p.printed >= p.options.Count }

// Prepare returns an error if messages of a channel cannot be decoded or lack one of the fields.
func (p *Printer) Prepare(c *codec.Channel) error {
	_, err := p.decoder(c)
	return err
}

func (p *Printer) decoder(c *codec.Channel) (*decoder, error) {
	if d := p.types[c]; d != nil {
		return d, nil
	}
	if c.Encoding != codec.EncodingCDR {
		return nil, fmt.Errorf("messages of %s [%s] are encoded as %s, which cannot be shown", human.Printable(c.Topic),
			human.OrDash(c.Type), human.OrDash(c.Encoding))
	}
	schema, err := cdr.NewSchema(c.Library(msgs.Library()), c.Type)
	if err != nil {
		return nil, fmt.Errorf("messages of %s cannot be shown: %w", human.Printable(c.Topic), err)
	}
	d := &decoder{schema: schema}
	for _, name := range p.fields {
		path, err := schema.Path(name)
		if err != nil {
			return nil, fmt.Errorf("--field: %w", err)
		}
		d.paths = append(d.paths, path)
	}
	p.types[c] = d
	return d, nil
}

// PayloadError is the error for a message that does not match its definition. Others can be printed.
type PayloadError struct{ Err error }

func (e *PayloadError) Error() string { return e.Err.Error() }
func (e *PayloadError) Unwrap() error { return e.Err }

// Print prints a message.
func (p *Printer) Print(m *codec.Message) error {
	d, err := p.decoder(m.Channel)
	if err != nil {
		return err
	}
	message, err := d.schema.Decode(m.Data)
	if err != nil {
		return &PayloadError{fmt.Errorf("message of %s at %s: %w", human.Printable(m.Channel.Topic),
			human.Seconds(m.LogTime),
			err)}
	}
	values := []field.Column{{Value: message}}
	if len(d.paths) > 0 {
		values = values[:0]
		for i, path := range d.paths {
			value, err := path.Get(m.Data)
			if err != nil { // the payload is complete: an array has no such element
				value = nil
			}
			values = append(values, field.Column{Path: p.fields[i], Value: value})
		}
	}
	p.printed++
	switch {
	case p.options.JSON:
		return p.json(m, values)
	case p.options.CSV:
		return p.csv(m, values)
	}
	return p.text(m, values)
}

func (p *Printer) text(m *codec.Message, values []field.Column) error {
	var b []byte
	if p.options.MessageInfo {
		b = fmt.Appendf(b, "# received %s", human.Clock(m.LogTime))
		if m.PublishTime != 0 {
			b = fmt.Appendf(b, ", sent %s", human.Clock(m.PublishTime))
		}
		b = append(b, '\n')
	}
	if len(values) == 1 {
		b = p.yaml.Append(b, values[0].Value)
	} else {
		all := &cdr.Struct{}
		for _, v := range values {
			all.Fields = append(all.Fields, cdr.Field{Name: v.Path, Value: v.Value})
		}
		b = p.yaml.Append(b, all)
	}
	_, err := p.w.Write(append(b, "---\n"...))
	return err
}

func (p *Printer) json(m *codec.Message, values []field.Column) error {
	b := fmt.Appendf(nil, `{"topic":%s,"log_time":%d`, field.AppendJSON(nil, m.Channel.Topic), m.LogTime)
	if m.PublishTime != 0 {
		b = fmt.Appendf(b, `,"publish_time":%d`, m.PublishTime)
	}
	for _, v := range values {
		name := v.Path
		if name == "" {
			name = "message"
		}
		b = append(append(append(b, ','), field.AppendJSON(nil, name)...), ':')
		b = field.AppendJSON(b, v.Value)
	}
	_, err := p.w.Write(append(b, "}\n"...))
	return err
}

func (p *Printer) csv(m *codec.Message, values []field.Column) error {
	header, row := []string{"log_time", "publish_time"}, []string{strconv.FormatInt(m.LogTime, 10), ""}
	if m.PublishTime != 0 {
		row[1] = strconv.FormatInt(m.PublishTime, 10)
	}
	for _, v := range values {
		for _, c := range field.Columns(v.Path, v.Value) {
			header, row = append(header, c.Path), append(row, field.Cell(c.Value))
		}
	}
	w := csv.NewWriter(p.w)
	switch {
	case p.header == nil:
		p.header = header
		_ = w.Write(header) // an error stays until Flush
	case !slices.Equal(header, p.header):
		return fmt.Errorf("message of %s at %s has other fields than the first one; --csv needs one type, name "+
			"columns that all have by --field", human.Printable(m.Channel.Topic), human.Seconds(m.LogTime))
	}
	_ = w.Write(row)
	w.Flush()
	return w.Error()
}
