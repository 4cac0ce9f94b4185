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

// got is a message that was read, with a copy of its data.
type got struct {
	topic         string
	time, publish int64
	data          string
}

// readAll returns the messages that q selects and the error that ended reading, nil for io.EOF.
func readAll(t testing.TB, r codec.Reader, q codec.Query) ([]got, error) {
	it, err := r.Read(q)
	require.NoError(t, err)
	defer it.Close()
	var all []got
	for {
		m, err := it.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			_, again := it.Next()
			require.Equal(t, err, again)
			return all, err
		}
		all = append(all, got{m.Channel.Topic, m.LogTime, m.PublishTime, string(m.Data)})
	}
}

func requireOrdered(t testing.TB, all []got) {
	for i := range all[1:] {
		require.LessOrEqual(t, all[i].time, all[i+1].time)
	}
}

func openAt(t testing.TB, path string) codec.Reader { return codectest.Open(t, path, Format) }

func TestSamples(t *testing.T) {
	for _, test := range []struct {
		file       string
		messages   int
		channels   int
		chunks     int
		start, end int64
		complete   bool
		counts     map[string]uint64
	}{
		{"example.record.00000", 34, 8, 1, 1627031535114943571, 1627031535253911410, true, map[string]uint64{
			"/apollo/planning": 1, "/apollo/routing_response_history": 1, "/apollo/localization/pose": 15,
			"/apollo/canbus/chassis": 15, "/apollo/prediction": 2, "/apollo/routing_request": 0,
		}},
		{"synthetic_genB_endpos.record", 34, 8, 1, 1627031535114943571, 1627031535253911410, true,
			map[string]uint64{"/apollo/planning": 1}},
		{"apollo_cpp_sensors.record", 881, 10, 1, 1700000000000000000, 1700000001990001934, true,
			map[string]uint64{"/tf_static": 1}},
		{"multichunk.record", 600, 2, 12, 1700000000000000000, 1700000000599000000, true,
			map[string]uint64{"/a": 300, "/b": 300}},
		{"seg_emptytail.record.00000", 202, 2, 1, 1700000000000000000, 1700000002010000000, true,
			map[string]uint64{"/a": 101, "/b": 101}},
		{"seg_emptytail.record.00001", 0, 2, 0, 0, 0, true, map[string]uint64{"/a": 0, "/b": 0}},
		{"incomplete_killed.record", 459, 2, 9, 1700000000000000000, 1700000000458000000, false,
			map[string]uint64{"/a": 229, "/b": 230}},
		{"ooo_chunks.record", 3000, 2, 2, 1700000000000000000, 1700000002999000000, true,
			map[string]uint64{"/a": 1500, "/b": 1500}},
	} {
		t.Run(test.file, func(t *testing.T) {
			r := openAt(t, sample(t, test.file))
			info, err := r.Info()
			require.NoError(t, err)
			require.Equal(t, "record", info.Format)
			require.EqualValues(t, test.messages, info.MessageCount)
			require.Len(t, info.Topics, test.channels)
			require.Equal(t, test.chunks, info.Extra.(Details).Chunks)
			require.Equal(t, test.complete, info.Complete)
			require.Equal(t, test.complete, len(info.Events) == 0)
			require.Equal(t, test.start, info.StartTime)
			if test.end != 0 {
				require.Equal(t, test.end, info.EndTime)
			}
			counts := map[string]uint64{}
			for _, topic := range info.Topics {
				counts[topic.Channel.Topic] = topic.MessageCount
			}
			require.Subset(t, counts, test.counts)

			all, err := readAll(t, r, codec.Query{})
			require.NoError(t, err)
			require.Len(t, all, test.messages)
			if test.messages > 0 {
				requireOrdered(t, all)
				require.Equal(t, info.StartTime, all[0].time)
				require.Equal(t, info.EndTime, all[len(all)-1].time)
			}
			for _, m := range all {
				counts[m.topic]--
			}
			for topic, count := range counts {
				require.Zero(t, count, topic)
			}

			again, err := readAll(t, r, codec.Query{Damaged: func(err error) { t.Error(err) }})
			require.NoError(t, err)
			require.Equal(t, all, again)
		})
	}
}

func TestMultichunkContents(t *testing.T) {
	r := openAt(t, sample(t, "multichunk.record"))
	all, err := readAll(t, r, codec.Query{})
	require.NoError(t, err)
	for i, m := range all {
		require.Equal(t, []string{"/b", "/a"}[i%2], m.topic)
		require.EqualValues(t, 1700000000000000000+i*1e6, m.time)
		require.Len(t, m.data, 200)
		require.EqualValues(t, 'a'+i%26, m.data[199])
	}
}

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
			var want []got
			for _, m := range all {
				if q.Covers(m.time) && q.Wants(&codec.Channel{Topic: m.topic}) {
					want = append(want, m)
				}
			}
			have, err := readAll(t, r, q)
			require.NoError(t, err)
			require.Equal(t, want, have)
		}
	}
}

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

// If a longer file was overwritten without truncation, its rest is behind the index of the new one.
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

// A file may lack the index though its header says that it is complete, or have an index though it does not.
func TestIsCompleteLies(t *testing.T) {
	whole, killed := smallFile(t, true), smallFile(t, false)
	flag := bytes.Index(whole, []byte{0x68, 1, 0x70})
	require.Positive(t, flag)
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

// openBytes opens a file in memory.
func openBytes(t testing.TB, b []byte) *reader {
	r, err := newReader("memory.record", codectest.NewFile(b), int64(len(b)), b[:min(len(b), firstSection)])
	require.NoError(t, err)
	return r
}

// smallMessages returns the messages of smallFile in order of time: two topics in three chunks. The first chunk is not
// in order, and the last two overlap.
func smallMessages() []got {
	var all []got
	for i := range 12 {
		all = append(all, got{[]string{"/a", "/b"}[i%2], 1700000000000000000 + int64(i)*1e6, int64(i%3) * 1e9,
			strings.Repeat(string(rune('a'+i)), 3*i)})
	}
	return all
}

// smallFile returns the content of a file with smallMessages.
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

// TestMapAndVehicle calls Info when the header with the names is no longer in the window.
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

// The index lists the positions of events, so that Info does not search for them.
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
	require.Nil(t, r.deep)

	// The index of another writer does not list them.
	i := bytes.LastIndex(b, appendBytes(nil, extension, "")[:3])
	require.Positive(t, i)
	b[i] += 8 // another field
	r = openBytes(t, b)
	info, err = r.Info()
	require.NoError(t, err)
	require.Equal(t, []codec.Event{want, want, want}, info.Events)
	require.NotNil(t, r.deep)
}
