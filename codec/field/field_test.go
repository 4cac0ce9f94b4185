package field

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"tapedeck/codec/cdr"
)

func message() *cdr.Struct {
	point := func(x float64) *cdr.Struct {
		return &cdr.Struct{Type: "p/msg/Point", Fields: []cdr.Field{{Name: "x", Value: x}}}
	}
	return &cdr.Struct{Type: "p/msg/All", Fields: []cdr.Field{
		{Name: "flag", Value: true}, {Name: "count", Value: uint64(math.MaxUint64)},
		{Name: "small", Value: float32(0.1)},
		{Name: "tiny", Value: 1e-7}, {Name: "whole", Value: 3.0}, {Name: "text", Value: "it's: 1"},
		{Name: "point", Value: point(1.5)}, {Name: "points", Value: []*cdr.Struct{point(1), point(2)}},
		{Name: "none", Value: []float64{}}, {Name: "bytes", Value: []uint8{1, 255}},
		{Name: "texts", Value: []string{"", "a b"}}, {Name: "empty", Value: &cdr.Struct{}},
	}}
}

func TestYAML(t *testing.T) {
	text := string((&YAML{}).Append(nil, message()))
	require.Equal(t, `flag: true
count: 18446744073709551615
small: 0.1
tiny: 1.0e-07
whole: 3.0
text: 'it''s: 1'
point:
  x: 1.5
points:
- x: 1.0
- x: 2.0
none: []
bytes:
- 1
- 255
texts:
- ''
- a b
empty: {}
`, text)
	short := YAML{Longest: 1, NoStrings: true}
	require.Contains(t, string(short.Append(nil, message())),
		"bytes:\n- 1\n- '...'\ntexts:\n- '<string length: 0>'\n- '...'\n")
	lengths := YAML{NoArrays: true}
	require.Contains(t, string(lengths.Append(nil, message())), "points: '<array type: p/msg/Point[2]>'\nnone: []\n")
	require.Equal(t, ".nan\n", string((&YAML{}).Append(nil, math.NaN())))
}

// Every text comes back from a reader of YAML and of JSON.
func TestTexts(t *testing.T) {
	for _, text := range []string{"", "a", "base_link", "/tf", "yes", "Null", "~", "1", "1.5", "1e5", "0x1F", "-",
		"- a",
		"a: b",
		"a #b", " a", "a ", "'", `"`, "\\", "a\nb", "\t", "\x1b[2J", "\u009b2J", "\u007f", "a\u202eb", "größe", "日本",
		"&a", "*a", "!a", "%a", "@a", "`a", "{}",
		"[]", "a,b", "?", "2021-07-23", "12:30:00", "<b>", "=", "y", "...", "---", strings.Repeat("x", 300)} {
		var got struct{ V any }
		in := &cdr.Struct{Fields: []cdr.Field{{Name: "v", Value: text}}}
		written := (&YAML{}).Append(nil, in)
		require.NoError(t, yaml.Unmarshal(written, &got), text)
		require.Equal(t, text, got.V)
		quoted := AppendJSON(nil, in)
		require.NoError(t, json.Unmarshal(quoted, &got), text)
		require.Equal(t, text, got.V)
		for _, r := range strings.ReplaceAll(string(written)+string(quoted)+Cell(text), "\n", "") {
			require.True(t, r == '\t' || unicode.IsPrint(r), "%q has %q", text, r)
		}
	}
}

func TestJSON(t *testing.T) {
	require.Equal(t, `{"flag":true,"count":18446744073709551615,"small":0.1,"tiny":1e-07,"whole":3,"text":"it's: 1",`+
		`"point":{"x":1.5},"points":[{"x":1},{"x":2}],"none":[],"bytes":[1,255],"texts":["","a b"],"empty":{}}`,
		string(AppendJSON(nil, message())))
	require.Equal(t, `["NaN","Infinity","-Infinity"]`,
		string(AppendJSON(nil, []float64{math.NaN(), math.Inf(1), math.Inf(-1)})))
}

func TestColumns(t *testing.T) {
	var paths, cells []string
	for _, c := range Columns("", message()) {
		paths, cells = append(paths, c.Path), append(cells, Cell(c.Value))
	}
	require.Equal(t, strings.Fields("flag count small tiny whole text point.x points none bytes texts"), paths)
	require.Equal(t, []string{"true", "18446744073709551615", "0.1", "1e-07", "3", "it's: 1", "1.5",
		`[{"x":1},{"x":2}]`, "[]",
		"[1,255]", `["","a b"]`}, cells)
	require.Equal(t, "NaN", Cell(math.NaN()))
	require.Equal(t, "", Cell(nil))
	require.Equal(t, `"\u001b[2J"`, Cell("\x1b[2J"))
	require.Equal(t, "a\n\tb", Cell("a\n\tb"))
}
