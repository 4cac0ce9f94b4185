package field

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"

	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// JSON writes fields as JSON and as cells of CSV.
type JSON struct {
	Nulls bool // write NaN and infinity as null, not as "NaN", "Infinity" and "-Infinity"

	NonFinite bool // set when a number was NaN or infinite
	Invalid   bool // set when a text was not UTF-8; U+FFFD replaced its invalid bytes
}

// Message appends a message with these fields.
func (j *JSON) Message(b []byte, nodes []*Node, d *wire.Decoder) []byte {
	b = append(b, '{')
	first := true
	for _, n := range nodes {
		if n.Omitted && n.Kind != rosidl.Nested {
			n.SkipAll(d)
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = j.Field(append(b, n.key...), n, d)
	}
	if len(nodes) == 0 {
		d.Uint8() // CDR has one byte for a message without fields
	}
	return append(b, '}')
}

// Field appends the value of a field.
func (j *JSON) Field(b []byte, n *Node, d *wire.Decoder) []byte {
	if n.Shape == rosidl.Single {
		return j.one(b, n, d)
	}
	count := n.Count(d)
	size := n.Kind.Size()
	if size == 0 || count == 0 || count*size > longest {
		return j.elements(b, n, count, d)
	}
	ahead := *d
	raw := ahead.Raw(size, count*size)
	if w := &n.last; !bytes.Equal(w.raw, raw) || w.big != d.BigEndian() {
		nonFinite := j.NonFinite
		j.NonFinite = false
		w.raw, w.big = append(w.raw[:0], raw...), d.BigEndian()
		w.text = j.elements(w.text[:0], n, count, d)
		w.nonFinite, j.NonFinite = j.NonFinite, nonFinite
	} else {
		*d = ahead
	}
	j.NonFinite = j.NonFinite || n.last.nonFinite
	return append(b, n.last.text...)
}

// elements appends an array of count elements.
func (j *JSON) elements(b []byte, n *Node, count int, d *wire.Decoder) []byte {
	b = append(b, '[')
	for i := range count {
		if i > 0 {
			b = append(b, ',')
		}
		b = j.one(b, n, d)
		if d.Err() != nil {
			break
		}
	}
	return append(b, ']')
}

func (j *JSON) one(b []byte, n *Node, d *wire.Decoder) []byte {
	switch n.Kind {
	case rosidl.Nested:
		return j.Message(b, n.Inner, d)
	case rosidl.String:
		return j.text(b, d.Chars(n.StringBound))
	case rosidl.WString:
		return j.text(b, []byte(d.WString(n.StringBound)))
	case rosidl.Float32, rosidl.Float64:
		if !j.Nulls {
			return appendNumber(b, n.Kind, d, &j.NonFinite, `"`)
		}
		start := len(b)
		nonFinite := false
		b = appendNumber(b, n.Kind, d, &nonFinite, "")
		if nonFinite {
			j.NonFinite = true
			return append(b[:start], "null"...)
		}
		return b
	}
	return appendNumber(b, n.Kind, d, nil, "")
}

// text appends a text in quotes.
func (j *JSON) text(b, text []byte) []byte {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			j.Invalid = j.Invalid || !utf8.Valid(text)
			return AppendQuoted(b, string(text))
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// Cell appends the value of a field for a cell of CSV, not quoted yet. A text is unchanged; an array is JSON.
func (j *JSON) Cell(b []byte, n *Node, d *wire.Decoder) []byte {
	switch {
	case n.Shape != rosidl.Single:
		return j.Field(b, n, d)
	case n.Kind == rosidl.String:
		return append(b, j.UTF8(d.Chars(n.StringBound))...)
	case n.Kind == rosidl.WString:
		return append(b, d.WString(n.StringBound)...)
	}
	return appendNumber(b, n.Kind, d, &j.NonFinite, "")
}

// UTF8 returns a text in which U+FFFD replaces bytes that are not UTF-8.
func (j *JSON) UTF8(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	j.Invalid = true
	return bytes.ToValidUTF8(text, []byte("\ufffd"))
}

// appendNumber appends the next number or bool of a payload as JSON. It writes NaN, Infinity or -Infinity between two
// quote strings, and then sets nonFinite.
func appendNumber(b []byte, k rosidl.Kind, d *wire.Decoder, nonFinite *bool, quote string) []byte {
	switch k {
	case rosidl.Bool:
		return strconv.AppendBool(b, d.Bool())
	case rosidl.Int8:
		return strconv.AppendInt(b, int64(d.Int8()), 10)
	case rosidl.Int16:
		return strconv.AppendInt(b, int64(d.Int16()), 10)
	case rosidl.Uint16:
		return strconv.AppendUint(b, uint64(d.Uint16()), 10)
	case rosidl.Int32:
		return strconv.AppendInt(b, int64(d.Int32()), 10)
	case rosidl.Uint32:
		return strconv.AppendUint(b, uint64(d.Uint32()), 10)
	case rosidl.Int64:
		return strconv.AppendInt(b, d.Int64(), 10)
	case rosidl.Uint64:
		return strconv.AppendUint(b, d.Uint64(), 10)
	case rosidl.Float32:
		return appendFloating(b, float64(d.Float32()), 32, nonFinite, quote)
	case rosidl.Float64:
		return appendFloating(b, d.Float64(), 64, nonFinite, quote)
	}
	return strconv.AppendUint(b, uint64(d.Uint8()), 10)
}

func appendFloating(b []byte, v float64, bits int, nonFinite *bool, quote string) []byte {
	if v == 0 && !math.Signbit(v) {
		return append(b, '0')
	}
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		return strconv.AppendFloat(b, v, 'g', -1, bits)
	}
	*nonFinite = true
	b = append(b, quote...)
	switch {
	case math.IsNaN(v):
		b = append(b, "NaN"...)
	case v > 0:
		b = append(b, "Infinity"...)
	default:
		b = append(b, "-Infinity"...)
	}
	return append(b, quote...)
}
