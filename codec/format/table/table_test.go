package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/encoding/field"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

// allFormats are the formats of tables.
var allFormats = []codec.Format{Parquet, CSV, JSONL}

// newChannel returns a channel with a definition, or with a type of package msgs.
func newChannel(topic, typeName, definition string) *codec.Channel {
	c := &codec.Channel{Topic: topic, Type: typeName, Encoding: codec.EncodingCDR}
	if definition != "" {
		c.Schema = codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(definition)}
	}
	return c
}

// encode returns a payload of the type of c. Fields that are not given are zero.
func encode(t testing.TB, c *codec.Channel, fields ...cdr.Field) []byte {
	schema, err := cdr.NewSchema(c.Library(nil), c.Type)
	require.NoError(t, err)
	data, err := schema.Encode(&cdr.Struct{Fields: fields})
	require.NoError(t, err)
	return data
}

// writeTable writes messages to a file, and returns the text of the file and the losses. For Parquet, the text is the
// rows as JSON.
func writeTable(t *testing.T, f codec.Format, messages ...codec.Message) (string, []codec.Loss) {
	path := filepath.Join(t.TempDir(), "out."+f.Name)
	w, err := f.Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	for i := range messages {
		require.NoError(t, w.Write(&messages[i]))
	}
	require.NoError(t, w.Close())
	if f.Name == Parquet.Name {
		file, err := os.Open(path)
		require.NoError(t, err)
		defer file.Close()
		rows, err := parquet.Read[any](file, sizeOf(t, path))
		require.NoError(t, err)
		text, err := json.Marshal(rows)
		if err != nil { // JSON has no NaN
			text = fmt.Append(nil, rows)
		}
		return string(text), w.Losses()
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text), w.Losses()
}

func sizeOf(t *testing.T, path string) int64 {
	stat, err := os.Stat(path)
	require.NoError(t, err)
	return stat.Size()
}

// TestColumns compares a message in all formats.
func TestColumns(t *testing.T) {
	const empty = "================\nMSG: p/Empty\n"
	for name, c := range map[string]struct {
		definition string
		fields     []cdr.Field
		csv, jsonl string
		parquet    string
	}{
		"names of times": {"int32 log_time\nint32 header_stamp\n", []cdr.Field{{Name: "log_time", Value: int32(5)}},
			"log_time,publish_time,log_time_2,header_stamp\r\n1,,5,0\r\n", `{"log_time":5,"header_stamp":0}`,
			`[{"header_stamp":0,"log_time":1,"log_time_2":5,"publish_time":null}]`},
		"names in other case": {"int32 a\nint32 A\n", nil,
			"log_time,publish_time,a,A_2\r\n1,,0,0\r\n", `{"a":0,"A":0}`,
			`[{"A_2":0,"a":0,"log_time":1,"publish_time":null}]`},
		"no fields": {"# none\n", nil, "log_time,publish_time\r\n1,\r\n", `{}`, `[{"log_time":1,"publish_time":null}]`},
		"messages without fields": {"p/Empty e\nint32 x\np/Empty[2] es\n" + empty, nil,
			"log_time,publish_time,x,es\r\n1,,0,\"[{},{}]\"\r\n", `{"e":{},"x":0,"es":[{},{}]}`,
			`[{"es":[true,true],"log_time":1,"publish_time":null,"x":0}]`},
		"texts": {"string s\nstring[] l\n",
			[]cdr.Field{{Name: "s", Value: " \"a\",\r\nb"}, {Name: "l", Value: []string{"c,d", "\x1b"}}},
			"log_time,publish_time,s,l\r\n1,,\" \"\"a\"\",\r\nb\",\"[\"\"c,d\"\",\"\"\\u001b\"\"]\"\r\n",
			`{"s":" \"a\",\r\nb","l":["c,d","\u001b"]}`,
			`[{"l":["c,d","\u001b"],"log_time":1,"publish_time":null,"s":" \"a\",\r\nb"}]`},
		"only bytes in a list": {"p/B[] l\n================\nMSG: p/B\nuint8[] data\n",
			[]cdr.Field{{Name: "l", Value: []*cdr.Struct{{}}}},
			"log_time,publish_time,l\r\n1,,[{}]\r\n", `{"l":[{}]}`,
			`[{"l":[{"empty":true}],"log_time":1,"publish_time":null}]`},
	} {
		t.Run(name, func(t *testing.T) {
			ch := newChannel("/t", "p/msg/T", c.definition)
			m := codec.Message{Channel: ch, LogTime: 1, Data: encode(t, ch, c.fields...)}
			text, losses := writeTable(t, CSV, m)
			require.Equal(t, c.csv, text)
			require.Empty(t, losses)
			text, _ = writeTable(t, JSONL, m)
			require.Equal(t, `{"topic":"/t","log_time":1,"message":`+c.jsonl+"}\n", text)
			text, _ = writeTable(t, Parquet, m)
			require.Equal(t, c.parquet, text)
		})
	}
}

