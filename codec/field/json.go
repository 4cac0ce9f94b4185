package field

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"tapedeck/msgs/printable"
)

// AppendQuoted appends a text in double quotes, as JSON and YAML have it. Nothing in it controls a terminal.
func AppendQuoted(b []byte, text string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return strconv.AppendQuote(b, text)
	}
	return append(b, printable.Escape(strings.TrimSuffix(out.String(), "\n"), "")...)
}
