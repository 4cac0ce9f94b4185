package field

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec/cdr"
	"tapedeck/msgs/printable"
)

// YAML says how values are written as YAML, with the layout of "ros2 topic echo".
type YAML struct {
	Longest   int  // most elements of an array and characters of a text that are written; 0 is all
	NoArrays  bool // arrays by type and length only
	NoStrings bool // texts by length only
}

// Append appends a value, with a line break at its end.
func (y *YAML) Append(b []byte, value any) []byte {
	if s, ok := value.(*cdr.Struct); ok && len(s.Fields) > 0 {
		return y.fields(b, s, 0, false)
	}
	if elements, ok := array(value); ok && !y.NoArrays && elements.Len() > 0 {
		return y.elements(b, value, 0)
	}
	return append(y.scalar(b, value), '\n')
}

// fields appends the fields of a message. With inline the first one follows something on the same line.
func (y *YAML) fields(b []byte, s *cdr.Struct, indent int, inline bool) []byte {
	for i, f := range s.Fields {
		if i > 0 || !inline {
			b = append(b, strings.Repeat(" ", indent)...)
		}
		b = append(append(b, f.Name...), ':')
		elements, isArray := array(f.Value)
		inner, isStruct := f.Value.(*cdr.Struct)
		switch {
		case isStruct && len(inner.Fields) > 0:
			b = y.fields(append(b, '\n'), inner, indent+2, false)
		case isArray && !y.NoArrays && elements.Len() > 0:
			b = y.elements(append(b, '\n'), f.Value, indent)
		default:
			b = append(y.scalar(append(b, ' '), f.Value), '\n')
		}
	}
	return b
}

// elements appends an array that is not empty, one element a line.
func (y *YAML) elements(b []byte, value any, indent int) []byte {
	all, _ := array(value)
	shown := all.Len()
	if y.Longest > 0 {
		shown = min(shown, y.Longest)
	}
	lead := strings.Repeat(" ", indent) + "- "
	for i := range shown {
		b = append(b, lead...)
		v := all.Index(i).Interface()
		if s, ok := v.(*cdr.Struct); ok && len(s.Fields) > 0 {
			b = y.fields(b, s, indent+2, true)
			continue
		}
		b = append(y.scalar(b, v), '\n')
	}
	if shown < all.Len() {
		b = append(append(b, lead...), "'...'\n"...)
	}
	return b
}

// scalar appends what fits on a line.
func (y *YAML) scalar(b []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		if y.NoStrings {
			return fmt.Appendf(b, "'<string length: %d>'", len(v))
		}
		if y.Longest > 0 {
			if runes := []rune(v); len(runes) > y.Longest {
				v = string(runes[:y.Longest]) + "..."
			}
		}
		return appendText(b, v)
	case float32:
		return appendFloat(b, float64(v), 32)
	case float64:
		return appendFloat(b, v, 64)
	case *cdr.Struct:
		return append(b, "{}"...)
	}
	if elements, ok := array(value); ok {
		if elements.Len() == 0 {
			return append(b, "[]"...)
		}
		return fmt.Appendf(b, "'<array type: %s[%d]>'", kind(value, elements), elements.Len())
	}
	return AppendJSON(b, value)
}

// appendFloat appends a float so that YAML 1.1 reads it as one: with a point.
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
		if text = digits + ".0"; scientific {
			text += "e" + exponent
		}
	}
	return append(b, text...)
}

// plain texts need no quotes, unless they are one of words.
var (
	plain = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_/.+@%()-]*( [A-Za-z0-9_/.+@%()-]+)*$`)
	words = []string{"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
)

func appendText(b []byte, text string) []byte {
	switch {
	case plain.MatchString(text) && !slices.Contains(words, strings.ToLower(text)):
		return append(b, text...)
	case strings.ContainsFunc(text, printable.Hidden):
		return appendQuoted(b, text)
	}
	return append(append(append(b, '\''), strings.ReplaceAll(text, "'", "''")...), '\'')
}