// TestLosses checks which changes of values are counted.
func TestLosses(t *testing.T) {
	ch := newChannel("/t", "p/msg/T", "float64 x\nfloat32[] l\nstring s\nuint8[] data\nint8[] grid\nuint8[<=3] few\n")
	fields := []cdr.Field{{Name: "x", Value: math.NaN()}, {Name: "l", Value: []float32{float32(math.Inf(-1))}},
		{Name: "s", Value: "\xff"}, {Name: "data", Value: []uint8{1}}}
	m := codec.Message{Channel: ch, LogTime: 1, Data: encode(t, ch, fields...)}
	byteArray := codec.Loss{Topic: "/t", What: "byte arrays (data), which --table-bytes keeps", Messages: 1}
	texts := codec.Loss{Topic: "/t", What: "bytes of texts that are not UTF-8", Messages: 1}
	nan := codec.Loss{Topic: "/t", What: "NaN and infinity, which JSON lacks and which became null", Messages: 1}
	for _, f := range allFormats {
		text, losses := writeTable(t, f, m)
		want := []codec.Loss{byteArray, texts}
		if f.Name == JSONL.Name {
			want = []codec.Loss{nan, byteArray, texts}
			require.Contains(t, text, `{"x":null,"l":[null],"s":"\ufffd","few":[]}`)
		}
		require.Equal(t, want, losses, f.Name)
	}
	text, losses := writeTable(t, CSV, m)
	require.Contains(t, text, "\r\n1,,NaN,\"[\"\"-Infinity\"\"]\",\ufffd,[]\r\n")
	require.NotContains(t, losses, nan)
	text, losses = writeTable(t, Options{Bytes: true, Times: "iso"}.CSV(), m)
	require.Contains(t, text, "\r\n1970-01-01T00:00:00.000000001Z,,NaN,\"[\"\"-Infinity\"\"]\",\ufffd,[1],[],[]\r\n")
	require.NotContains(t, losses, byteArray)
}

// TestMisfits checks that payloads that do not fit their type are refused, before and after a payload that fits.
func TestMisfits(t *testing.T) {
	ch := newChannel("/t", "p/msg/T", "string s\nint32[] l\np/I[] i\n================\nMSG: p/I\nstring s\nint8 x\n")
	valid := encode(t, ch, cdr.Field{Name: "s", Value: "good"}, cdr.Field{Name: "l", Value: []int32{1, 2}},
		cdr.Field{Name: "i", Value: []*cdr.Struct{{}}})
	invalid := encode(t, ch, cdr.Field{Name: "l", Value: []int32{7}},
		cdr.Field{Name: "i", Value: []*cdr.Struct{{}, {}}})
	for _, f := range allFormats {
		path := filepath.Join(t.TempDir(), "out")
		w, err := f.Create(path, codec.CreateOptions{})
		require.NoError(t, err)
		require.Error(t, w.Write(&codec.Message{Channel: ch, Data: invalid[:len(invalid)-1]}))
		for n := range len(valid) {
			require.Error(t, w.Write(&codec.Message{Channel: ch, Data: valid[:n]}), n)
			if n == len(valid)/2 {
				require.NoError(t, w.Write(&codec.Message{Channel: ch, Data: valid}))
			}
		}
		err = w.Write(&codec.Message{Channel: ch, Data: append(valid[:len(valid):len(valid)], make([]byte, 9)...)})
		require.ErrorContains(t, err, "decode p/msg/T: 9 bytes left behind the last field")
		require.NoError(t, w.Close())
		text, err := os.ReadFile(filepath.Join(path, "t."+f.Name))
		require.NoError(t, err)
		if f.Name == Parquet.Name {
			rows, err := parquet.Read[any](bytes.NewReader(text), int64(len(text)))
			require.NoError(t, err)
			require.Len(t, rows, 1)
			text, err = json.Marshal(rows)
			require.NoError(t, err)
			require.Contains(t, string(text), `"i":[{"s":"","x":0}],"l":[1,2],`)
		}
		require.Equal(t, 1, strings.Count(string(text), "good"))
	}
}

