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

// lineWriter implements rowWriter for files with a line of text for each message.
type lineWriter struct {
	*table
	header     []byte // header line; nil if it is written or the file has none
	appendLine func(b []byte, m *codec.Message) ([]byte, error)
	buffer     []byte // memory of the last line
}

func (t *lineWriter) write(m *codec.Message) (err error) {
	t.buffer, err = t.appendLine(append(t.buffer[:0], t.header...), m)
	if err == nil {
		_, _ = t.file.Write(t.buffer) // file keeps the error
		t.header = nil
	}
	return err
}

func (t *lineWriter) flush() {}

// close writes the header of a file without messages. A stream without messages stays empty, because the reason may be
// an error.
func (t *lineWriter) close() {
	if t.file.disk != nil {
		_, _ = t.file.Write(t.header)
	}
}

// appendTime appends a time in ns since the Unix epoch, as a number or as text in quotes.
func (t *lineWriter) appendTime(b []byte, ns int64, quote string) []byte {
	if t.options.Times != "iso" {
		return strconv.AppendInt(b, ns, 10)
	}
	b = append(b, quote...)
	b = time.Unix(0, ns).UTC().AppendFormat(b, "2006-01-02T15:04:05.000000000Z")
	return append(b, quote...)
}

// newJSONL returns the rowWriter of a JSON Lines file.
func newJSONL(t *table, _ *file) (rowWriter, error) {
	t.json.Nulls = true
	r := &lineWriter{table: t}
	r.appendLine = r.appendObject
	return r, nil
}

// appendObject appends a message as a line of JSON.
func (t *lineWriter) appendObject(b []byte, m *codec.Message) ([]byte, error) {
	times, has, err := t.messageTimes(m)
	if err != nil {
		return b, err
	}
	b = field.AppendQuoted(append(b, `{"topic":`...), m.Channel.Topic)
	for i, name := range t.timeColumns() {
		if has[i] {
			b = append(append(append(b, `,"`...), name...), `":`...)
			b = t.appendTime(b, times[i], `"`)
		}
	}
	b = append(b, `,"message":`...)
	t.decoder.Reset(m.Data)
	b = t.json.Message(b, t.fields, &t.decoder)
	return append(b, "}\n"...), t.finishMessage()
}

// newCSV returns the rowWriter of a CSV file.
func newCSV(t *table, _ *file) (rowWriter, error) {
	r := &lineWriter{table: t}
	r.appendLine = r.appendRecord
	var b []byte
	for _, name := range t.timeColumns() {
		b = append(append(b, name...), ',')
	}
	for _, c := range t.columns {
		if !c.Omitted {
			b = append(append(b, c.name...), ',')
		}
	}
	r.header = append(b[:len(b)-1], "\r\n"...)
	return r, nil
}

// appendRecord appends a message as a record of CSV (RFC 4180).
func (t *lineWriter) appendRecord(b []byte, m *codec.Message) ([]byte, error) {
	times, has, err := t.messageTimes(m)
	if err != nil {
		return b, err
	}
	for i := range t.timeColumns() {
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
			b = quoteField(b, start)
		}
		b = append(b, ',')
	}
	return append(b[:len(b)-1], "\r\n"...), t.finishMessage()
}

// quoteField puts b[start:] into quotes if CSV needs them.
func quoteField(b []byte, start int) []byte {
	text := b[start:]
	if !bytes.ContainsAny(text, ",\"\r\n") && (len(text) == 0 || text[0] != ' ' && text[len(text)-1] != ' ') {
		return b
	}
	if bytes.IndexByte(text, '"') >= 0 {
		b = append(b[:start], bytes.ReplaceAll(text, []byte(`"`), []byte(`""`))...)
	}
	return append(slices.Insert(b, start, '"'), '"')
}
