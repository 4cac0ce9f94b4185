package rosbag

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/codectest"
)

const stringMD5 = "992ce8a1687cec8c8bd883ec73ca41d1"

func testChannels() []*codec.Channel {
	schema := codec.Schema{Encoding: codec.SchemaROS1Msg, Data: []byte("string data\n")}
	return []*codec.Channel{
		{Topic: "/a", Type: "std_msgs/String", Encoding: codec.EncodingROS1, Schema: schema,
			Metadata: map[string]string{"md5sum": stringMD5, "callerid": "/one", "latching": "false"}},
		{
			Topic: "/a", Type: "std_msgs/String", Encoding: codec.EncodingROS1, Schema: schema, QoS: latched(),
			Metadata: map[string]string{"md5sum": stringMD5, "callerid": "/two", "latching": "true", "mine": "x=y"},
		},
		{Topic: "/b", Type: "std_msgs/String", Encoding: codec.EncodingROS1, Schema: schema,
			Metadata: map[string]string{"md5sum": stringMD5}},
		{Topic: "/silent", Type: "std_msgs/String", Encoding: codec.EncodingROS1, Schema: schema,
			Metadata: map[string]string{"md5sum": stringMD5}},
	}
}

func TestWriteAndRead(t *testing.T) {
	for _, compression := range []string{"", "none", "lz4", "bz2"} {
		t.Run(compression, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.bag")
			w, err := codec.Formats{Format}.Create(path, codec.CreateOptions{Compression: compression, ChunkSize: 2000})
			require.NoError(t, err)
			require.FileExists(t, path+codec.ActiveSuffix)
			require.NoFileExists(t, path)
			channels := testChannels()
			random := rand.New(rand.NewPCG(1, 2))
			var want []codec.Message
			for i := range 500 {
				m := codec.Message{Channel: channels[i%3], LogTime: 1 + int64(i)*1e6,
					Data: bytes.Repeat([]byte{byte(i)}, random.IntN(200))}
				if i%10 == 9 {
					m.LogTime -= 5_500_000
				}
				require.NoError(t, w.Write(&m))
				want = append(want, m)
			}
			require.NoError(t, w.Declare(channels[3]))
			require.NoError(t, w.Close())
			require.NoFileExists(t, path+codec.ActiveSuffix)
			slices.SortStableFunc(want, func(a, b codec.Message) int { return int(a.LogTime - b.LogTime) })

			r, err := codec.Formats{Format}.Open(path)
			require.NoError(t, err)
			defer r.Close()
			info, err := r.Info()
			require.NoError(t, err)
			require.True(t, info.Complete)
			require.Empty(t, info.Events)
			require.EqualValues(t, 500, info.MessageCount)
			require.Equal(t, want[0].LogTime, info.StartTime)
			require.Equal(t, want[499].LogTime, info.EndTime)
			require.Len(t, info.Topics, 4)
			for i, topic := range info.Topics {
				require.Equal(t, channels[i], topic.Channel)
			}
			require.Greater(t, info.Extra.(Extra).Chunks, 10)
			got := readAll(t, r, codec.Query{})
			require.Len(t, got, 500)
			for i := range want {
				require.Equal(t, want[i].LogTime, got[i].LogTime)
				require.Equal(t, string(want[i].Data), string(got[i].Data))
				require.Equal(t, want[i].Channel, got[i].Channel)
			}
		})
	}
}

// TestChunksEnd checks that a chunk is written after ChunkDuration, and by Sync.
func TestChunksEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.bag")
	w, err := codec.Formats{Format}.Create(path, codec.CreateOptions{ChunkDuration: time.Second})
	require.NoError(t, err)
	write := func(time int64) {
		require.NoError(t, w.Write(&codec.Message{Channel: testChannels()[0], LogTime: time, Data: []byte("x")}))
	}
	count := func() (n int) {
		r, err := codec.Formats{Format}.Open(path)
		require.NoError(t, err)
		defer r.Close()
		info, err := r.Info()
		require.NoError(t, err)
		require.False(t, info.Complete)
		return int(info.MessageCount)
	}
	write(1e9)
	write(1e9 + 5e8)
	require.Equal(t, 0, count())
	write(2e9)
	require.Equal(t, 2, count())
	require.NoError(t, w.Sync())
	require.Equal(t, 3, count())
	require.NoError(t, w.Sync())
	require.NoError(t, w.Close())
}

func TestWriteErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.bag")
	w, err := codec.Formats{Format}.Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	c := testChannels()[0]
	for _, m := range []struct {
		message codec.Message
		want    string
	}{
		{codec.Message{Channel: c, LogTime: 0}, "a message of /a has the time 0 ns; times in a bag are from 1 to " +
			"4294967295999999999"},
		{codec.Message{Channel: c, LogTime: -1}, "the time -1 ns"},
		{codec.Message{Channel: c, LogTime: maxTime + 1}, "the time 4294967296000000000 ns"},
		{codec.Message{Channel: &codec.Channel{Topic: "/cdr", Encoding: codec.EncodingCDR}, LogTime: 1},
			"topic /cdr: the encoding is cdr; a bag holds only messages of ROS 1 (ros1)"},
		{codec.Message{Channel: c, LogTime: 1, Data: make([]byte, maxPayload+1)},
			"takes 536870913 bytes; at most 536870912 fit"},
	} {
		require.ErrorContains(t, w.Write(&m.message), m.want)
	}
	require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: maxTime, Data: []byte("last")}))
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Write(&codec.Message{Channel: c, LogTime: 1}), fs.ErrClosed)
	all := readAll(t, openMemory(t, must(os.ReadFile(path))), codec.Query{})
	require.Len(t, all, 1)
	require.Equal(t, maxTime, all[0].LogTime)

	_, err = codec.Formats{Format}.Create(filepath.Join(t.TempDir(), "b.bag"), codec.CreateOptions{Compression: "zstd"})
	require.ErrorContains(t, err, `no compression "zstd"; it has none, lz4 and bz2`)
	_, err = codec.Formats{Format}.Create(path, codec.CreateOptions{})
	require.ErrorIs(t, err, fs.ErrExist)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestForeignChannels checks that channels of other formats get md5sum and latching.
func TestForeignChannels(t *testing.T) {
	sum := codec.Channel{
		Topic: "/sum", Type: "std_msgs/String", Encoding: codec.EncodingROS1, QoS: latched(),
		Schema: codec.Schema{Encoding: codec.SchemaROS1Msg, Data: []byte("string data\n")},
	}
	again := sum
	merged := sum // with the metadata of a connection that does not latch
	merged.Metadata = map[string]string{"latching": "false"}
	undefined := codec.Channel{Topic: "/any", Type: "std_msgs/String", Encoding: codec.EncodingROS1}
	content := codectest.Write(t, Format, codec.CreateOptions{}, codec.Message{Channel: &sum, LogTime: 1},
		codec.Message{Channel: &again, LogTime: 2}, codec.Message{Channel: &undefined, LogTime: 3},
		codec.Message{Channel: &merged, LogTime: 4})
	info, err := openMemory(t, content).Info()
	require.NoError(t, err)
	require.Len(t, info.Topics, 2)
	require.EqualValues(t, 3, info.Topics[0].MessageCount)
	require.Equal(t, map[string]string{"md5sum": stringMD5, "latching": "true"}, info.Topics[0].Channel.Metadata)
	require.Equal(t, map[string]string{"md5sum": "*"}, info.Topics[1].Channel.Metadata)
}

// TestSplit checks that every file of a recording has all connections, and can be read alone.
func TestSplit(t *testing.T) {
	dir := t.TempDir()
	var completed []string
	w, err := codec.Formats{Format}.Create(filepath.Join(dir, "drive.bag"),
		codec.CreateOptions{Completed: func(f codec.FileInfo, err error) {
			require.NoError(t, err)
			completed = append(completed, fmt.Sprint(filepath.Base(f.Path), " ", f.MessageCount))
		}})
	require.NoError(t, err)
	channels := testChannels()
	for i := range 9 {
		require.NoError(t, w.Write(&codec.Message{Channel: channels[i%3], LogTime: int64(i + 1),
			Data: []byte(strings.Repeat("x", i))}))
		if i%3 == 2 && i < 8 {
			require.NoError(t, w.Split())
		}
	}
	require.NoError(t, w.Close())
	require.Equal(t, []string{"drive.bag 3", "drive_1.bag 3", "drive_2.bag 3"}, completed)
	for i, name := range []string{"drive.bag", "drive_1.bag", "drive_2.bag"} {
		r := openMemory(t, must(os.ReadFile(filepath.Join(dir, name))))
		all := readAll(t, r, codec.Query{})
		require.Len(t, all, 3)
		for j, m := range all {
			require.Equal(t, channels[j], m.Channel)
			require.EqualValues(t, 3*i+j+1, m.LogTime)
		}
	}
}

