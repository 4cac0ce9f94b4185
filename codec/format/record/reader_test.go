package record

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/record/internal/recordpb"
	"tapedeck/codec/internal/codectest"
)

// messageCopy is a copy of a message that was read, for comparisons.
type messageCopy struct {
	topic         string
	time, publish int64
	data          string
}

// readAll returns the messages that q selects, and the error that ended reading: nil at the end of the file. It checks
// that the iterator keeps returning this error.
func readAll(t testing.TB, r codec.Reader, q codec.Query) ([]messageCopy, error) {
	it, err := r.Read(q)
	require.NoError(t, err)
	defer it.Close()
	var all []messageCopy
	for {
		m, err := it.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			_, again := it.Next()
			require.Equal(t, err, again, "the second error of the iterator")
			return all, err
		}
		all = append(all, messageCopy{m.Channel.Topic, m.LogTime, m.PublishTime, string(m.Data)})
	}
}

// requireOrdered checks that messages are in the order of their log times.
func requireOrdered(t testing.TB, all []messageCopy) {
	for i := range all[1:] {
		require.LessOrEqual(t, all[i].time, all[i+1].time, "log times of messages %d and %d", i, i+1)
	}
}

// openAt opens the file at path until the end of the test.
func openAt(t testing.TB, path string) codec.Reader { return codectest.Open(t, path, Format) }

// TestSamples reads real files and compares them with what is known of them. It also checks that Info and Read agree.
func TestSamples(t *testing.T) {
	const start = 1_700_000_000_000_000_000 // log time of the first message of the generated files
	for _, want := range []struct {
		file             string
		messages         int
		channels, chunks int
		start, end       int64 // log times of the first and last message
		complete         bool
		counts           map[string]uint64 // messages of some topics
	}{
		{
			file: "example.record.00000", messages: 34, channels: 8, chunks: 1, complete: true,
			start: 1627031535114943571, end: 1627031535253911410,
			counts: map[string]uint64{
				"/apollo/planning": 1, "/apollo/routing_response_history": 1, "/apollo/localization/pose": 15,
				"/apollo/canbus/chassis": 15, "/apollo/prediction": 2, "/apollo/routing_request": 0,
			},
		},
		{
			file: "synthetic_genB_endpos.record", messages: 34, channels: 8, chunks: 1, complete: true,
			start: 1627031535114943571, end: 1627031535253911410,
			counts: map[string]uint64{"/apollo/planning": 1},
		},
		{
			file: "apollo_cpp_sensors.record", messages: 881, channels: 10, chunks: 1, complete: true,
			start: start, end: start + 1_990_001_934,
			counts: map[string]uint64{"/tf_static": 1},
		},
		{
			file: "multichunk.record", messages: 600, channels: 2, chunks: 12, complete: true,
			start: start, end: start + 599_000_000,
			counts: map[string]uint64{"/a": 300, "/b": 300},
		},
		{
			file: "seg_emptytail.record.00000", messages: 202, channels: 2, chunks: 1, complete: true,
			start: start, end: start + 2_010_000_000,
			counts: map[string]uint64{"/a": 101, "/b": 101},
		},
		{
			file: "seg_emptytail.record.00001", messages: 0, channels: 2, chunks: 0, complete: true,
			counts: map[string]uint64{"/a": 0, "/b": 0},
		},
		{
			file: "incomplete_killed.record", messages: 459, channels: 2, chunks: 9, complete: false,
			start: start, end: start + 458_000_000,
			counts: map[string]uint64{"/a": 229, "/b": 230},
		},
		{
			file: "ooo_chunks.record", messages: 3000, channels: 2, chunks: 2, complete: true,
			start: start, end: start + 2_999_000_000,
			counts: map[string]uint64{"/a": 1500, "/b": 1500},
		},
	} {
		t.Run(want.file, func(t *testing.T) {
			r := openAt(t, sample(t, want.file))
			info, err := r.Info()
			require.NoError(t, err)
			require.Equal(t, "record", info.Format)
			require.EqualValues(t, want.messages, info.MessageCount)
			require.Len(t, info.Topics, want.channels)
			require.Equal(t, want.chunks, info.Extra.(Details).Chunks, "number of chunks")
			require.Equal(t, want.complete, info.Complete)
			if want.complete {
				require.Empty(t, info.Events)
			} else {
				require.NotEmpty(t, info.Events, "events of an incomplete file")
			}
			require.Equal(t, want.start, info.StartTime)
			if want.end != 0 {
				require.Equal(t, want.end, info.EndTime)
			}
			counts := map[string]uint64{}
			for _, topic := range info.Topics {
				counts[topic.Channel.Topic] = topic.MessageCount
			}
			require.Subset(t, counts, want.counts)

			all, err := readAll(t, r, codec.Query{})
			require.NoError(t, err)
			require.Len(t, all, want.messages)
			if want.messages > 0 {
				requireOrdered(t, all)
				require.Equal(t, info.StartTime, all[0].time)
				require.Equal(t, info.EndTime, all[len(all)-1].time)
			}
			for _, m := range all {
				counts[m.topic]--
			}
			for topic, count := range counts {
				require.Zero(t, count, "messages that Info counts and Read does not return, on %s", topic)
			}

			tolerant, err := readAll(t, r, codec.Query{Damaged: func(err error) { t.Error("reported damage:", err) }})
			require.NoError(t, err)
			require.Equal(t, all, tolerant, "messages of a query that tolerates damage")
		})
	}
}

