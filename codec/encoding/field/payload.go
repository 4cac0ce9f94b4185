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
	Nulls bool // NaN and infinity are null, not the texts "NaN", "Infinity" and "-Infinity"

	Lacking bool // set when there was NaN or infinity
	Invalid bool // set when there was a text that is not UTF-8; its other bytes became U+FFFD
}

// Message appends the message that has these fields.
func (j *JSON) Message(b []byte, nodes []*Node, d *wire.Decoder) []byte {
	b = append(b, '{')
	first := true
	for _, n := range nodes {
		if n.Left && n.Kind != rosidl.Nested {
			n.Over(d)
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = j.Field(append(b, n.key...), n, d)
	}
	if len(nodes) == 0 {
		d.Uint8() // as CDR has it for messages without fields
	}
	return append(b, '}')
}

// Field appends what a field holds.
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
	if w := &n.was; !bytes.Equal(w.raw, raw) || w.big != d.BigEndian() {
		lacking := j.Lacking
		j.Lacking = false
		w.raw, w.big = append(w.raw[:0], raw...), d.BigEndian()
		w.text = j.elements(w.text[:0], n, count, d)
		w.lacking, j.Lacking = j.Lacking, lacking
	} else {
		*d = ahead
	}
	j.Lacking = j.Lacking || n.was.lacking
	return append(b, n.was.text...)
}

// elements appends an array of which count elements follow.
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
			return appendNumber(b, n.Kind, d, &j.Lacking, `"`)
		}
		start := len(b)
		lacking := false
		b = appendNumber(b, n.Kind, d, &lacking, "")
		if lacking {
			j.Lacking = true
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

// Cell appends what a field holds as a cell of CSV has it, not quoted yet: texts as they are, arrays as JSON.
func (j *JSON) Cell(b []byte, n *Node, d *wire.Decoder) []byte {
	switch {
	case n.Shape != rosidl.Single:
		return j.Field(b, n, d)
	case n.Kind == rosidl.String:
		return append(b, j.UTF8(d.Chars(n.StringBound))...)
	case n.Kind == rosidl.WString:
		return append(b, d.WString(n.StringBound)...)
	}
	return appendNumber(b, n.Kind, d, &j.Lacking, "")
}

// UTF8 returns a text with U+FFFD in place of what is not UTF-8.
func (j *JSON) UTF8(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	j.Invalid = true
	return bytes.ToValidUTF8(text, []byte("\ufffd"))
}

// appendNumber appends the next number or bool of a payload as JSON. NaN and infinity are NaN, Infinity and -Infinity
// between two times quote, and set lacking.
func appendNumber(b []byte, k rosidl.Kind, d *wire.Decoder, lacking *bool, quote string) []byte {
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
		return appendFloating(b, float64(d.Float32()), 32, lacking, quote)
	case rosidl.Float64:
		return appendFloating(b, d.Float64(), 64, lacking, quote)
	}
	return strconv.AppendUint(b, uint64(d.Uint8()), 10)
}

func appendFloating(b []byte, v float64, bits int, lacking *bool, quote string) []byte {
	if v == 0 && !math.Signbit(v) {
		return append(b, '0')
	}
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		return strconv.AppendFloat(b, v, 'g', -1, bits)
	}
	*lacking = true
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