// TestFiles checks the names and the summaries of files.
func TestFiles(t *testing.T) {
	number := newChannel("/a/b", "std_msgs/msg/UInt32", "")
	data, err := cdr.Marshal(&std_msgs.UInt32{Data: 7})
	require.NoError(t, err)
	similar := *number
	similar.Topic = "/a_b"
	withQoS := *number
	withQoS.QoS = []codec.QoS{codec.DefaultQoS()}
	text := newChannel("/a/b", "std_msgs/msg/String", "")
	outside := newChannel("/../x", "std_msgs/msg/UInt32", "")
	var completed []codec.FileInfo
	for _, f := range allFormats {
		folder := t.TempDir()
		path := filepath.Join(folder, "out")
		completed = nil
		w, err := f.Create(path, codec.CreateOptions{Completed: func(i codec.FileInfo, err error) {
			require.NoError(t, err)
			completed = append(completed, i)
		}})
		require.NoError(t, err)
		for _, c := range []*codec.Channel{number, &similar, &withQoS, outside} {
			require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: -5, Data: data}))
		}
		require.NoError(t, w.Declare(text))
		require.NoError(t, w.Sync())
		require.NoError(t, w.Close())
		require.NoError(t, w.Close())
		var names []string
		for _, i := range completed {
			names = append(names, filepath.Base(i.Path))
			require.Equal(t, sizeOf(t, i.Path), i.Size, i.Path)
		}
		extension := "." + f.Name
		require.Equal(t, []string{"a_b" + extension, "a_b_2" + extension, "_._x" + extension, "a_b_3" + extension},
			names)
		for n, want := range []uint64{2, 1, 1, 0} {
			require.Equal(t, want, completed[n].MessageCount)
		}
		require.Equal(t, int64(-5), completed[0].StartTime)
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.Len(t, entries, 1, "files outside the folder out")
		require.NoError(t, f.CheckFiles(path, nil))
	}
}

// TestOneFile checks that a file or stream refuses a second topic, unless it is JSON Lines.
func TestOneFile(t *testing.T) {
	a, b := newChannel("/a", "std_msgs/msg/UInt32", ""), newChannel("/b", "std_msgs/msg/String", "")
	for _, f := range allFormats {
		path := filepath.Join(t.TempDir(), "out."+f.Name)
		w, err := f.Create(path, codec.CreateOptions{})
		require.NoError(t, err)
		require.NoError(t, w.Declare(a))
		err = w.Declare(b)
		if f.Name == JSONL.Name {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, path+" can hold one topic as "+f.Name+", but there are /a and /b; select one "+
				"of them, or write a folder")
		}
		require.NoError(t, w.Close())
	}
	var out bytes.Buffer
	w, err := CSV.Stream(&out, codec.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, w.Declare(a))
	require.ErrorContains(t, w.Declare(b), "standard output can hold one topic as csv, but there are /a and /b")
	require.NoError(t, w.Close())
	require.Empty(t, out.String(), "a header without a message")
}

// TestAccepts checks which types and compressions are refused.
func TestAccepts(t *testing.T) {
	for _, f := range allFormats {
		require.NoError(t, f.Accepts(newChannel("/t", "std_msgs/msg/String", "")))
		require.ErrorContains(t, f.Accepts(newChannel("/t", "p/msg/Gone", "")), "unknown type p/msg/Gone")
		_, err := f.Create(filepath.Join(t.TempDir(), "out"), codec.CreateOptions{Compression: "bz2"})
		require.ErrorContains(t, err, f.Name+` has no compression "bz2", only `)
	}
	// A type with 10⁴ fields in messages in messages.
	definition, inner := "", ""
	for _, depth := range []string{"A", "B", "C", "D"} {
		definition += inner
		for i := range 10 {
			definition += "p/" + depth + " f" + string(rune('a'+i)) + "\n"
		}
		inner = "================\nMSG: p/" + depth + "\n"
	}
	definition += inner + "int8 x\n"
	require.ErrorContains(t, CSV.Accepts(newChannel("/t", "p/msg/T", definition)), "p/msg/T has more than 10000 fields")
}