// TestMultichunkContents checks that the topics of a file alternate, that its messages are 1 ms apart, and that each
// payload is 200 bytes with a letter of the alphabet at the end.
func TestMultichunkContents(t *testing.T) {
	r := openAt(t, sample(t, "multichunk.record"))
	all, err := readAll(t, r, codec.Query{})
	require.NoError(t, err)
	for i, m := range all {
		require.Equal(t, []string{"/b", "/a"}[i%2], m.topic)
		require.EqualValues(t, 1700000000000000000+i*1e6, m.time)
		require.Len(t, m.data, 200)
		require.Equal(t, string(rune('a'+i%26)), m.data[199:])
	}
}

// TestFilters checks that a query returns the messages that filtering all messages returns.
func TestFilters(t *testing.T) {
	for _, name := range []string{"multichunk.record", "ooo_chunks.record"} {
		r := openAt(t, sample(t, name))
		all, err := readAll(t, r, codec.Query{})
		require.NoError(t, err)
		middle := all[len(all)/2].time
		for _, q := range []codec.Query{
			{Start: middle},
			{End: middle},
			{Start: middle, End: middle + 1},
			{Start: middle + 1, End: middle + 20e6},
			{Topics: func(c *codec.Channel) bool { return c.Topic == "/a" }},
			{Topics: func(c *codec.Channel) bool { return c.Topic == "/b" }, Start: middle},
			{Topics: func(*codec.Channel) bool { return false }},
		} {
			var want []messageCopy
			for _, m := range all {
				if q.Covers(m.time) && q.Wants(&codec.Channel{Topic: m.topic}) {
					want = append(want, m)
				}
			}
			got, err := readAll(t, r, q)
			require.NoError(t, err)
			require.Equal(t, want, got, "%s, Start: %d, End: %d", name, q.Start, q.End)
		}
	}
}

