package field

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tapedeck/codec/cdr"
	"tapedeck/msgs/printable"
)

// AppendJSON appends a value as JSON. Numbers that JSON lacks are the texts "NaN", "Infinity" and "-Infinity".
func AppendJSON(b []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		return appendQuoted(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case float32:
		return appendNumber(b, float64(v), 32)
	case float64:
		return appendNumber(b, v, 64)
	case *cdr.Struct:
		b = append(b, '{')
		for i, f := range v.Fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendQuoted(b, f.Name), ':')
			b = AppendJSON(b, f.Value)
		}
		return append(b, '}')
	}
	elements, ok := array(value)
	if !ok {
		return fmt.Append(b, value)
	}
	b = append(b, '[')
	for i := range elements.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendJSON(b, elements.Index(i).Interface())
	}
	return append(b, ']')
}

func appendNumber(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, bits)
}

// appendQuoted appends a text in double quotes, as JSON and YAML have it. Nothing in it controls a terminal.
func appendQuoted(b []byte, text string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return strconv.AppendQuote(b, text)
	}
	return append(b, printable.Escape(strings.TrimSuffix(out.String(), "\n"), "")...)
}
