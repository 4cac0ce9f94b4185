package field

import (
	"bytes"
	"encoding/json"
	"strings"

	"tapedeck/codec/text/printable"
)

// AppendQuoted appends a text in double quotes, as JSON and YAML have it. Nothing in it controls a terminal.
func AppendQuoted(b []byte, text string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string can always be encoded
	return append(b, printable.Escape(strings.TrimSuffix(out.String(), "\n"), "")...)
}
