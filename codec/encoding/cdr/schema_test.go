package cdr

import (
	"bytes"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/rosidl"
)

// library returns definitions with every kind and shape of field.
func library() *rosidl.Library {
	return rosidl.NewLibrary(fstest.MapFS{
		"p/msg/All.msg": {Data: []byte("int8 LIMIT=3\n" +
			"bool flag true\nbyte raw 1\nchar letter 65\nint8 i8 -8\nuint8 u8 8\nint16 i16 -16\nuint16 u16 16\n" +
			"int32 i32 -32\nuint32 u32 32\nint64 i64 -64\nuint64 u64 64\nfloat32 f32 0.5\nfloat64 f64 2.5\n" +
			"string<=5 text \"hi\"\nwstring wide \"ä\"\nInner inner\nEmpty empty\n" +
			"bool[2] flags [true, false]\nint16[3] shorts [1, 2, 3]\nstring[2] words\nInner[2] pair\n" +
			"float64[] doubles\nuint8[<=4] data [1, 2]\nstring[<=2] names\nwstring[] wides\nInner[] inners\nEmpty[] " +
			"empties\nbool[] more\nbuiltin_interfaces/Time stamp\n")},
		"p/msg/Inner.msg":  {Data: []byte("uint8 a\nfloat64 b\n")},
		"p/msg/Empty.msg":  {Data: []byte("# nothing\n")},
		"p/msg/Deep.msg":   {Data: []byte("Names[] list\nInner[3] fixed\nInner last\n")},
		"p/msg/Names.msg":  {Data: []byte("string name\nuint8[] data\nwstring w\nInner inner\n")},
		"p/msg/Flat.msg":   {Data: []byte("uint8 u\nInner[2] inners\nbool[3] flags\nbuiltin_interfaces/Time stamp\n")},
		"p/msg/Loop.msg":   {Data: []byte("Loop[] more\n")},
		"p/msg/Broken.msg": {Data: []byte("Gone x\n")},
		"p/msg/Huge.msg":   {Data: []byte("Large[65536] x\n")},
		"p/msg/Large.msg":  {Data: []byte("float64[65536] x\n")},
	})
}

func newSchema(t testing.TB, name string) *Schema {
	s, err := NewSchema(library(), name)
	require.NoError(t, err)
	require.Equal(t, name, s.Name())
	return s
}

func inner(a uint8, b float64) *Struct {
	return &Struct{"p/msg/Inner", []Field{{"a", a}, {"b", b}}}
}

func empty() *Struct { return &Struct{Type: "p/msg/Empty"} }

func stamp(sec int32, nanosec uint32) *Struct {
	return &Struct{"builtin_interfaces/msg/Time", []Field{{"sec", sec}, {"nanosec", nanosec}}}
}

// defaultMessage returns a p/msg/All with the default values.
func defaultMessage() *Struct {
	return &Struct{"p/msg/All", []Field{
		{"flag", true}, {"raw", uint8(1)}, {"letter", uint8(65)}, {"i8", int8(-8)}, {"u8", uint8(8)},
		{"i16", int16(-16)}, {"u16", uint16(16)}, {"i32", int32(-32)}, {"u32", uint32(32)},
		{"i64", int64(-64)}, {"u64", uint64(64)}, {"f32", float32(0.5)}, {"f64", 2.5},
		{"text", "hi"}, {"wide", "ä"}, {"inner", inner(0, 0)}, {"empty", empty()},
		{"flags", []bool{true, false}}, {"shorts", []int16{1, 2, 3}}, {"words", []string{"", ""}},
		{"pair", []*Struct{inner(0, 0), inner(0, 0)}}, {"doubles", []float64{}}, {"data", []uint8{1, 2}},
		{"names", []string{}}, {"wides", []string{}}, {"inners", []*Struct{}}, {"empties", []*Struct{}},
		{"more", []bool{}},
		{"stamp", stamp(0, 0)},
	}}
}