// TestMemory writes more bytes than the limit of waiting bytes, on several topics. Compressed rows take less memory, so
// row groups with compression are larger.
func TestMemory(t *testing.T) {
	data, err := cdr.Marshal(&sensor_msgs.LaserScan{Ranges: make([]float32, 100)})
	require.NoError(t, err)
	groups := map[string]int{}
	for _, compression := range []string{"zstd", "none"} {
		path := filepath.Join(t.TempDir(), "out")
		w, err := Parquet.Create(path, codec.CreateOptions{Compression: compression})
		require.NoError(t, err)
		writer := w.(*writer)
		writer.compressor.maxWaiting = 40_000
		channels := []*codec.Channel{newChannel("/a", "sensor_msgs/msg/LaserScan", ""),
			newChannel("/b", "sensor_msgs/msg/LaserScan", ""), newChannel("/c", "sensor_msgs/msg/LaserScan", "")}
		for i := range 1000 {
			require.NoError(t, w.Write(&codec.Message{Channel: channels[i%3], LogTime: int64(i), Data: data}))
			waiting := 0
			for _, table := range writer.compressor.tables {
				waiting += table.waiting
			}
			require.Equal(t, waiting, writer.compressor.waiting)
			require.LessOrEqual(t, waiting, 40_000)
		}
		writer.compressor.running.Wait()
		waiting := 0
		for _, table := range writer.compressor.tables {
			table.updateWaiting()
			waiting += table.waiting
		}
		require.LessOrEqual(t, waiting, 60_000, "waiting bytes, including the last pages")
		require.NoError(t, w.Close())
		file, err := os.Open(filepath.Join(path, "a.parquet"))
		require.NoError(t, err)
		opened, err := parquet.OpenFile(file, sizeOf(t, file.Name()))
		require.NoError(t, err)
		require.Equal(t, int64(334), opened.NumRows())
		groups[compression] = len(opened.RowGroups())
		require.NoError(t, file.Close())
	}
	require.Greater(t, groups["none"], 6)
	require.Less(t, groups["zstd"], groups["none"]/2)
}

// TestLargeValues checks that a file contains large values only once.
func TestLargeValues(t *testing.T) {
	c := newChannel("/t", "p/msg/T", "uint8[] data\nstring s\n")
	path := filepath.Join(t.TempDir(), "out.parquet")
	w, err := Options{Bytes: true}.Parquet().Create(path, codec.CreateOptions{Compression: "none"})
	require.NoError(t, err)
	const size, count = 200_000, 10
	for i := range count {
		large := bytes.Repeat([]byte{byte('a' + i)}, size)
		require.NoError(t, w.Write(&codec.Message{Channel: c, Data: encode(t, c, cdr.Field{Name: "data", Value: large},
			cdr.Field{Name: "s", Value: string(large)})}))
	}
	require.NoError(t, w.Close())
	require.Less(t, sizeOf(t, path), int64(2*size*count+10_000))
}

// fullDisk fails to write.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestFullDisk checks that Write and Close return the error of a full disk with the path of the file.
func TestFullDisk(t *testing.T) {
	c := newChannel("/t", "std_msgs/msg/String", "")
	data, err := cdr.Marshal(&std_msgs.String{Data: strings.Repeat("x", 10_000)})
	require.NoError(t, err)
	for _, f := range allFormats {
		w, err := f.Create(filepath.Join(t.TempDir(), "out"), codec.CreateOptions{ChunkSize: 1})
		require.NoError(t, err)
		require.NoError(t, w.Declare(c))
		w.(*writer).files[0].out.Reset(fullDisk{})
		var missing *codec.MissingError
		for i := 0; err == nil; i++ {
			err = w.Write(&codec.Message{Channel: c, Data: data})
			require.Less(t, i, 10_000)
		}
		require.ErrorAs(t, err, &missing)
		require.ErrorContains(t, missing.Err, "no space left")
		require.ErrorAs(t, w.Close(), &missing)
	}
}

