// Package table tests codec/format/table against other programs: DuckDB and hyparquet read Parquet, and Python's
// modules read CSV and JSON.
package table

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/table"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
	"tapedeck/test/internal/process"
)

// definition has fields of all kinds and shapes.
const definition = `std_msgs/Header header
bool flag
byte octet
char letter
int8 i8
uint8 u8
int16 i16
uint16 u16
int32 i32
uint32 u32
int64 i64
uint64 u64
float32 f32
float64 f64
string text
wstring wide
p/Empty empty
p/Inner inner
float64[3] fixed
bool[] flags
uint16[] numbers
uint8[<=4] few
uint8[] pixels
string[] texts
p/Inner[] inners
p/Empty[] empties
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
================================================================================
MSG: p/Empty
================================================================================
MSG: p/Inner
float32 x
int32[] list
p/Leaf leaf
p/Leaf[] leaves
================================================================================
MSG: p/Leaf
string name
`

// channel returns a channel of messages of definition.
func channel() *codec.Channel {
	return &codec.Channel{Topic: "/all", Type: "p/msg/All", Encoding: codec.EncodingCDR,
		QoS:    []codec.QoS{codec.DefaultQoS()},
		Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(definition)}}
}

// message returns a message of a type.
func message(typeName string, fields ...cdr.Field) *cdr.Struct {
	return &cdr.Struct{Type: typeName, Fields: fields}
}

// fullMessage returns a message of definition with all fields set.
func fullMessage() *cdr.Struct {
	leaf := func(name string) *cdr.Struct { return message("p/msg/Leaf", cdr.Field{Name: "name", Value: name}) }
	inner := func(x float32, list []int32, leaves ...*cdr.Struct) *cdr.Struct {
		return message("p/msg/Inner", cdr.Field{Name: "x", Value: x}, cdr.Field{Name: "list", Value: list},
			cdr.Field{Name: "leaf", Value: leaf("a leaf")}, cdr.Field{Name: "leaves", Value: leaves})
	}
	stamp := message("builtin_interfaces/msg/Time", cdr.Field{Name: "sec", Value: int32(-2)},
		cdr.Field{Name: "nanosec", Value: uint32(1)})
	return message("p/msg/All",
		cdr.Field{Name: "header", Value: message("std_msgs/msg/Header", cdr.Field{Name: "stamp", Value: stamp},
			cdr.Field{Name: "frame_id", Value: "map"})},
		cdr.Field{Name: "flag", Value: true}, cdr.Field{Name: "octet", Value: uint8(255)},
		cdr.Field{Name: "letter", Value: uint8('A')}, cdr.Field{Name: "i8", Value: int8(-128)},
		cdr.Field{Name: "u8", Value: uint8(200)}, cdr.Field{Name: "i16", Value: int16(-32768)},
		cdr.Field{Name: "u16", Value: uint16(65535)}, cdr.Field{Name: "i32", Value: int32(math.MinInt32)},
		cdr.Field{Name: "u32", Value: uint32(math.MaxUint32)}, cdr.Field{Name: "i64", Value: int64(math.MinInt64)},
		cdr.Field{Name: "u64", Value: uint64(math.MaxUint64)}, cdr.Field{Name: "f32", Value: float32(0.1)},
		cdr.Field{Name: "f64", Value: math.NaN()},
		cdr.Field{Name: "text", Value: "a \"b\",\r\nc; ä 日本 "}, cdr.Field{Name: "wide", Value: "größe"},
		cdr.Field{Name: "inner", Value: inner(1.5, []int32{7})},
		cdr.Field{Name: "fixed", Value: []float64{math.Inf(1), -0.5, 1e300}},
		cdr.Field{Name: "flags", Value: []bool{true, false}}, cdr.Field{Name: "numbers", Value: []uint16{1, 65535}},
		cdr.Field{Name: "few", Value: []uint8{1, 255}}, cdr.Field{Name: "pixels", Value: []uint8{1, 2, 3}},
		cdr.Field{Name: "texts", Value: []string{"", "x,y", "\"\n"}},
		cdr.Field{Name: "inners", Value: []*cdr.Struct{inner(1, []int32{1, 2}, leaf("l1"), leaf("l2")), inner(2, nil),
			inner(3, []int32{3}, leaf(""))}},
		cdr.Field{Name: "empties", Value: []*cdr.Struct{{Type: "p/msg/Empty"}, {Type: "p/msg/Empty"}}})
}