// filledMessage returns a p/msg/All in which nothing is empty or zero.
func filledMessage() *Struct {
	m := defaultMessage()
	for name, v := range map[string]any{
		"wide": "ä漢😀", "inner": inner(1, 1), "words": []string{"a", "bc"}, "pair": []*Struct{inner(2, 2), inner(3, 3)},
		"doubles": []float64{1, 2}, "names": []string{"", "x"}, "wides": []string{"w", ""},
		"inners": []*Struct{inner(4, 4), inner(5, 5), inner(6, 6)}, "empties": []*Struct{empty(), empty()},
		"more": []bool{true}, "stamp": stamp(-1, 1),
	} {
		m.Fields[m.index(name)].Value = v
	}
	return m
}

// nestedMessage returns a p/msg/Deep with messages in sequences and arrays.
func nestedMessage() *Struct {
	names := func(name string, data ...uint8) *Struct {
		return &Struct{"p/msg/Names", []Field{{"name", name}, {"data", data}, {"w", name},
			{"inner", inner(uint8(len(data)), 1)}}}
	}
	return &Struct{"p/msg/Deep", []Field{
		{"list", []*Struct{names("one", 1), names("three", 1, 2, 3), names("", []uint8{}...)}},
		{"fixed", []*Struct{inner(7, 7), inner(8, 8), inner(9, 9)}},
		{"last", inner(10, 10)},
	}}
}

func TestSchemaRoundTrip(t *testing.T) {
	for name, m := range map[string]*Struct{
		"defaults": defaultMessage(), "full": filledMessage(), "deep": nestedMessage(), "empty": empty(),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "deep" {
				m.Fields[0].Value.([]*Struct)[2].Fields[1].Value = []uint8{}
			}
			s := newSchema(t, m.Type)
			payload, err := s.Encode(m)
			require.NoError(t, err)
			have, err := s.Decode(payload)
			require.NoError(t, err)
			require.Equal(t, m, have)
			for n := range payload {
				_, err := s.Decode(payload[:n])
				require.Error(t, err)
			}
			_, err = s.Decode(append(payload, make([]byte, 8)...))
			require.ErrorContains(t, err, "8 bytes left behind the last field")
		})
	}
}

func TestSchemaEncode(t *testing.T) {
	s := newSchema(t, "p/msg/All")
	want, err := s.Encode(defaultMessage())
	require.NoError(t, err)

	reversed := defaultMessage()
	for i, j := 0, len(reversed.Fields)-1; i < j; i, j = i+1, j-1 {
		reversed.Fields[i], reversed.Fields[j] = reversed.Fields[j], reversed.Fields[i]
	}
	for name, m := range map[string]*Struct{
		"nil":            nil,
		"nothing":        {},
		"nil value":      {Fields: []Field{{"flag", nil}, {"inners", nil}}},
		"any order":      reversed,
		"generated type": {Fields: []Field{{"stamp", &builtin_interfaces.Time{}}}},
		"nil element":    {Fields: []Field{{"pair", []*Struct{nil, inner(0, 0)}}}},
	} {
		t.Run(name, func(t *testing.T) {
			have, err := s.Encode(m)
			require.NoError(t, err)
			require.Equal(t, want, have)
		})
	}
}

