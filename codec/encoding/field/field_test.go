package field

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// payload is a field with a payload that begins with it.
type payload struct {
	*Node
	data []byte
}

// decoder returns a decoder at the field.
func (p *payload) decoder() *wire.Decoder { return wire.NewDecoder(p.data) }

// encode returns a message of the type p/msg/T with these fields.
func encode(t *testing.T, definition string, fields ...cdr.Field) *payload {
	lib, err := rosidl.ParseConcatenated("p/msg/T", definition)
	require.NoError(t, err)
	schema, err := cdr.NewSchema(lib, "p/msg/T")
	require.NoError(t, err)
	data, err := schema.Encode(&cdr.Struct{Fields: fields})
	require.NoError(t, err)
	n, err := Of(schema.Field())
	require.NoError(t, err)
	return &payload{n, data}
}

func message(t *testing.T) *payload {
	point := func(x float64) *cdr.Struct { return &cdr.Struct{Fields: []cdr.Field{{Name: "x", Value: x}}} }
	return encode(t, "bool flag\nuint64 count\nfloat32 small\nfloat64 tiny\nfloat64 whole\nstring text\n"+
		"p/Point point\np/Point[] points\nfloat64[] none\nuint8[] bytes\nstring[] texts\np/Empty empty\n"+
		"================\nMSG: p/Point\nfloat64 x\n================\nMSG: p/Empty\n", []cdr.Field{
		{Name: "flag", Value: true}, {Name: "count", Value: uint64(math.MaxUint64)},
		{Name: "small", Value: float32(0.1)},
		{Name: "tiny", Value: 1e-7}, {Name: "whole", Value: 3.0}, {Name: "text", Value: "it's: 1"},
		{Name: "point", Value: point(1.5)}, {Name: "points", Value: []*cdr.Struct{point(1), point(2)}},
		{Name: "bytes", Value: []uint8{1, 255}}, {Name: "texts", Value: []string{"", "a b"}},
	}...)
}

func TestYAML(t *testing.T) {
	m := message(t)
	text := string((&YAML{}).Append(nil, m.Node, m.decoder()))
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
	require.Contains(t, string(short.Append(nil, m.Node, m.decoder())),
		"bytes:\n- 1\n- '...'\ntexts:\n- '<string length: 0>'\n- '...'\n")
	lengths := YAML{NoArrays: true}
	require.Contains(t, string(lengths.Append(nil, m.Node, m.decoder())),
		"points: '<array type: p/msg/Point[2]>'\nnone: []\n")
	nan := encode(t, "float64 x", cdr.Field{Name: "x", Value: math.NaN()})
	require.Equal(t, "x: .nan\n", string((&YAML{}).Append(nil, nan.Node, nan.decoder())))
	require.Equal(t, ".nan\n", string((&YAML{}).Append(nil, nan.Inner[0], nan.decoder())))
}

// TestTexts checks that parsers of YAML and JSON return the text that was written.
func TestTexts(t *testing.T) {
	for _, text := range []string{"", "a", "base_link", "/tf", "yes", "Null", "~", "1", "1.5", "1e5", "0x1F", "-",
		"- a",
		"a: b",
		"a #b", " a", "a ", "'", `"`, "\\", "a\nb", "\t", "\x1b[2J", "\u009b2J", "\u007f", "a\u202eb", "größe", "日本",
		"&a", "*a", "!a", "%a", "@a", "`a", "{}",
		"[]", "a,b", "?", "2021-07-23", "12:30:00", "<b>", "=", "y", "...", "---", strings.Repeat("x", 300)} {
		var got struct{ V any }
		in := encode(t, "string v", cdr.Field{Name: "v", Value: text})
		written := (&YAML{}).Append(nil, in.Node, in.decoder())
		require.NoError(t, yaml.Unmarshal(written, &got), text)
		require.Equal(t, text, got.V)
		quoted := (&JSON{}).Field(nil, in.Node, in.decoder())
		require.NoError(t, json.Unmarshal(quoted, &got), text)
		require.Equal(t, text, got.V)
		for _, r := range strings.ReplaceAll(string(written)+string(quoted), "\n", "") {
			require.True(t, r == '\t' || unicode.IsPrint(r), "%q has %q", text, r)
		}
	}
}

func TestJSON(t *testing.T) {
	m := message(t)
	require.Equal(t, `{"flag":true,"count":18446744073709551615,"small":0.1,"tiny":1e-07,"whole":3,"text":"it's: 1",`+
		`"point":{"x":1.5},"points":[{"x":1},{"x":2}],"none":[],"bytes":[1,255],"texts":["","a b"],"empty":{}}`,
		string((&JSON{}).Field(nil, m.Node, m.decoder())))
	for want, j := range map[string]*JSON{`["NaN","Infinity","-Infinity"]`: {}, `[null,null,null]`: {Nulls: true}} {
		numbers := encode(t, "float64[] x",
			cdr.Field{Name: "x", Value: []float64{math.NaN(), math.Inf(1), math.Inf(-1)}})
		require.Equal(t, `{"x":`+want+"}", string(j.Field(nil, numbers.Node, numbers.decoder())))
		require.True(t, j.NonFinite)
	}
}

func TestCells(t *testing.T) {
	m := message(t)
	d := m.decoder()
	var paths, cells []string
	for _, n := range Flat([]*Node{m.Node}) {
		if n.Omitted {
			n.SkipAll(d)
			continue
		}
		paths, cells = append(paths, n.Path), append(cells, string((&JSON{}).Cell(nil, n, d)))
	}
	require.NoError(t, d.Err())
	require.Equal(t, strings.Fields("flag count small tiny whole text point.x points none bytes texts"), paths)
	require.Equal(t, []string{"true", "18446744073709551615", "0.1", "1e-07", "3", "it's: 1", "1.5",
		`[{"x":1},{"x":2}]`, "[]", "[1,255]", `["","a b"]`}, cells)
	nan := encode(t, "float64 x\nstring s", cdr.Field{Name: "x", Value: math.NaN()},
		cdr.Field{Name: "s", Value: "\xff"})
	d = nan.decoder()
	var j JSON
	require.Equal(t, "NaN", string(j.Cell(nil, nan.Inner[0], d)))
	require.Equal(t, "\ufffd", string(j.Cell(nil, nan.Inner[1], d)))
	require.True(t, j.NonFinite)
	require.True(t, j.Invalid)
}