// Log times of the two messages, in ns. The second message has no publish time.
const first, second = 1_700_000_000_123_456_789, 1_700_000_001_000_000_001

// write writes a table with a full and an empty message, and returns its path. inBigEndian selects the byte order of
// the payloads.
func write(t *testing.T, f codec.Format, inBigEndian bool) string {
	library, err := rosidl.ParseConcatenated("p/msg/All", definition)
	require.NoError(t, err)
	schema, err := cdr.NewSchema(library, "p/msg/All")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "all."+f.Name)
	w, err := codec.Formats{f}.Create(path, codec.CreateOptions{Metadata: map[string]string{"place": "here"}})
	require.NoError(t, err)
	c := channel()
	for i, s := range []*cdr.Struct{fullMessage(), message("p/msg/All")} {
		data, err := schema.Encode(s)
		require.NoError(t, err)
		m := codec.Message{Channel: c, LogTime: first, PublishTime: first - 1, Data: data}
		if i > 0 {
			m.LogTime, m.PublishTime = second, 0
		}
		if inBigEndian {
			m.Data = bigEndian(t, schema, data)
		}
		require.NoError(t, w.Write(&m))
	}
	require.NoError(t, w.Close())
	return path
}

// bigEndian returns the big-endian form of a little-endian payload.
func bigEndian(t *testing.T, schema *cdr.Schema, payload []byte) []byte {
	d, b := wire.NewDecoder(payload), make([]byte, 4)
	number := func(size int, v uint64) {
		for (len(b)-4)%size != 0 {
			b = append(b, 0)
		}
		for i := size - 1; i >= 0; i-- {
			b = append(b, byte(v>>(8*i)))
		}
	}
	var values func(fields []cdr.FieldType)
	values = func(fields []cdr.FieldType) {
		if len(fields) == 0 {
			number(1, uint64(d.Uint8()))
		}
		for _, f := range fields {
			n := f.Count(d)
			if f.Shape == rosidl.Sequence {
				number(4, uint64(n))
			}
			for range n {
				switch size := f.Kind.Size(); {
				case f.Kind == rosidl.Nested:
					values(f.Fields())
				case f.Kind == rosidl.String:
					text := d.String(0)
					number(4, uint64(len(text)+1))
					b = append(append(b, text...), 0)
				case f.Kind == rosidl.WString:
					text := []rune(d.WString(0))
					number(4, uint64(len(text)))
					for _, r := range text {
						number(4, uint64(r))
					}
				default:
					raw := append(append([]byte{}, d.Raw(size, size)...), make([]byte, 8-size)...)
					number(size, binary.LittleEndian.Uint64(raw))
				}
			}
		}
	}
	values(schema.Fields())
	require.NoError(t, schema.Finish(d))
	return b
}

// notRead is the consequence of missing Node.js.
const notRead = "Parquet is not read by others"

// peer runs a program in a folder and decodes its output, which is JSON.
func peer(t *testing.T, into any, dir, name string, args ...string) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	require.NoError(t, json.Unmarshal(output, into), "%s", output)
}

// script returns the absolute path of a file beside this one.
func script(t *testing.T, name string) string {
	path, err := filepath.Abs(name)
	require.NoError(t, err)
	return path
}

// result is the result of a query of DuckDB.
type result struct {
	Names, Types []string
	Rows         [][]json.RawMessage
}

// texts returns name, type and value of each column of a row.
func (r result) texts(row int) (all []string) {
	for i, value := range r.Rows[row] {
		all = append(all, r.Names[i]+" "+r.Types[i]+" "+string(value))
	}
	return all
}