func TestSchemaEncodeError(t *testing.T) {
	for want, f := range map[string]Field{
		"p/msg/All has no field other":                                 {"other", 1},
		"flag: value is int, not bool":                                 {"flag", 1},
		"f64: value is float32, not float64":                           {"f64", float32(1)},
		"u8: value is []uint8, not uint8":                              {"u8", []uint8{1}},
		"data: value is uint8, not []uint8":                            {"data", uint8(1)},
		"data: sequence length 5 exceeds the bound 4":                  {"data", make([]uint8, 5)},
		"shorts: value has 2 elements, but the array 3":                {"shorts", make([]int16, 2)},
		"text: string length 6 exceeds the bound 5":                    {"text", "longer"},
		"names: sequence length 3 exceeds the bound 2":                 {"names", make([]string, 3)},
		"inner: value is []uint8, not *cdr.Struct":                     {"inner", []uint8{}},
		"inner: value is a p/msg/Empty, not a p/msg/Inner":             {"inner", empty()},
		"inner: value is a geometry_msgs/msg/Point, not a p/msg/Inner": {"inner", &geometry_msgs.Point{}},
		"inner.b: value is string, not float64":                        {"inner", inner(1, 0).with("b", "x")},
		"inners: value is *cdr.Struct, not []*cdr.Struct":              {"inners", inner(1, 0)},
		"inners[1].a: value is bool, not uint8": {"inners",
			[]*Struct{inner(1, 0), inner(1, 0).with("a", true)}},
		"pair: value has 1 element, but the array 2": {"pair", []*Struct{inner(1, 0)}},
		"empty: p/msg/Empty has no field structure_needs_at_least_one_member": {"empty",
			&Struct{Fields: []Field{{"structure_needs_at_least_one_member", uint8(0)}}}},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := newSchema(t, "p/msg/All").Encode(&Struct{Fields: []Field{f}})
			require.EqualError(t, err, "encode p/msg/All: "+want)
		})
	}
	_, err := newSchema(t, "p/msg/Inner").Encode(&Struct{Fields: []Field{{"a", uint8(1)}, {"b", 1.0}, {"a", uint8(1)}}})
	require.ErrorContains(t, err, "field a is given twice")
	_, err = newSchema(t, "p/msg/Inner").Encode(empty())
	require.ErrorContains(t, err, "value is a p/msg/Empty, not a p/msg/Inner")
}

// with sets a field of s and returns s.
func (s *Struct) with(name string, v any) *Struct {
	s.Fields[s.index(name)].Value = v
	return s
}

