package mcap

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/internal/codectest"
	"tapedeck/codec/internal/output"
)

// requireMessages compares messages and, once each, their channels.
func requireMessages(t testing.TB, want, got []codec.Message) {
	t.Helper()
	require.Len(t, got, len(want))
	same := map[*codec.Channel]*codec.Channel{}
	for i := range want {
		w, g := &want[i], &got[i]
		if same[w.Channel] != g.Channel {
			require.Nil(t, same[w.Channel], "message %d is of another channel", i)
			require.Equal(t, w.Channel, g.Channel)
			same[w.Channel] = g.Channel
		}
		if w.LogTime != g.LogTime || w.PublishTime != g.PublishTime || !bytes.Equal(w.Data, g.Data) {
			require.FailNow(t, "another message", "%d: want %d %d %q, got %d %d %q", i, w.LogTime, w.PublishTime,
				w.Data,
				g.LogTime, g.PublishTime, g.Data)
		}
	}
}

var collect, readAll = codectest.Collect, codectest.Read

func open(t testing.TB, path string) codec.Reader { return codectest.Open(t, path, Format) }

func testChannels() []*codec.Channel {
	qos := codec.DefaultQoS()
	latched := qos
	latched.Durability, latched.Lifespan = codec.TransientLocal, 10*time.Second
	return []*codec.Channel{
		{
			Topic: "/imu", Type: "sensor_msgs/msg/Imu", Encoding: codec.EncodingCDR, TypeHash: "RIHS01_00",
			Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("std_msgs/Header header\n")},
			QoS:    []codec.QoS{qos, latched},
		},
		{
			Topic: "/chatter", Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR,
			Schema:   codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("string data\n")},
			Metadata: map[string]string{"gid": "1"},
		},
		{Topic: "/unknown", Type: "pkg/msg/Unknown", Encoding: codec.EncodingCDR},
	}
}

// testMessages returns n messages. One in ten is out of order.
func testMessages(n int, channels []*codec.Channel) []codec.Message {
	random := rand.New(rand.NewPCG(1, 2))
	messages := make([]codec.Message, n)
	for i := range messages {
		t := 1700000000000000000 + int64(i)*10_000_000
		if i%10 == 5 {
			t -= 123_000_000
		}
		data := make([]byte, random.IntN(200))
		for j := range data {
			data[j] = byte(random.IntN(8) + i)
		}
		messages[i] = codec.Message{Channel: channels[i%len(channels)], LogTime: t, PublishTime: t - 5, Data: data}
	}
	return messages
}

func byTime(messages []codec.Message) []codec.Message {
	sorted := slices.Clone(messages)
	slices.SortStableFunc(sorted, func(a, b codec.Message) int { return int(a.LogTime - b.LogTime) })
	return sorted
}

func writeFile(t testing.TB, path string, o codec.CreateOptions, messages []codec.Message) {
	w, err := codec.Formats{Format}.Create(path, o)
	require.NoError(t, err)
	for i := range messages {
		require.NoError(t, w.Write(&messages[i]))
	}
	require.NoError(t, w.Close())
	require.NoError(t, w.Close(), "closing twice")
	require.ErrorIs(t, w.Write(&codec.Message{Channel: &codec.Channel{}}), fs.ErrClosed)
}

// requireSum checks that a file has a checksum of its data section, and that the checksum is right.
func requireSum(t testing.TB, path string) {
	t.Helper()
	r := open(t, path).(*chunked.Reader)
	require.NoError(t, r.Load())
	require.NotZero(t, r.Layout.(*reader).dataSum)
	require.NoError(t, r.Layout.(*reader).Verify())
}