// TestOpenErrors checks that the errors of files that cannot be opened name the reason and the path.
func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		return path
	}
	for _, test := range []struct{ name, path, want string }{
		{"a Git LFS pointer", write("lfs.record", "version https://git-lfs.github.com/spec/v1\noid sha256:7bd3\n"),
			"git lfs pull"},
		{"empty", write("empty.record", ""), "the file is empty"},
		{"another format", write("text.record", strings.Repeat("hello ", 1000)), `it begins with "hello hello hell"`},
		{"gzip", write("zipped.record", "\x1f\x8b\x08\x00\x00\x00\x00\x00"), "unpack it first"},
		{"zeros", write("zeros.record", strings.Repeat("\x00", 5000)), "not a recording"},
		{"a folder", dir, "folder"},
		{"nothing", filepath.Join(dir, "none.record"), "no such file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := codec.Formats{Format}.Open(test.path)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, test.path)
		})
	}
	_, err := open(nil, filepath.Join(dir, "none.record"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestReadAfterClose(t *testing.T) {
	r, err := open(nil, sample(t, "multichunk.record"))
	require.NoError(t, err)
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	_, err = it.Next()
	require.NoError(t, err)
	require.NoError(t, it.Close())
	_, err = it.Next()
	require.ErrorIs(t, err, os.ErrClosed)
	require.NoError(t, r.Close())
	_, err = readAll(t, r, codec.Query{})
	require.ErrorIs(t, err, os.ErrClosed)
}

// TestStaleTail reads a file that overwrote a longer file without truncating it. The rest of the longer file remains
// after the index.
func TestStaleTail(t *testing.T) {
	b := smallFile(t, true)
	path := filepath.Join(t.TempDir(), "stale.record")
	require.NoError(t, os.WriteFile(path, append(b, b[firstSection+100:]...), 0o644))
	r := openAt(t, path)
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	all, err := readAll(t, r, codec.Query{})
	require.NoError(t, err)
	require.Equal(t, smallMessages(), all)
}

// isComplete is the field is_complete of a header with the value 1, and the tag of the next field.
var isComplete = []byte{0x68, 1, 0x70}

// TestIsCompleteLies reads files whose header does not match their content: a complete file whose header has no
// is_complete, and a file without an index whose header has it.
func TestIsCompleteLies(t *testing.T) {
	whole, killed := smallFile(t, true), smallFile(t, false)
	require.Positive(t, bytes.Index(whole, isComplete), "offset of is_complete")
	for name, b := range map[string][]byte{
		"indexed": append(bytes.Clone(killed[:firstSection]), whole[firstSection:]...),
		"cut":     append(bytes.Clone(whole[:firstSection]), killed[firstSection:]...),
	} {
		t.Run(name, func(t *testing.T) {
			r := openBytes(t, b)
			info, err := r.Info()
			require.NoError(t, err)
			require.Equal(t, name == "indexed", info.Complete)
			all, err := readAll(t, r, codec.Query{})
			require.Equal(t, smallMessages(), all)
			if name == "indexed" {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, ErrDamaged)
			}
		})
	}
}

// openBytes returns a reader of a file in memory with the content b.
func openBytes(t testing.TB, b []byte) *reader {
	r, err := newReader("memory.record", codectest.NewFile(b), int64(len(b)), b[:min(len(b), firstSection)])
	require.NoError(t, err)
	return r
}

// smallMessages returns the messages of smallFile in the order of their log times.
func smallMessages() []messageCopy {
	var all []messageCopy
	for i := range 12 {
		all = append(all, messageCopy{[]string{"/a", "/b"}[i%2], 1700000000000000000 + int64(i)*1e6, int64(i%3) * 1e9,
			strings.Repeat(string(rune('a'+i)), 3*i)})
	}
	return all
}

// smallFile returns the content of a file with smallMessages in three chunks. The messages of the first chunk are not
// in time order, and the time ranges of the other two chunks overlap. If closed is false, the file has no index, and
// its header says that it is incomplete.
func smallFile(t testing.TB, closed bool) []byte {
	path := filepath.Join(t.TempDir(), "small.record")
	w, err := create(path, codec.CreateOptions{})
	require.NoError(t, err)
	channels := map[string]*codec.Channel{
		"/a": {Topic: "/a", Type: "x.A", Encoding: codec.EncodingProtobuf},
		"/b": {Topic: "/b", Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR,
			Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("string data\n")}},
	}
	require.NoError(t, w.Declare(channels["/a"]))
	all := smallMessages()
	for _, chunk := range [][]int{{1, 0, 3, 2}, {5, 7, 9, 10}, {4, 6, 8, 11}} {
		for _, i := range chunk {
			m := all[i]
			require.NoError(t, w.Write(&codec.Message{Channel: channels[m.topic], LogTime: m.time,
				PublishTime: m.publish,
				Data:        []byte(m.data)}))
		}
		require.NoError(t, w.Sync())
	}
	if closed {
		require.NoError(t, w.Close())
	} else {
		defer w.Close()
		path += codec.ActiveSuffix
	}
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

// TestMapAndVehicle checks that Info returns the names of the map and the vehicle. They are in the header, which has
// left the reader's window when the reader has walked the file.
func TestMapAndVehicle(t *testing.T) {
	h := recordpb.Header{MapInfo: appendBytes(nil, 1, "san_mateo"), VehicleInfo: appendBytes(nil, 1, "mkz")}
	b := tinyChunks(1000, nil)
	copy(b, sectionOf(headerSection, &h))
	path := filepath.Join(t.TempDir(), "a.record")
	require.NoError(t, os.WriteFile(path, b, 0o644))
	r, err := open(nil, path)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	info, err := r.Info()
	require.NoError(t, err)
	require.Equal(t, "san_mateo", info.Extra.(Details).Map)
	require.Equal(t, "mkz", info.Extra.(Details).Vehicle)
}

// TestEventsByIndex checks that Info takes the positions of events from the index, and searches the file for events if
// the index does not list the positions.
func TestEventsByIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.record")
	w, err := create(path, codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/a", Type: "x.A", Encoding: codec.EncodingProtobuf}
	want := codec.Event{Kind: codec.EventSplit, Time: 7, Text: "goes on"}
	for range 3 {
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: 5, Data: make([]byte, 100)}))
		m, err := codec.EventMessage(want)
		require.NoError(t, err)
		require.NoError(t, w.Write(m))
		require.NoError(t, w.Sync())
	}
	require.NoError(t, w.Close())
	r, b := reopen(t, path)
	info, err := r.Info()
	require.NoError(t, err)
	require.Equal(t, []codec.Event{want, want, want}, info.Events)
	require.Nil(t, r.deep, "the reader must not search the file for events")

	// Other writers do not list positions: change the number of the field that lists them. Tags take 3 bytes.
	tag := appendBytes(nil, extension, "")[:3]
	i := bytes.LastIndex(b, tag)
	require.Positive(t, i, "offset of the field with the positions")
	b[i] += 1 << 3 // adds 1 to the field number
	r = openBytes(t, b)
	info, err = r.Info()
	require.NoError(t, err)
	require.Equal(t, []codec.Event{want, want, want}, info.Events)
	require.NotNil(t, r.deep, "the reader must search the file for events")
}