// toJSON encodes a decoded value as JSON.
func toJSON(value any) string {
	switch v := value.(type) {
	case string:
		return string(field.AppendQuoted(nil, v))
	case bool, int16, uint8:
		return fmt.Sprint(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "null"
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case *cdr.Struct:
		var all []string
		for _, f := range v.Fields {
			all = append(all, toJSON(f.Name)+":"+toJSON(f.Value))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	var all []string
	for elements, i := reflect.ValueOf(value), 0; i < elements.Len(); i++ {
		all = append(all, toJSON(elements.Index(i).Interface()))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// FuzzPayload compares the tables of payloads with the messages that cdr.Schema decodes.
func FuzzPayload(f *testing.F) {
	const definition = "string s\nfloat64[2] f\np/I[] i\nwstring w\nuint8[] data\np/E e\nbool[<=3] b\n" +
		"================\nMSG: p/I\nstring[] s\nint16 x\np/E[] e\n================\nMSG: p/E\n"
	c := newChannel("/t", "p/msg/T", definition)
	item := &cdr.Struct{Fields: []cdr.Field{{Name: "s", Value: []string{"a", "b"}}, {Name: "x", Value: int16(-1)},
		{Name: "e", Value: []*cdr.Struct{{}}}}}
	f.Add(encode(f, c))
	f.Add(encode(f, c, cdr.Field{Name: "s", Value: "text"}, cdr.Field{Name: "f", Value: []float64{math.NaN(), -1e9}},
		cdr.Field{Name: "i", Value: []*cdr.Struct{item, item}}, cdr.Field{Name: "w", Value: "größe"},
		cdr.Field{Name: "data", Value: []uint8{1, 2}}, cdr.Field{Name: "b", Value: []bool{true}}))
	schema, err := cdr.NewSchema(c.Library(nil), c.Type)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, payload []byte) {
		decoded, decodeErr := schema.Decode(payload)
		for _, format := range []codec.Format{Options{Bytes: true}.JSONL(), Options{Bytes: true}.CSV()} {
			var out bytes.Buffer
			w, err := format.Stream(&out, codec.CreateOptions{})
			require.NoError(t, err)
			err = w.Write(&codec.Message{Channel: c, Data: payload})
			require.Equal(t, decodeErr == nil, err == nil, "%v, %v", decodeErr, err)
			require.NoError(t, w.Close())
			if err == nil && format.Name == JSONL.Name {
				require.Equal(t, `{"topic":"/t","log_time":0,"message":`+toJSON(decoded)+"}\n", out.String())
			}
		}
		path := filepath.Join(t.TempDir(), "out.parquet")
		w, err := Options{Bytes: true}.Parquet().Create(path, codec.CreateOptions{})
		require.NoError(t, err)
		err = w.Write(&codec.Message{Channel: c, Data: payload})
		require.Equal(t, decodeErr == nil, err == nil, "%v, %v", decodeErr, err)
		require.NoError(t, w.Close())
		file, err := os.Open(path)
		require.NoError(t, err)
		defer file.Close()
		rows, err := parquet.Read[any](io.NewSectionReader(file, 0, 1<<30), sizeOf(t, path))
		require.NoError(t, err)
		require.Equal(t, decodeErr == nil, len(rows) == 1)
	})
}

// TestOverwrite checks that overwriting replaces tables and nothing else.
func TestOverwrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "drive")
	overwrite := func(path string) error {
		w, err := CSV.Create(path, codec.CreateOptions{Overwrite: true})
		if err == nil {
			err = w.Close()
		}
		return err
	}
	require.NoError(t, overwrite(path))
	require.NoError(t, os.WriteFile(filepath.Join(path, "imu.csv"), nil, 0o666))
	require.NoError(t, overwrite(path))
	require.NoFileExists(t, filepath.Join(path, "imu.csv"))

	foreign := filepath.Join(path, "thesis.tex")
	require.NoError(t, os.WriteFile(foreign, nil, 0o666))
	require.ErrorContains(t, overwrite(path), "create "+path+": not overwritten: "+foreign+": a file of another format")
	require.FileExists(t, foreign)
	require.ErrorContains(t, overwrite(foreign), "not overwritten: not a folder")
	require.FileExists(t, foreign)

	file := filepath.Join(path, "sub.csv") // first a folder, then a file
	require.NoError(t, os.MkdirAll(filepath.Join(file, "folder"), 0o777))
	require.ErrorContains(t, overwrite(file), "not overwritten: ")
	require.DirExists(t, filepath.Join(file, "folder"))
	require.NoError(t, os.RemoveAll(file))
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o666))
	require.NoError(t, overwrite(file))
	require.NoFileExists(t, file)
}

// TestManyTopics checks that the writer does not keep the files of all topics open.
func TestManyTopics(t *testing.T) {
	const topics = 300
	folder := filepath.Join(t.TempDir(), "tables")
	w, err := CSV.Create(folder, codec.CreateOptions{})
	require.NoError(t, err)
	var channels []*codec.Channel
	for i := range topics {
		channels = append(channels, newChannel(fmt.Sprintf("/t%d", i), "p/msg/T", "int32 x\n"))
		require.NoError(t, w.Declare(channels[i]))
	}
	for k := range 2 {
		for _, c := range channels {
			m := codec.Message{Channel: c, LogTime: int64(k), Data: encode(t, c)}
			require.NoError(t, w.Write(&m))
		}
	}
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	require.Less(t, len(open), topics)
	require.NoError(t, w.Close())
	for i := range topics {
		text, err := os.ReadFile(filepath.Join(folder, fmt.Sprintf("t%d.csv", i)))
		require.NoError(t, err)
		require.Equal(t, "log_time,publish_time,x\r\n0,,0\r\n1,,0\r\n", string(text))
	}
}
