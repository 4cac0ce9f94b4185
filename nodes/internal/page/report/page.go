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

// scripts are the suffixes of the script files, in order. The scripts share one scope, and the last one starts drawing.
var scripts = []string{"_text", "_table", "_board", "_time", "_timeline", "_pictures", "_curves", "_map", "_scene", "",
	"_live"}

// Write writes a page that shows recordings. Texts of recordings cannot become HTML: they are JSON, in which '<', '>'
// and '&' are escaped.
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

// LivePage returns the page of a player or a recorder, which requests its data. kind selects the buttons.
func LivePage(kind string) ([]byte, error) {
	data, err := json.Marshal(map[string]string{"live": kind})
	return fill(data, "; connect-src 'self'"), err
}

// fill returns the page with data. policy is appended to the Content-Security-Policy of the page.
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
	for _, insert := range []struct {
		mark string
		text []byte
	}{
		{"/*policy*/", []byte(policy)}, {"/*style*/", style}, {"/*script*/", script},
		{"null/*data*/", data},
	} {
		before, after, _ := bytes.Cut(out, []byte(insert.mark))
		out = slices.Concat(before, insert.text, after)
	}
	return out
}
