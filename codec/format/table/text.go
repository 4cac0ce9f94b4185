package table

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/encoding/field"
	"tapedeck/msgs/rosidl"
)

// text is a table of lines.
type text struct {
	*table
	head   []byte // header line, nil once it is written
	line   func(b []byte, m *codec.Message) ([]byte, error)
	buffer []byte
}

func (t *text) write(m *codec.Message) (err error) {
	t.buffer, err = t.line(append(t.buffer[:0], t.head...), m)
	if err == nil {
		_, _ = t.file.Write(t.buffer) // file keeps the error
		t.head = nil
	}
	return err
}

func (t *text) flush() {}

// close writes the head of a file without messages. A stream without messages stays empty, because an error may have
// been the reason.
func (t *text) close() {
	if t.file.disk != nil {
		_, _ = t.file.Write(t.head)
	}
}

// appendTime appends a time.
func (t *text) appendTime(b []byte, ns int64, quote string) []byte {
	if t.options.Times != "iso" {
		return strconv.AppendInt(b, ns, 10)
	}
	b = append(b, quote...)
	b = time.Unix(0, ns).UTC().AppendFormat(b, "2006-01-02T15:04:05.000000000Z")
	return append(b, quote...)
}

func newJSONL(t *table, _ *file) (rows, error) {
	t.json.Nulls = true
	r := &text{table: t}
	r.line = r.object
	return r, nil
}

// object appends a message as a line of JSON.
func (t *text) object(b []byte, m *codec.Message) ([]byte, error) {
	times, has, err := t.timesOf(m)
	if err != nil {
		return b, err
	}
	b = field.AppendQuoted(append(b, `{"topic":`...), m.Channel.Topic)
	for i, name := range t.times() {
		if has[i] {
			b = append(append(append(b, `,"`...), name...), `":`...)
			b = t.appendTime(b, times[i], `"`)
		}
	}
	b = append(b, `,"message":`...)
	t.decoder.Reset(m.Data)
	b = t.json.Message(b, t.fields, &t.decoder)
	return append(b, "}\n"...), t.done()
}

func newCSV(t *table, _ *file) (rows, error) {
	r := &text{table: t}
	r.line = r.record
	var b []byte
	for _, name := range t.times() {
		b = append(append(b, name...), ',')
	}
	for _, c := range t.columns {
		if !c.Omitted {
			b = append(append(b, c.name...), ',')
		}
	}
	r.head = append(b[:len(b)-1], "\r\n"...)
	return r, nil
}

// record appends a message as a record of CSV (RFC 4180).
func (t *text) record(b []byte, m *codec.Message) ([]byte, error) {
	times, has, err := t.timesOf(m)
	if err != nil {
		return b, err
	}
	for i := range t.times() {
		if has[i] {
			b = t.appendTime(b, times[i], "")
		}
		b = append(b, ',')
	}
	d := &t.decoder
	d.Reset(m.Data)
	for i := range t.columns {
		c := &t.columns[i]
		if c.Omitted {
			c.SkipAll(d)
			continue
		}
		start := len(b)
		b = t.json.Cell(b, c.Node, d)
		if c.Kind.Size() == 0 || c.Shape != rosidl.Single {
			b = quoted(b, start)
		}
		b = append(b, ',')
	}
	return append(b[:len(b)-1], "\r\n"...), t.done()
}

// quoted puts b[start:] into quotes if necessary.
func quoted(b []byte, start int) []byte {
	text := b[start:]
	if !bytes.ContainsAny(text, ",\"\r\n") && (len(text) == 0 || text[0] != ' ' && text[len(text)-1] != ' ') {
		return b
	}
	if bytes.IndexByte(text, '"') >= 0 {
		b = append(b[:start], bytes.ReplaceAll(text, []byte(`"`), []byte(`""`))...)
	}
	return append(slices.Insert(b, start, '"'), '"')
}