// TestDuckDB checks types, values and metadata of Parquet as DuckDB reads them.
func TestDuckDB(t *testing.T) {
	dir := process.Modules(t, notRead)
	const leaf = `STRUCT("name" VARCHAR)`
	const inner = `STRUCT("x" FLOAT, "list" INTEGER[], "leaf" ` + leaf + `, "leaves" ` + leaf + `[])[]`
	want := []string{
		`log_time TIMESTAMP_NS "2023-11-14 22:13:20.123456789"`,
		`publish_time TIMESTAMP_NS "2023-11-14 22:13:20.123456788"`,
		`header_stamp TIMESTAMP_NS "1969-12-31 23:59:58.000000001"`,
		`header.stamp.sec INTEGER -2`, `header.stamp.nanosec UINTEGER 1`, `header.frame_id VARCHAR "map"`,
		`flag BOOLEAN true`, `octet UTINYINT 255`, `letter UTINYINT 65`, `i8 TINYINT -128`, `u8 UTINYINT 200`,
		`i16 SMALLINT -32768`, `u16 USMALLINT 65535`, `i32 INTEGER -2147483648`, `u32 UINTEGER 4294967295`,
		`i64 BIGINT "-9223372036854775808"`, `u64 UBIGINT "18446744073709551615"`,
		`f32 FLOAT 0.10000000149011612`, `f64 DOUBLE "NaN"`, `text VARCHAR "a \"b\",\r\nc; ä 日本 "`,
		`wide VARCHAR "größe"`, `inner.x FLOAT 1.5`, `inner.list INTEGER[] [7]`, `inner.leaf.name VARCHAR "a leaf"`,
		`inner.leaves ` + leaf + `[] []`, `fixed DOUBLE[] ["Infinity",-0.5,1e+300]`,
		`flags BOOLEAN[] [true,false]`, `numbers USMALLINT[] [1,65535]`, `few UTINYINT[] [1,255]`,
		`texts VARCHAR[] ["","x,y","\"\n"]`,
		`inners ` + inner + ` [{"x":1,"list":[1,2],"leaf":{"name":"a leaf"},"leaves":[{"name":"l1"},{"name":"l2"}]},` +
			`{"x":2,"list":[],"leaf":{"name":"a leaf"},"leaves":[]},` +
			`{"x":3,"list":[3],"leaf":{"name":"a leaf"},"leaves":[{"name":""}]}]`,
		`empties BOOLEAN[] [true,true]`,
	}
	for _, big := range []bool{false, true} {
		path := write(t, table.Parquet, big)
		var got []result
		peer(t, &got, dir, "node", script(t, "peer.js"), "duckdb", "SELECT * FROM '"+path+"' ORDER BY log_time",
			"SELECT key::VARCHAR, value::VARCHAR FROM parquet_kv_metadata('"+path+"') ORDER BY key")
		require.Equal(t, want, got[0].texts(0))
		empty := got[0].texts(1)
		require.Equal(t, []string{`log_time TIMESTAMP_NS "2023-11-14 22:13:21.000000001"`,
			`publish_time TIMESTAMP_NS null`, `header_stamp TIMESTAMP_NS "1970-01-01 00:00:00"`}, empty[:3])
		require.Equal(t, []string{`fixed DOUBLE[] [0,0,0]`, `flags BOOLEAN[] []`, `numbers USMALLINT[] []`,
			`few UTINYINT[] []`, `texts VARCHAR[] []`, `inners ` + inner + ` []`, `empties BOOLEAN[] []`},
			empty[len(empty)-7:])
		keys := map[string]string{}
		for _, row := range got[1].Rows {
			var key, value string
			require.NoError(t, json.Unmarshal(row[0], &key))
			require.NoError(t, json.Unmarshal(row[1], &value))
			keys[key] = value
		}
		require.Equal(t, definition, strings.ReplaceAll(keys["definition"], `\x0A`, "\n"))
	}

	// Arrays of bytes are kept only with the option Bytes.
	path := write(t, table.Options{Bytes: true}.Parquet(), false)
	var got []result
	peer(t, &got, dir, "node", script(t, "peer.js"), "duckdb", "SELECT hex(pixels) AS h FROM '"+path+"'")
	require.Equal(t, []string{`h VARCHAR "010203"`}, got[0].texts(0))
	require.Equal(t, []string{`h VARCHAR ""`}, got[0].texts(1))
}