// TestSalvage checks that the reader salvages the messages of damaged chunks, and of LZ4 chunks the whole blocks.
func TestSalvage(t *testing.T) {
	for _, c := range []struct {
		compression string
		kept        int // least number of messages that are read
	}{{"none", 299}, {"lz4", 100}} {
		t.Run(c.compression, func(t *testing.T) {
			random := rand.NewChaCha8([32]byte{})
			var messages []codec.Message
			for i := range int64(300) {
				data := make([]byte, 10_000)
				_, _ = random.Read(data)
				messages = append(messages, codec.Message{Channel: testChannels()[0], LogTime: 1 + i, Data: data})
			}
			o := codec.CreateOptions{Compression: c.compression, ChunkSize: 10 << 20}
			content := codectest.Write(t, Format, o, messages...)
			for i := range 40 { // across borders of fields
				content[len(content)/2+i] ^= 0xff
			}
			r := openMemory(t, content)
			it, err := r.Read(codec.Query{})
			require.NoError(t, err)
			_, err = collect(it)
			require.ErrorContains(t, err, "a.bag: chunk at 0x1015: ")
			damaged := 0
			all := readAll(t, r, codec.Query{Damaged: func(error) { damaged++ }})
			require.Positive(t, damaged)
			require.GreaterOrEqual(t, len(all), c.kept)
		})
	}
}

// TestLZ4Frame checks the flags of LZ4 frames. ROS only reads frames of version 1 with independent blocks, a checksum
// of the content, and no size.
func TestLZ4Frame(t *testing.T) {
	p := must(newPacker("lz4"))
	frame := must(p.pack([]byte("records")))
	require.Equal(t, []byte{0x04, 0x22, 0x4d, 0x18, 0x64}, frame[:5])
}

// TestBytes compares a bag with the records that the specification demands.
func TestBytes(t *testing.T) {
	c := &codec.Channel{
		Topic: "/a", Type: "std_msgs/String", Encoding: codec.EncodingROS1,
		Metadata: map[string]string{"md5sum": stringMD5, "latching": "true"},
		Schema:   codec.Schema{Encoding: codec.SchemaROS1Msg, Data: []byte("string data\n")},
	}
	content := codectest.Write(t, Format, codec.CreateOptions{},
		codec.Message{Channel: c, LogTime: 5e9 + 7, Data: []byte("late")},
		codec.Message{Channel: c, LogTime: 4e9, Data: []byte("early")})

	header := slices.Concat(
		field("topic", "/a"), field("type", "std_msgs/String"), field("md5sum", stringMD5),
		field("message_definition", "string data\n"), field("latching", "1"),
	)
	connection := testRecord(header, "op", opConnection, "conn", uint32(0), "topic", "/a")
	records := slices.Concat(connection, testMessage(0, 5e9+7, "late"), testMessage(0, 4e9, "early"))
	chunk := testRecord(records, "op", opChunk, "compression", "none", "size", uint32(len(records)), crcField,
		crc32.ChecksumIEEE(records))
	second := uint32(len(records) - len(testMessage(0, 0, "early")))
	index := slices.Concat(
		[]byte{4, 0, 0, 0, 0, 0, 0, 0}, le.AppendUint32(nil, second), []byte{5, 0, 0, 0, 7, 0, 0, 0},
		le.AppendUint32(nil, uint32(len(connection))),
	)
	at := uint64(len(version2) + fileHeaderSize)
	body := slices.Concat(chunk, testRecord(index, "op", opIndex, "ver", uint32(1), "conn", uint32(0), "count",
		uint32(2)))
	want := slices.Concat([]byte(version2), testFileHeader(int(at)+len(body), 1, 1), body, connection, testRecord(
		[]byte{0, 0, 0, 0, 2, 0, 0, 0},
		"op", opChunkInfo, "ver", uint32(1), "chunk_pos", at, "start_time", int64(4e9), "end_time", int64(5e9+7),
		"count",
		uint32(1),
	))
	require.Equal(t, want, content)
}

func TestSyncBesideWrite(t *testing.T) { codectest.SyncBesideWrite(t, Format, testChannels()...) }
