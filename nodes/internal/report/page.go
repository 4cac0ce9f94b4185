package report

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

//go:embed page.html
var page []byte

//go:embed page.css
var style []byte

//go:embed page.js
var script []byte

// Write writes a page that shows recordings. Nothing in their texts becomes HTML: they are JSON, in which '<', '>' and
// '&' are escaped.
func Write(w io.Writer, recordings []*Data) error {
	data, err := json.Marshal(recordings)
	if err != nil {
		return fmt.Errorf("write a report: %w", err)
	}
	out := page
	for _, part := range []struct{ mark, text []byte }{
		{[]byte("/*style*/"), style}, {[]byte("/*script*/"), script}, {[]byte("null/*data*/"), data},
	} {
		before, after, _ := bytes.Cut(out, part.mark)
		out = slices.Concat(before, part.text, after)
	}
	if _, err := w.Write(out); err != nil {
		return fmt.Errorf("write a report: %w", err)
	}
	return nil
}