// TestHyparquet checks Parquet in all compressions as hyparquet reads it.
func TestHyparquet(t *testing.T) {
	dir := process.Modules(t, notRead)
	var got struct {
		Groups []int
		Keys   map[string]string
		Rows   []map[string]any
	}
	for _, compression := range []string{"", "zstd", "none"} {
		path := filepath.Join(t.TempDir(), "all.parquet")
		w, err := table.Parquet.Create(path, codec.CreateOptions{Compression: compression, ChunkSize: 2000,
			Metadata: map[string]string{"place": "here"}})
		require.NoError(t, err)
		library, err := rosidl.ParseConcatenated("p/msg/All", definition)
		require.NoError(t, err)
		schema, err := cdr.NewSchema(library, "p/msg/All")
		require.NoError(t, err)
		data, err := schema.Encode(fullMessage())
		require.NoError(t, err)
		c := channel()
		for i := range 10 {
			require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: first + int64(i), Data: data}))
		}
		require.NoError(t, w.Close())
		peer(t, &got, dir, "node", script(t, "peer.js"), "hyparquet", path)
		require.Greater(t, len(got.Groups), 1, "ChunkSize does not limit row groups")
		require.Len(t, got.Rows, 10)
		require.Equal(t, map[string]string{"topic": "/all", "type": "p/msg/All", "type_hash": "",
			"definition": definition, "definition_encoding": "ros2msg", "recording.place": "here",
			"offered_qos_profiles": strings.TrimSpace(codec.FormatQoSProfiles(c.QoS))}, got.Keys)
		for _, row := range got.Rows {
			require.Equal(t, "a \"b\",\r\nc; ä 日本 ", row["text"])
			require.Equal(t, "18446744073709551615", row["u64"])
			require.Equal(t, []any{"Infinity", -0.5, 1e300}, row["fixed"])
			require.Equal(t, []any{"", "x,y", "\"\n"}, row["texts"])
			require.Len(t, row["inners"], 3)
			require.NotContains(t, row, "pixels")
		}
	}
}

// TestPython checks CSV and JSON as Python's modules read them.
func TestPython(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed (Debian: python3); CSV and JSON are not read by others")
	}
	iso := table.Options{Times: "iso", Bytes: true}
	var rows [][]string
	peer(t, &rows, "", "python3", "peer.py", "csv", write(t, table.CSV, false))
	require.Len(t, rows, 3)
	got := map[string]string{}
	for i, name := range rows[0] {
		got[name] = rows[1][i]
	}
	require.Equal(t, map[string]string{"log_time": "1700000000123456789", "publish_time": "1700000000123456788",
		"header_stamp": "-1999999999", "header.stamp.sec": "-2", "header.stamp.nanosec": "1", "header.frame_id": "map",
		"flag": "true", "octet": "255", "letter": "65", "i8": "-128", "u8": "200", "i16": "-32768", "u16": "65535",
		"i32": "-2147483648", "u32": "4294967295", "i64": "-9223372036854775808", "u64": "18446744073709551615",
		"f32": "0.1", "f64": "NaN", "text": "a \"b\",\r\nc; ä 日本 ", "wide": "größe", "inner.x": "1.5",
		"inner.list": "[7]", "inner.leaf.name": "a leaf", "inner.leaves": "[]", "fixed": `["Infinity",-0.5,1e+300]`,
		"flags": "[true,false]", "numbers": "[1,65535]", "few": "[1,255]", "texts": `["","x,y","\"\n"]`,
		"inners": `[{"x":1,"list":[1,2],"leaf":{"name":"a leaf"},"leaves":[{"name":"l1"},{"name":"l2"}]},` +
			`{"x":2,"list":[],"leaf":{"name":"a leaf"},"leaves":[]},` +
			`{"x":3,"list":[3],"leaf":{"name":"a leaf"},"leaves":[{"name":""}]}]`,
		"empties": "[{},{}]"}, got)
	require.Equal(t, []string{"1700000001000000001", "", "0"}, rows[2][:3])

	peer(t, &rows, "", "python3", "peer.py", "csv", write(t, iso.CSV(), true))
	require.Equal(t, []string{"2023-11-14T22:13:20.123456789Z", "2023-11-14T22:13:20.123456788Z",
		"1969-12-31T23:59:58.000000001Z"}, rows[1][:3])
	require.Contains(t, rows[1], "[1,2,3]")

	var lines []struct {
		Topic   string
		LogTime json.RawMessage `json:"log_time"`
		Sent    json.RawMessage `json:"publish_time"`
		Message map[string]any
	}
	peer(t, &lines, "", "python3", "peer.py", "jsonl", write(t, table.JSONL, false))
	require.Len(t, lines, 2)
	require.Equal(t, "/all", lines[0].Topic)
	require.Equal(t, "1700000000123456789", string(lines[0].LogTime))
	require.Nil(t, lines[1].Sent)
	m := lines[0].Message
	require.Nil(t, m["f64"])
	require.Contains(t, m, "f64")
	require.Equal(t, []any{nil, -0.5, 1e300}, m["fixed"])
	require.Equal(t, "a \"b\",\r\nc; ä 日本 ", m["text"])
	require.Equal(t, map[string]any{"sec": -2.0, "nanosec": 1.0}, m["header"].(map[string]any)["stamp"])
	require.NotContains(t, m, "pixels")
	require.Empty(t, lines[1].Message["inners"])
	peer(t, &lines, "", "python3", "peer.py", "jsonl", write(t, iso.JSONL(), true))
	require.Equal(t, `"2023-11-14T22:13:20.123456789Z"`, string(lines[0].LogTime))
	require.Equal(t, []any{1.0, 2.0, 3.0}, lines[0].Message["pixels"])
}

