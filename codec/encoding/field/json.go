package field

import (
	"bytes"
	"encoding/json"
	"strings"

	"tapedeck/codec/text/printable"
)

// AppendQuoted appends a text in double quotes as JSON, which is YAML too. It escapes characters that control a
// terminal.
func AppendQuoted(b []byte, text string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string can always be encoded
	return append(b, printable.Escape(strings.TrimSuffix(out.String(), "\n"), "")...)
}
