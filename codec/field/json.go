package field

import (
	"bytes"
	"encoding/json"
	"fmt"
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
		return appendFloating(b, float64(v), 32, new(bool), `"`)
	case float64:
		return appendFloating(b, v, 64, new(bool), `"`)
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