func TestSchemaDecodeError(t *testing.T) {
	for name, c := range map[string]struct{ typeName, payload, want string }{
		"short": {"p/msg/Inner", "00010000 01",
			"decode p/msg/Inner: offset 4: p/msg/Inner takes 9 bytes or more, but only 1 are left"},
		"padding counts": {"p/msg/Inner", "00010000 01 000000 00000000 0000",
			"decode p/msg/Inner: b: offset 5: bytes needed: 8, left: 2"},
		"huge count": {"p/msg/Deep", "00010000 ffffffff" + strings.Repeat("00", 40),
			"decode p/msg/Deep: list: offset 8: sequence length 4294967295 does not fit: " +
				"bytes needed: 90194313195, left: 40"},
		"path": {"p/msg/Deep", "00010000 02000000" +
			"00000000 00000000 00000000 01 00000000000000 000000000000f03f 50000000" + strings.Repeat("00", 40),
			"decode p/msg/Deep: list[1].name: offset 40: string length 80 does not fit: bytes left: 40"},
		"XCDR2":       {"p/msg/Inner", "00070000 00", "decode p/msg/Inner: CDR header 00 07 00 00 names XCDR2"},
		"large array": {"p/msg/Large", "00010000 00", "takes 524288 bytes or more"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newSchema(t, c.typeName).Decode(unhex(t, c.payload))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestSchemaBigEndian(t *testing.T) {
	m, err := newSchema(t, "p/msg/Names").Decode(unhex(t,
		"00000000 00000003 616200 00 00000002 0708 0000 00000001 00000041 05 00000000000000 3ff0000000000000"))
	require.NoError(t, err)
	require.Equal(t, &Struct{"p/msg/Names", []Field{{"name", "ab"}, {"data", []uint8{7, 8}}, {"w", "A"},
		{"inner", inner(5, 1)}}}, m)
}

func TestNewSchemaError(t *testing.T) {
	for name, want := range map[string]string{
		"p/msg/None":   "schema of p/msg/None: unknown type p/msg/None",
		"p/msg/Loop":   "contains itself",
		"p/msg/Broken": "unknown type p/msg/Gone",
		"p/msg/Huge":   "schema of p/msg/Huge: x: a message of 1073741824 bytes or more is not supported",
		"nonsense":     "nonsense",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewSchema(library(), name)
			require.ErrorContains(t, err, want)
			if strings.Contains(want, "unknown") {
				require.ErrorIs(t, err, rosidl.ErrUnknownType)
			}
		})
	}
}

func TestGet(t *testing.T) {
	m := inner(1, 2)
	require.Equal(t, 2.0, m.Get("b"))
	require.Nil(t, m.Get("c"))
}

func TestPathGet(t *testing.T) {
	list := func(m *Struct, name string, i int) *Struct { return m.Get(name).([]*Struct)[i] }
	for _, c := range []struct {
		message *Struct
		path    string
		want    any
	}{
		{filledMessage(), "flag", true},
		{filledMessage(), "f64", 2.5},
		{filledMessage(), "inner", inner(1, 1)},
		{filledMessage(), "inner.b", 1.0},
		{filledMessage(), "shorts[2]", int16(3)},
		{filledMessage(), "words[1]", "bc"},
		{filledMessage(), "pair[1].b", 3.0},
		{filledMessage(), "doubles[1]", 2.0},
		{filledMessage(), "doubles", []float64{1, 2}},
		{filledMessage(), "data", []uint8{1, 2}},
		{filledMessage(), "wides[0]", "w"},
		{filledMessage(), "inners[2].b", 6.0},
		{filledMessage(), "empties[1]", empty()},
		{filledMessage(), "more[0]", true},
		{filledMessage(), "stamp.nanosec", uint32(1)},
		{nestedMessage(), "list[1].data[2]", uint8(3)},
		{nestedMessage(), "list[2].inner", list(nestedMessage(), "list", 2).Get("inner")},
		{nestedMessage(), "fixed[2].a", uint8(9)},
		{nestedMessage(), "last", inner(10, 10)},
	} {
		t.Run(c.message.Type+"."+c.path, func(t *testing.T) {
			s := newSchema(t, c.message.Type)
			payload, err := s.Encode(c.message)
			require.NoError(t, err)
			path, err := s.Path(c.path)
			require.NoError(t, err)
			have, err := path.Get(payload)
			require.NoError(t, err)
			require.Equal(t, c.want, have)
		})
	}
}

func TestPathError(t *testing.T) {
	for path, want := range map[string]string{
		"":               `path "" in p/msg/All: p/msg/All has no field ""`,
		"none":           `path "none" in p/msg/All: p/msg/All has no field "none"`,
		"inner.none":     `p/msg/Inner has no field "none"`,
		"inner.":         `p/msg/Inner has no field ""`,
		"flag.x":         "flag has no fields",
		"flag[0]":        "flag is not an array",
		"inners.a":       "inners is an array: select one element, inners[0]",
		"pair[2]":        "pair has at most 2 elements",
		"data[4]":        "data has at most 4 elements",
		"inners[-1]":     `"[-1]" is not an index`,
		"inners[1":       `"[1" is not an index`,
		"inners[]":       `"[]" is not an index`,
		"inners[1]x":     `"[1]x" is not an index`,
		"doubles[0][0]":  `"[0][0]" is not an index`,
		"inners[9e9]":    "is not an index",
		"wides[3000000]": "",
	} {
		t.Run(path, func(t *testing.T) {
			_, err := newSchema(t, "p/msg/All").Path(path)
			if want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, want)
		})
	}

	s := newSchema(t, "p/msg/Deep")
	payload, err := s.Encode(nestedMessage())
	require.NoError(t, err)
	path, err := s.Path("list[3].name")
	require.NoError(t, err)
	_, err = path.Get(payload)
	require.EqualError(t, err, "read p/msg/Deep.list[3].name: offset 8: list has 3 elements, no [3]")
	_, err = path.Offset(payload)
	require.ErrorContains(t, err, "list has 3 elements, no [3]")
}

