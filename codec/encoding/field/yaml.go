package field

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec/text/printable"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// YAML writes fields as YAML, with the layout of "ros2 topic echo".
type YAML struct {
	Longest   int  // most elements of an array and characters of a text that are written; 0: no limit
	NoArrays  bool // write only type and length of arrays
	NoStrings bool // write only the length of texts
}

// Append appends the value of a field and a line break.
func (y *YAML) Append(b []byte, n *Node, d *wire.Decoder) []byte {
	if n.Shape == rosidl.Single && len(n.Inner) > 0 {
		return y.fields(b, n.Inner, d, 0, false)
	}
	start := len(b)
	return slices.Delete(y.value(b, n, d, 0), start, start+1)
}

// Field appends a field with its name.
func (y *YAML) Field(b []byte, n *Node, d *wire.Decoder) []byte {
	return y.fields(b, []*Node{n}, d, 0, false)
}

// fields appends the fields of a message. If inline is set, the first field continues a line.
func (y *YAML) fields(b []byte, nodes []*Node, d *wire.Decoder, indent int, inline bool) []byte {
	for i, n := range nodes {
		if i > 0 || !inline {
			b = append(b, strings.Repeat(" ", indent)...)
		}
		b = y.value(append(append(b, n.Name...), ':'), n, d, indent)
	}
	return b
}

// value appends the text after the name of a field: a space and the rest of the line, or a line break and more lines.
func (y *YAML) value(b []byte, n *Node, d *wire.Decoder, indent int) []byte {
	if n.Shape == rosidl.Single {
		if len(n.Inner) > 0 {
			return y.fields(append(b, '\n'), n.Inner, d, indent+2, false)
		}
		return append(y.scalar(append(b, ' '), n, d), '\n')
	}
	switch count := n.Count(d); {
	case count == 0:
		return append(b, " []\n"...)
	case y.NoArrays:
		n.Skip(d, count)
		return fmt.Appendf(b, " '<array type: %s[%d]>'\n", cmp.Or(n.Kind.Name(), n.Message), count)
	default:
		return y.elements(append(b, '\n'), n, count, d, indent)
	}
}

// elements appends an array, one element a line.
func (y *YAML) elements(b []byte, n *Node, count int, d *wire.Decoder, indent int) []byte {
	shown := count
	if y.Longest > 0 {
		shown = min(shown, y.Longest)
	}
	lead := strings.Repeat(" ", indent) + "- "
	for i := 0; i < shown && d.Err() == nil; i++ {
		b = append(b, lead...)
		if len(n.Inner) > 0 {
			b = y.fields(b, n.Inner, d, indent+2, true)
		} else {
			b = append(y.scalar(b, n, d), '\n')
		}
	}
	if shown < count {
		n.Skip(d, count-shown)
		b = append(append(b, lead...), "'...'\n"...)
	}
	return b
}

// scalar appends a value that is neither an array nor a message with fields.
func (y *YAML) scalar(b []byte, n *Node, d *wire.Decoder) []byte {
	var text string
	switch n.Kind {
	case rosidl.String:
		text = d.String(n.StringBound)
	case rosidl.WString:
		text = d.WString(n.StringBound)
	case rosidl.Float32:
		return appendFloat(b, float64(d.Float32()), 32)
	case rosidl.Float64:
		return appendFloat(b, d.Float64(), 64)
	case rosidl.Nested:
		n.Skip(d, 1)
		return append(b, "{}"...)
	default:
		return appendNumber(b, n.Kind, d, nil, "")
	}
	if y.NoStrings {
		return fmt.Appendf(b, "'<string length: %d>'", len(text))
	}
	if y.Longest > 0 {
		if runes := []rune(text); len(runes) > y.Longest {
			text = string(runes[:y.Longest]) + "..."
		}
	}
	return appendText(b, text)
}

// appendFloat appends a float with a decimal point, without which YAML 1.1 does not take it for a float.
func appendFloat(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, ".nan"...)
	case math.IsInf(v, 1):
		return append(b, ".inf"...)
	case math.IsInf(v, -1):
		return append(b, "-.inf"...)
	}
	text := strconv.FormatFloat(v, 'g', -1, bits)
	if !strings.Contains(text, ".") {
		digits, exponent, scientific := strings.Cut(text, "e")
		text = digits + ".0"
		if scientific {
			text += "e" + exponent
		}
	}
	return append(b, text...)
}

// A text that matches plain needs no quotes, unless it is one of words.
var (
	plain = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_/.+@%()-]*( [A-Za-z0-9_/.+@%()-]+)*$`)
	words = []string{"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
)

func appendText(b []byte, text string) []byte {
	switch {
	case plain.MatchString(text) && !slices.Contains(words, strings.ToLower(text)):
		return append(b, text...)
	case strings.ContainsFunc(text, printable.Hidden):
		return AppendQuoted(b, text)
	}
	return append(append(append(b, '\''), strings.ReplaceAll(text, "'", "''")...), '\'')
}
