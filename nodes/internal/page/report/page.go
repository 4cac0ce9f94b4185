package report

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

//go:embed page.html
var page []byte

//go:embed page.css
var style []byte

//go:embed page*.js
var files embed.FS

// scripts are files that share their names. The last one begins to draw.
var scripts = []string{"_text", "_table", "_board", "_time", "_timeline", "_pictures", "_curves", "_map", "_scene", "",
	"_live"}

// Write writes a page that shows recordings. Nothing in their texts becomes HTML: they are JSON, in which '<', '>' and
// '&' are escaped.
func Write(w io.Writer, recordings []*Data) error {
	data, err := json.Marshal(recordings)
	if err != nil {
		return fmt.Errorf("write a report: %w", err)
	}
	if _, err := w.Write(fill(data, "")); err != nil {
		return fmt.Errorf("write a report: %w", err)
	}
	return nil
}

// LivePage returns the page of a player or a recorder, which asks for what it shows. kind says which buttons it has.
func LivePage(kind string) ([]byte, error) {
	data, err := json.Marshal(map[string]string{"live": kind})
	return fill(data, "; connect-src 'self'"), err
}

// fill returns the page with data, and a policy that is added to the page's.
func fill(data []byte, policy string) []byte {
	out := page
	var script []byte
	for _, name := range scripts {
		text, err := files.ReadFile("page" + name + ".js")
		if err != nil {
			panic(err) // it is embedded
		}
		script = append(script, text...)
	}
	for _, part := range []struct {
		mark string
		text []byte
	}{
		{"/*policy*/", []byte(policy)}, {"/*style*/", style}, {"/*script*/", script},
		{"null/*data*/", data},
	} {
		before, after, _ := bytes.Cut(out, []byte(part.mark))
		out = slices.Concat(before, part.text, after)
	}
	return out
}