func TestPathOffset(t *testing.T) {
	s := newSchema(t, "p/msg/Flat") // u, pad, (a, pad, b)×2, flags, pad, stamp
	for path, want := range map[string]int{
		"u": 4, "inners": 5, "inners[0].b": 12, "inners[1]": 20, "inners[1].b": 28, "flags": 36, "flags[2]": 38,
		"stamp":         40,
		"stamp.nanosec": 44,
	} {
		t.Run(path, func(t *testing.T) {
			p, err := s.Path(path)
			require.NoError(t, err)
			require.Empty(t, p.steps, "all fields have fixed offsets")
			payload, err := s.Encode(nil)
			require.NoError(t, err)
			require.Len(t, payload, 48)
			have, err := p.Offset(payload)
			require.NoError(t, err)
			require.Equal(t, want, have)
			_, err = p.Offset(payload[:want])
			require.Error(t, err)
		})
	}
}

// TestPathNumber checks that Number agrees with Get about numbers and bools.
func TestPathNumber(t *testing.T) {
	s := newSchema(t, "p/msg/All")
	payload, err := s.Encode(defaultMessage())
	require.NoError(t, err)
	numbers := 0
	for _, f := range defaultMessage().Fields {
		p, err := s.Path(f.Name)
		require.NoError(t, err)
		n, ok, err := p.Number(payload)
		require.NoError(t, err)
		v, err := p.Get(payload)
		require.NoError(t, err)
		switch value := reflect.ValueOf(v); {
		case value.CanInt():
			require.Equal(t, float64(value.Int()), n, f.Name)
		case value.CanUint():
			require.Equal(t, float64(value.Uint()), n, f.Name)
		case value.CanFloat():
			require.Equal(t, value.Float(), n, f.Name)
		case v == true:
			require.Equal(t, 1., n, f.Name)
		case v == false:
			require.Zero(t, n, f.Name)
		default:
			require.False(t, ok, f.Name)
			continue
		}
		require.True(t, ok, f.Name)
		numbers++
		require.Zero(t, testing.AllocsPerRun(10, func() { n, ok, err = p.Number(payload) }))
		_, _, err = p.Number(payload[:4])
		require.ErrorContains(t, err, "read p/msg/All."+f.Name)
	}
	require.Greater(t, numbers, 10)
}

// TestAppendNumbers checks that AppendNumbers agrees with Get about numbers and arrays of numbers, and that it fails
// for other fields and cut payloads.
func TestAppendNumbers(t *testing.T) {
	s := newSchema(t, "p/msg/All")
	payload, err := s.Encode(filledMessage())
	require.NoError(t, err)
	arrays := 0
	for _, f := range filledMessage().Fields {
		p, err := s.Path(f.Name)
		require.NoError(t, err)
		v, err := p.Get(payload)
		require.NoError(t, err)
		have, err := p.AppendNumbers([]float64{7}, payload)
		value := reflect.ValueOf(v)
		if kind := p.Type().Kind; kind == rosidl.Nested || kind == rosidl.String || kind == rosidl.WString {
			if value.Kind() != reflect.Slice || value.Len() > 0 {
				require.ErrorContains(t, err, "read p/msg/All."+f.Name)
				require.ErrorContains(t, err, "the field is not a number")
			}
			continue
		}
		require.NoError(t, err)
		want := []float64{7}
		if value.Kind() == reflect.Slice {
			arrays++
			for i := range value.Len() {
				want = append(want, toFloat(value.Index(i)))
			}
		} else {
			want = append(want, toFloat(value))
		}
		require.Equal(t, want, have, f.Name)
		_, err = p.AppendNumbers(nil, payload[:4])
		require.ErrorContains(t, err, "read p/msg/All."+f.Name)
	}
	require.Greater(t, arrays, 2)
}