// TestBounds checks that DuckDB's queries find all rows, although DuckDB skips row groups by the bounds of their
// columns. DuckDB takes NaN for greater than all numbers.
func TestBounds(t *testing.T) {
	dir := process.Modules(t, notRead)
	c := &codec.Channel{Topic: "/t", Type: "p/msg/T", Encoding: codec.EncodingCDR, Schema: codec.Schema{
		Encoding: codec.SchemaROS2Msg, Data: []byte("float64 x\nuint64 n\nstring s\nbool[] b\nint16[] l\n")}}
	schema, err := cdr.NewSchema(c.Library(nil), c.Type)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "t.parquet")
	w, err := table.Parquet.Create(path, codec.CreateOptions{ChunkSize: 4000})
	require.NoError(t, err)
	for i := range 1000 {
		x := float64(i)
		if i == 500 {
			x = math.NaN()
		}
		m := message(c.Type, cdr.Field{Name: "x", Value: x}, cdr.Field{Name: "n", Value: uint64(i) << 54},
			cdr.Field{Name: "s", Value: strings.Repeat("s", i%3)},
			cdr.Field{Name: "b", Value: []bool{true, false, true, true, false, false, true, true, true}[:i%10]},
			cdr.Field{Name: "l", Value: []int16{-1, int16(i)}[:i%3]})
		data, err := schema.Encode(m)
		require.NoError(t, err)
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: int64(i), Data: data}))
	}
	require.NoError(t, w.Close())
	var got []result
	peer(t, &got, dir, "node", script(t, "peer.js"), "duckdb", "SELECT count(*)::INT AS n FROM '"+path+"' WHERE x > 990",
		"SELECT count(*)::INT AS n FROM '"+path+"' WHERE n >= 17990000000000000000",
		"SELECT count(*)::INT AS n FROM '"+path+"' WHERE s = 'ss'",
		"SELECT sum(len(list_filter(b, lambda x: x)))::INT AS n FROM '"+path+"'",
		"SELECT count(*)::INT AS n FROM '"+path+"' WHERE list_contains(l, 998)",
		"SELECT count(DISTINCT row_group_id)::INT AS n FROM parquet_metadata('"+path+"')")
	for i, want := range []string{"10", "1", "333", "2800", "1"} {
		require.Equal(t, "n INTEGER "+want, got[i].texts(0)[0], i)
	}
	require.NotEqual(t, "n INTEGER 1", got[5].texts(0)[0])
}