func TestRoundTrip(t *testing.T) {
	messages := testMessages(500, testChannels())
	for _, o := range []codec.CreateOptions{
		{},
		{ChunkSize: 1},
		{ChunkSize: 1000, ChunkDuration: time.Hour},
		{Compression: "none", Metadata: map[string]string{"robot": "r2"}},
		{Compression: "zstd"},
		{Compression: "zstd", ChunkSize: 1000},
		{Compression: "lz4"},
		{Compression: "lz4", ChunkSize: 1000},
	} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.mcap")
			writeFile(t, path, o, messages)
			r := open(t, path)
			requireMessages(t, byTime(messages), readAll(t, r, codec.Query{}))
			info, err := r.Info()
			require.NoError(t, err)
			require.True(t, info.Complete)
			require.Empty(t, info.Events)
			require.Equal(t, o.Metadata, info.Metadata)
			require.EqualValues(t, len(messages), info.MessageCount)
			require.Equal(t, byTime(messages)[0].LogTime, info.StartTime)
			require.Equal(t, byTime(messages)[len(messages)-1].LogTime, info.EndTime)
			require.Len(t, info.Topics, 3)
			require.Equal(t, "ros2", info.Extra.(Extra).Profile)
			require.Equal(t, "tapedeck", info.Extra.(Extra).Library)
			if o.Compression != "" {
				require.Positive(t, info.Extra.(Extra).Chunks[o.Compression])
			}

			requireSum(t, path)

			// The index agrees with a scan of the file.
			opened, err := Format.Open(path)
			require.NoError(t, err)
			defer opened.Close()
			scanned := opened.(*chunked.Reader).Layout.(*reader)
			scanned.reset()
			require.NoError(t, scanned.scan(false))
			again := scanned.Describe()
			require.True(t, info.Indexed)
			require.False(t, again.Indexed)
			again.Indexed = true
			require.Equal(t, info, again)
		})
	}
}

func TestQuery(t *testing.T) {
	channels := testChannels()
	messages := testMessages(1000, channels)
	path := filepath.Join(t.TempDir(), "a.mcap")
	writeFile(t, path, codec.CreateOptions{ChunkSize: 2000}, messages)
	r := open(t, path)
	start, end := messages[200].LogTime, messages[700].LogTime
	asked := map[string]int{}
	got := readAll(t, r, codec.Query{Start: start, End: end, Topics: func(c *codec.Channel) bool {
		asked[c.Topic]++
		return c.Topic == "/chatter"
	}})
	var want []codec.Message
	for _, m := range byTime(messages) {
		if m.LogTime >= start && m.LogTime < end && m.Channel == channels[1] {
			want = append(want, m)
		}
	}
	requireMessages(t, want, got)
	require.Equal(t, map[string]int{"/imu": 1, "/chatter": 1, "/unknown": 1}, asked)
	require.Empty(t, readAll(t, r, codec.Query{Start: end * 2}))
}

// Messages are omitted even if records and their heads cross the pieces in which a chunk is read. Damage of omitted
// messages is found.
func TestQueryInLargeChunks(t *testing.T) {
	channels := testChannels()
	messages := testMessages(4000, channels)
	for i := range messages {
		if i%88 == 0 { // messages of all channels in turn
			messages[i].Data = bytes.Repeat([]byte{byte(i)}, i*250+i/40)
		}
	}
	path := filepath.Join(t.TempDir(), "a.mcap")
	writeFile(t, path, codec.CreateOptions{Compression: "none", ChunkSize: 64 << 20}, messages)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, channel := range channels {
		only := func(c *codec.Channel) bool { return c.Topic == channel.Topic }
		var want []codec.Message
		for _, m := range byTime(messages) {
			if m.Channel == channel {
				want = append(want, m)
			}
		}
		r := open(t, path)
		requireMessages(t, want, readAll(t, r, codec.Query{Topics: only}))

		damaged := slices.Clone(data)
		damaged[bytes.LastIndex(data, bytes.Repeat([]byte{byte(3960 & 0xff)}, 900))] ^= 1 // of one of them
		require.NoError(t, os.WriteFile(path, damaged, 0o666))
		it, err := open(t, path).Read(codec.Query{Topics: only})
		require.NoError(t, err)
		for err == nil {
			_, err = it.Next()
		}
		require.ErrorContains(t, err, "the checksum is wrong")
		require.NoError(t, it.Close())
		require.NoError(t, os.WriteFile(path, data, 0o666))
	}
}

func TestProfileIsThatOfAllChannels(t *testing.T) {
	for _, c := range []struct {
		encodings []string
		want      string
	}{
		{nil, "ros2"},
		{[]string{"cdr", "cdr"}, "ros2"},
		{[]string{"ros1", "ros1"}, "ros1"},
		{[]string{"cdr", "ros1"}, ""},
		{[]string{"ros1", "cdr"}, ""},
		{[]string{"protobuf"}, ""},
		{[]string{"cdr", "protobuf", "cdr"}, ""},
	} {
		path := filepath.Join(t.TempDir(), "a.mcap")
		w, err := createOn(codec.OS{}, path, codec.CreateOptions{})
		require.NoError(t, err)
		for i, encoding := range c.encodings {
			require.NoError(t, w.Declare(&codec.Channel{Topic: fmt.Sprint("/", i), Encoding: encoding}))
		}
		require.NoError(t, w.Close())
		info, err := open(t, path).Info()
		require.NoError(t, err)
		require.Equal(t, c.want, info.Extra.(Extra).Profile, "%v", c.encodings)
		require.Equal(t, "tapedeck", info.Extra.(Extra).Library)
		require.Len(t, info.Topics, len(c.encodings))
		requireSum(t, path)
	}
}

func TestEqualChannelsBecomeOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mcap")
	a, b := testChannels(), testChannels()
	b[1].Metadata = map[string]string{"gid": "2"}
	writeFile(t, path, codec.CreateOptions{}, append(testMessages(9, a), testMessages(9, b)...))
	info, err := open(t, path).Info()
	require.NoError(t, err)
	require.Len(t, info.Topics, 4)
	require.EqualValues(t, 6, info.Topics[0].MessageCount)
}

// TestSyncAndKill reads the file of a writer that was not closed.
func TestSyncAndKill(t *testing.T) {
	messages := testMessages(100, testChannels())
	path := filepath.Join(t.TempDir(), "a.mcap")
	w, err := codec.Formats{Format}.Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	check := func(want []codec.Message) {
		r := open(t, path)
		requireMessages(t, byTime(want), readAll(t, r, codec.Query{}))
		info, err := r.Info()
		require.NoError(t, err)
		require.False(t, info.Complete)
		require.Equal(t, "unfinished", info.Events[0].Kind)
		require.EqualValues(t, len(want), info.MessageCount)
	}
	check(nil)
	for i := range messages[:50] {
		require.NoError(t, w.Write(&messages[i]))
	}
	require.NoError(t, w.Sync())
	check(messages[:50])
	require.NoError(t, w.Declare(&codec.Channel{Topic: "/silent", Encoding: "cdr"}))
	require.NoError(t, w.Sync())
	info, err := open(t, path).Info()
	require.NoError(t, err)
	require.Len(t, info.Topics, 4)

	// A chunk is written when the next message is a second later than its first.
	w.Write(&messages[50])
	late := messages[51]
	late.LogTime = messages[50].LogTime + int64(time.Second)
	require.NoError(t, w.Write(&late))
	check(messages[:51])
}

func TestSyncBesideWrite(t *testing.T) { codectest.SyncBesideWrite(t, Format, testChannels()...) }

// TestInfoOfWriter compares a writer's Info with a reader's.
func TestInfoOfWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mcap")
	e, err := NewEncoder(path, codec.CreateOptions{}, nil)
	require.NoError(t, err)
	w, err := output.NewSeries(codec.OS{}).NewChunkWriter(Name, path, e, codec.CreateOptions{}, nil)
	require.NoError(t, err)
	for _, m := range testMessages(1000, testChannels()) {
		require.NoError(t, w.Write(&m))
	}
	require.NoError(t, w.Complete(false))
	info := w.Info()
	read, err := open(t, path).Info()
	require.NoError(t, err)
	require.Equal(t, read.MessageCount, info.MessageCount)
	require.Equal(t, read.Topics, info.Topics)
	require.Equal(t, []int64{read.StartTime, read.EndTime}, []int64{info.StartTime, info.EndTime})
}

func TestCreateRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mcap")
	_, err := codec.Formats{Format}.Create(path, codec.CreateOptions{Compression: "bz2"})
	require.ErrorContains(t, err, `create `+path+`: MCAP has no compression "bz2"; it has none, lz4 and zstd`)
	require.NoFileExists(t, path)
	writeFile(t, path, codec.CreateOptions{}, nil)
	_, err = codec.Formats{Format}.Create(path, codec.CreateOptions{})
	require.ErrorIs(t, err, os.ErrExist)
	writeFile(t, path, codec.CreateOptions{Overwrite: true}, testMessages(3, testChannels()))
	require.Len(t, readAll(t, open(t, path), codec.Query{}), 3)
}

func TestCreateFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mcap")
	_, err := createOn(codec.OS{}, path, codec.CreateOptions{ChunkSize: -1})
	require.ErrorContains(t, err, "negative")
	require.NoFileExists(t, path)
	w, err := createOn(codec.OS{}, path, codec.CreateOptions{ChunkSize: math.MaxInt})
	require.NoError(t, err)
	require.NoError(t, w.Close())
}

func TestCloseTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mcap")
	writeFile(t, path, codec.CreateOptions{}, testMessages(3, testChannels()))
	it, err := open(t, path).Read(codec.Query{})
	require.NoError(t, err)
	require.NoError(t, it.Close())
	require.NoError(t, it.Close())
	_, err = it.Next()
	require.ErrorIs(t, err, fs.ErrClosed)
}