// toFloat returns a number, or 0 or 1 for a bool.
func toFloat(v reflect.Value) float64 {
	switch {
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	case v.Kind() == reflect.Bool && v.Bool():
		return 1
	case v.Kind() == reflect.Bool:
		return 0
	}
	return v.Float()
}

// TestNumbers checks that Numbers agrees with Path.Number for fields at fixed and at varying offsets.
func TestNumbers(t *testing.T) {
	s := newSchema(t, "p/msg/All")
	payload, err := s.Encode(filledMessage())
	require.NoError(t, err)
	var numbers Numbers
	var paths []*Path
	for _, name := range []string{"i8", "f64", "f32", "text", "shorts[2]", "shorts[0]", "doubles[0]", "stamp.nanosec",
		"stamp.sec", "doubles[7000]", "u64", "flag"} {
		p, err := s.Path(name)
		require.NoError(t, err, name)
		numbers.Add(p)
		paths = append(paths, p)
	}
	for _, data := range [][]byte{payload, payload, payload[:len(payload)/2], payload[:5], nil} {
		seen := 0
		require.NoError(t, numbers.Each(data, func(i int, v float64, ok bool, err error) error {
			want, known, wrong := paths[i].Number(data)
			require.Equal(t, want, v, paths[i].name)
			require.Equal(t, known, ok, paths[i].name)
			require.Equal(t, wrong, err, paths[i].name)
			seen++
			return nil
		}))
		require.Equal(t, len(paths), seen)
	}
	require.ErrorIs(t, numbers.Each(payload, func(int, float64, bool, error) error { return io.EOF }), io.EOF)
}

// TestShape changes each byte of a payload. Where Shape.Same still holds, all fields must keep their offsets.
func TestShape(t *testing.T) {
	text := "int8 i8\nstring text\nfloat32 f32\nfloat64 f64\nInner[] inners\nNames[2] pair\nbool flag\n" +
		"float64[] doubles\n"
	lib := rosidl.NewLibrary(fstest.MapFS{
		"p/msg/X.msg":     {Data: []byte(text)},
		"p/msg/Inner.msg": {Data: []byte("uint8 a\nfloat64 b\n")},
		"p/msg/Names.msg": {Data: []byte("string name\nuint8[] data\nstring[<=3] more\n")},
	})
	s, err := NewSchema(lib, "p/msg/X")
	require.NoError(t, err)
	names := func(name string) *Struct {
		return &Struct{"p/msg/Names", []Field{{"name", name}, {"data", []uint8{1, 2}}, {"more", []string{name, ""}}}}
	}
	m := &Struct{"p/msg/X", []Field{{"i8", int8(-1)}, {"text", "hello"}, {"f32", float32(2)}, {"f64", 3.5},
		{"inners", []*Struct{inner(1, 2), inner(3, 4)}}, {"pair", []*Struct{names("a"), names("bc")}}, {"flag", true},
		{"doubles", []float64{5, 6}}}}
	payload, err := s.Encode(m)
	require.NoError(t, err)
	var paths []*Path
	var numbers Numbers
	for _, name := range strings.Fields("i8 f32 f64 inners[1].a inners[1].b flag doubles[1] pair[1].data[1]") {
		p, err := s.Path(name)
		require.NoError(t, err)
		paths = append(paths, p)
		numbers.Add(p)
	}
	shape, same := s.Shape(), 0
	for i := range payload {
		for _, add := range []byte{1, 2, 0x80} {
			require.False(t, shape.Same(nil))
			require.False(t, shape.Same(payload))
			other := bytes.Clone(payload)
			other[i] += add
			if !shape.Same(other) {
				continue
			}
			same++
			for _, p := range paths {
				at, err := p.Offset(payload)
				require.NoError(t, err)
				moved, err := p.Offset(other)
				require.NoError(t, err, "%s, byte %d", p.name, i)
				require.Equal(t, at, moved, "%s, byte %d", p.name, i)
			}
			require.NoError(t, numbers.Each(payload, func(int, float64, bool, error) error { return nil }))
			require.NoError(t, numbers.Each(payload, func(int, float64, bool, error) error { return nil }))
			require.NoError(t, numbers.Each(other, func(i int, v float64, ok bool, err error) error {
				want, known, wrong := paths[i].Number(other)
				require.Equal(t, math.Float64bits(want), math.Float64bits(v), paths[i].name)
				require.Equal(t, known, ok)
				require.Equal(t, wrong, err)
				return nil
			}))
		}
	}
	require.Greater(t, same, len(payload))
	shape.Same(payload)
	require.True(t, shape.Same(payload))
	require.Zero(t, testing.AllocsPerRun(10, func() { shape.Same(payload) }))

	big := bytes.Clone(payload)
	big[1] = 0
	for _, wrong := range [][]byte{big, payload[:len(payload)-1], payload[:3], nil} {
		require.False(t, shape.Same(wrong))
		require.False(t, shape.Same(wrong))
	}
	m.Fields[5].Value.([]*Struct)[0].Fields[2].Value = []string{"a", "b", "c"}
	m.Fields[1].Value = "hi"
	other, err := s.Encode(m)
	require.NoError(t, err)
	require.False(t, shape.Same(other))
	require.True(t, shape.Same(other))

	wide := newSchema(t, "p/msg/All")
	payload, err = wide.Encode(filledMessage())
	require.NoError(t, err)
	shape = wide.Shape()
	shape.Same(payload)
	require.False(t, shape.Same(payload), "the contents of a wstring determine the size of a character")
}

func TestPathText(t *testing.T) {
	s := newSchema(t, "p/msg/All")
	payload, err := s.Encode(defaultMessage())
	require.NoError(t, err)
	p, err := s.Path("text")
	require.NoError(t, err)
	var text string
	require.NoError(t, p.Text(payload, &text))
	require.Equal(t, "hi", text)
	require.Zero(t, testing.AllocsPerRun(10, func() { err = p.Text(payload, &text) }))
	require.NoError(t, err)
	require.ErrorContains(t, p.Text(payload[:20], &text), "read p/msg/All.text")
	number, err := s.Path("i8")
	require.NoError(t, err)
	require.ErrorContains(t, number.Text(payload, &text), "the field is not a string")
}

// FuzzSchema walks over any payload with any definition.
func FuzzSchema(f *testing.F) {
	lib := library()
	for _, m := range []*Struct{defaultMessage(), filledMessage(), nestedMessage()} {
		text, err := lib.Concatenated(m.Type)
		require.NoError(f, err)
		payload, err := newSchema(f, m.Type).Encode(m)
		require.NoError(f, err)
		f.Add(text, payload)
	}
	f.Add("p/A[3] x\nuint8 y\n"+strings.Repeat("=", 80)+"\nMSG: p/A\nint64[2] z\nbool b\n", make([]byte, 64))
	f.Fuzz(func(t *testing.T, text string, payload []byte) {
		lib, err := rosidl.ParseConcatenated("p/msg/X", text)
		if err != nil {
			return
		}
		s, err := NewSchema(lib, "p/msg/X")
		if err != nil {
			return
		}
		m, err := s.Decode(payload)
		if err != nil {
			return
		}
		for _, field := range m.Fields {
			path, err := s.Path(field.Name)
			require.NoError(t, err)
			_, err = path.Offset(payload)
			require.NoError(t, err)
			v, err := path.Get(payload)
			require.NoError(t, err)
			require.Equal(t, reflect.TypeOf(field.Value), reflect.TypeOf(v))
		}
		// A decoded message fits the definition, so it can be encoded; another round must not change the payload.
		once, err := s.Encode(m)
		require.NoError(t, err)
		m, err = s.Decode(once)
		require.NoError(t, err)
		twice, err := s.Encode(m)
		require.NoError(t, err)
		require.Equal(t, once, twice)
	})
}
