package rosbag

import (
	"bytes"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/internal/codectest"
)

// bagOfTwoChunks returns a bag whose chunks overlap in time. Topic /a has two publishers.
func bagOfTwoChunks() *bag {
	b := newBag()
	first := slices.Concat(
		testConnection(0, "/a", "callerid", "/one", "latching", "1"), testMessage(0, 10, "a10"),
		testMessage(0, 50, "a50"),
		testConnection(7, "/a", "callerid", "/two", "latching", "0"), testMessage(7, 30, "b30"),
	)
	b.chunk("none", first, first)
	second := slices.Concat(testMessage(7, 20, "b20"), testConnection(3, "/c"), testMessage(3, 50, "c50"),
		testMessage(3, 3e9+4, "c3"))
	b.chunk("none", second, second)
	return b
}

func TestRead(t *testing.T) {
	closed := bagOfTwoChunks().close()
	for _, c := range []struct {
		name     string
		content  []byte
		complete bool
	}{
		{"indexed", closed, true},
		{"not closed", bagOfTwoChunks().Bytes(), false},
		{"index wrong", bytes.Replace(closed, []byte("chunk_pos="), []byte("chunk_sop="), 1), false},
		{"counts wrong", bytes.Replace(closed, field("chunk_count", uint32(2)), field("chunk_count", uint32(1)), 1),
			true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := openMemory(t, c.content)
			info, err := r.Info()
			require.NoError(t, err)
			require.Equal(t, c.complete, info.Complete)
			require.Equal(t, c.name != "indexed", len(info.Events) > 0)
			require.EqualValues(t, 6, info.MessageCount)
			require.EqualValues(t, 10, info.StartTime)
			require.EqualValues(t, 3e9+4, info.EndTime)
			require.Len(t, info.Topics, 3)
			byCaller := map[string]codec.TopicInfo{}
			for _, topic := range info.Topics {
				require.Equal(t, "std_msgs/String", topic.Channel.Type)
				require.Equal(t, codec.EncodingROS1, topic.Channel.Encoding)
				require.Equal(t, codec.Schema{Encoding: codec.SchemaROS1Msg, Data: []byte("string data\n")},
					topic.Channel.Schema)
				require.Equal(t, "992ce8a1687cec8c8bd883ec73ca41d1", topic.Channel.Metadata["md5sum"])
				byCaller[topic.Channel.Metadata["callerid"]] = topic
			}
			one, two, three := byCaller["/one"], byCaller["/two"], byCaller[""]
			require.Equal(t, []uint64{2, 2, 2}, []uint64{one.MessageCount, two.MessageCount, three.MessageCount})
			require.Equal(t, []string{"/a", "/a", "/c"},
				[]string{one.Channel.Topic, two.Channel.Topic, three.Channel.Topic})
			require.Equal(t, []string{"true", "false", ""},
				[]string{one.Channel.Metadata["latching"], two.Channel.Metadata["latching"],
					three.Channel.Metadata["latching"]})
			require.Equal(t, codec.TransientLocal, one.Channel.QoS[0].Durability)
			require.Nil(t, two.Channel.QoS)
			require.Nil(t, three.Channel.QoS)

			read := func(q codec.Query) []string {
				q.Damaged = func(error) {} // damage of the index; messages are whole
				return texts(readAll(t, r, q))
			}
			require.Equal(t, []string{"a10", "b20", "b30", "a50", "c50", "c3"}, read(codec.Query{}))
			require.Equal(t, []string{"b20", "b30"}, read(codec.Query{Start: 11, End: 50}))
			for _, c := range []struct {
				want   []string
				wanted func(*codec.Channel) bool
			}{
				{[]string{"c50", "c3"}, func(c *codec.Channel) bool { return c.Topic == "/c" }},
				{[]string{"b20", "b30"}, func(c *codec.Channel) bool { return c.Metadata["callerid"] == "/two" }},
			} {
				require.Equal(t, c.want, read(codec.Query{Topics: c.wanted}))
			}
		})
	}
}

// packLZ4 compresses records to a frame with blocks of 64 KiB.
func packLZ4(t testing.TB, records []byte) []byte {
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	require.NoError(t, w.Apply(lz4.BlockSizeOption(lz4.Block64Kb)))
	_, err := w.Write(records)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestUnknownCompression(t *testing.T) {
	b := newBag()
	records := slices.Concat(testConnection(0, "/a"), testMessage(0, 10, "a"))
	b.chunk("snappy", records, []byte("packed"))
	good := slices.Concat(testMessage(0, 11, "b"))
	b.chunk("none", good, good)
	r := openMemory(t, b.close())
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	_, err = collect(it)
	require.ErrorContains(t, err, `a.bag: chunk at 0x1015: compressed with "snappy"`)
	var damage []error
	require.Equal(t, []string{"b"}, texts(readAll(t, r,
		codec.Query{Damaged: func(err error) { damage = append(damage, err) }})))
	require.ErrorContains(t, damage[0], "snappy")
}

// TestEncrypted checks that the error for an encrypted bag names the encryption, not damage.
func TestEncrypted(t *testing.T) {
	content := newBag().close()
	head := testRecord(nil, "op", opFile, "index_pos", uint64(4109), "conn_count", uint32(0), "chunk_count", uint32(0),
		"encryptor", "rosbag/AesCbcEncryptor")
	r := openMemory(t, append([]byte(version2), append(head, content[len(version2)+len(head):]...)...))
	_, err := r.Info()
	require.ErrorContains(t, err, "encrypted with rosbag/AesCbcEncryptor; decrypt it")
}

func TestOtherVersions(t *testing.T) {
	for head, want := range map[string]string{
		"#ROSBAG V1.1\n": `a bag of version "1.1"`,
		"#ROSBAG V3.0\n": `a bag of version "3.0"`,
		"#ROSBAG":        "not a bag",
		"#ROSBAG V2.0":   `a bag of version "2.0"`,
	} {
		_, err := Format.Open(writeFile(t, []byte(head)))
		require.ErrorContains(t, err, want)
	}
}

// TestWrongIndexLength reads a bag in which the index record after a chunk has a wrong length, as ROS C Turtle wrote.
func TestWrongIndexLength(t *testing.T) {
	records := slices.Concat(testConnection(0, "/a"), testMessage(0, 10, "a"))
	index := testRecord(make([]byte, 12), "op", opIndex, "ver", uint32(1), "conn", uint32(0), "count", uint32(1))
	wrong := bytes.Clone(index)
	le.PutUint32(wrong[len(wrong)-16:], 4)
	b := newBag()
	b.chunk("none", records, records)
	more := testMessage(0, 11, "b")
	b.chunk("none", more, more)
	i := bytes.Index(b.Bytes(), index[:len(index)-16])
	require.Positive(t, i)
	copy(b.Bytes()[i:], wrong)
	r := openMemory(t, b.Bytes())
	require.Equal(t, []string{"a", "b"}, texts(readAll(t, r, codec.Query{})))
}

// TestConnectionsAtTheEnd reads a bag with connections only in the index, as old versions of rosbag record --split
// wrote.
func TestConnectionsAtTheEnd(t *testing.T) {
	b := newBag()
	records := testMessage(5, 10, "a")
	b.chunk("none", records, records)
	b.connection(testConnection(5, "/a"))
	content := b.close()
	require.Equal(t, []string{"a"}, texts(readAll(t, openMemory(t, content), codec.Query{})))
	copy(content[len(version2):], testFileHeader(0, 0, 0))
	r := openMemory(t, content)
	require.Equal(t, []string{"a"}, texts(readAll(t, r, codec.Query{})))
}

// TestLargeConnections reads connections that are larger than the first bytes that a window reads.
func TestLargeConnections(t *testing.T) {
	topics := []string{"/a", "/b", "/c"}
	b := newBag()
	var records []byte
	for i := range topics {
		records = append(records, testMessage(uint32(i), int64(10+i), "a")...)
	}
	b.chunk("none", records, records)
	for i, topic := range topics {
		b.connection(testConnection(uint32(i), topic, "callerid", strings.Repeat("x", 2*chunked.JumpSize)))
	}
	content := b.close()
	for _, closed := range []bool{true, false} {
		if !closed {
			copy(content[len(version2):], testFileHeader(0, 0, 0))
		}
		got := []string{}
		for _, m := range readAll(t, openMemory(t, content), codec.Query{}) {
			got = append(got, m.Channel.Topic)
		}
		require.Equal(t, topics, got, "closed: %v", closed)
	}
}

// TestDifferentConnections reads bags whose index describes a connection differently than the chunk.
func TestDifferentConnections(t *testing.T) {
	for _, c := range []struct {
		name    string
		index   []byte
		differs bool
	}{
		{"equal", testConnection(0, "/a", "callerid", "/one", "latching", "1"), false},
		{"other order", testConnection(0, "/a", "latching", "1", "callerid", "/one"), false},
		{"other topic", testConnection(0, "/b", "callerid", "/one", "latching", "1"), true},
		{"other field", testConnection(0, "/a", "callerid", "/one", "latching", "0"), true},
		{"missing field", testConnection(0, "/a", "callerid", "/one"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBag()
			connection := testConnection(0, "/a", "callerid", "/one", "latching", "1")
			records := slices.Concat(connection, testMessage(0, 10, "a"))
			b.chunk("none", records, records)
			b.index = bytes.Replace(b.index, connection, c.index, 1)
			var damage []string
			query := codec.Query{Damaged: func(err error) { damage = append(damage, err.Error()) }}
			require.Equal(t, []string{"a"}, texts(readAll(t, openMemory(t, b.close()), query)))
			if !c.differs {
				require.Empty(t, damage)
				return
			}
			require.Len(t, damage, 1)
			require.Contains(t, damage[0], "the record of connection 0 differs from an earlier one")
		})
	}
}

// version1Bag returns a bag of version 1.2, with an index if closed.
func version1Bag(closed bool) []byte {
	definition := testRecord(nil, "op", opDefinition, "topic", "/a", "type", "std_msgs/String", "md5", "992c", "def",
		"string data\n")
	message := func(topic string, time int64, data string, fields ...any) []byte {
		fields = append([]any{
			"op", opMessage, "topic", topic, "md5", "992c", "type", "std_msgs/String", "sec", uint32(time / 1e9),
			"nsec",
			uint32(time % 1e9),
		}, fields...)
		return testRecord([]byte(data), fields...)
	}
	head := func(index int) []byte {
		h := testRecord(nil, "op", opFile, "index_pos", uint64(index))
		return slices.Concat([]byte(version1), h[:len(h)-4], le.AppendUint32(nil, 100), bytes.Repeat([]byte(" "), 100))
	}
	records := slices.Concat(
		definition, message("/a", 2e9+1, "a2"), message("/a", 1e9+5, "a1", "latching", "1", "callerid", "/one"),
		message("/b", 3e9, "b3"),
	)
	if !closed {
		return append(head(0), records...)
	}
	index := testRecord(make([]byte, 32), "op", opIndex, "ver", uint32(0), "topic", "/a", "count", uint32(2))
	return slices.Concat(head(len(head(0))+len(records)), records, index)
}

func TestVersion1(t *testing.T) {
	for _, closed := range []bool{true, false} {
		r := openMemory(t, version1Bag(closed))
		info, err := r.Info()
		require.NoError(t, err)
		require.Equal(t, closed, info.Complete, info.Events)
		require.Equal(t, "1.2", info.Extra.(Extra).Version)
		require.Len(t, info.Topics, 3)
		for _, topic := range info.Topics {
			require.EqualValues(t, 1, topic.MessageCount)
			require.Equal(t, "std_msgs/String", topic.Channel.Type)
			require.Equal(t, "string data\n", string(topic.Channel.Schema.Data))
			require.Equal(t, "992c", topic.Channel.Metadata["md5sum"])
		}
		require.Equal(t, "/one", info.Topics[1].Channel.Metadata["callerid"])
		require.Equal(t, codec.TransientLocal, info.Topics[1].Channel.QoS[0].Durability)
		require.Equal(t, []string{"a1", "a2", "b3"}, texts(readAll(t, r, codec.Query{})))
		require.Equal(t, []string{"a2"}, texts(readAll(t, r, codec.Query{Start: 1e9 + 6, End: 3e9})))
	}
}

// TestOpenChunk checks that the whole messages of an open chunk, which a killed writer left, are read.
func TestOpenChunk(t *testing.T) {
	records := slices.Concat(testConnection(1, "/b"), testMessage(1, 20, "b20"),
		testMessage(1, 21, strings.Repeat("b", 200_000)), testMessage(1, 22, "b22"))
	open := func(compression string, stored []byte) []byte {
		b := newBag()
		first := slices.Concat(testConnection(0, "/a"), testMessage(0, 10, "a10"))
		b.chunk("none", first, first)
		head := testRecord(nil, "op", opChunk, "compression", compression, "size", uint32(0))
		return slices.Concat(b.Bytes(), head, stored)
	}
	packed := packLZ4(t, records)
	for _, c := range []struct {
		name    string
		content []byte
		want    int
	}{
		{"none", open("none", records), 4},
		{"none, cut", open("none", records[:len(records)-1]), 3},
		{"none, header cut", open("none", records[:len(records)-8]), 3},
		{"none, empty", open("none", nil), 1},
		{"lz4", open("lz4", packed), 4},
		{"lz4, without its end", open("lz4", packed[:len(packed)-8]), 4},
		{"lz4, cut", open("lz4", packed[:len(packed)-20]), 2},
		{"lz4, empty", open("lz4", nil), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := openMemory(t, c.content)
			info, err := r.Info()
			require.NoError(t, err)
			require.False(t, info.Complete)
			require.Len(t, info.Events, 1, info.Events)
			require.Equal(t, codec.EventUnfinished, info.Events[0].Kind)
			require.EqualValues(t, c.want, info.MessageCount)
			require.Len(t, readAll(t, r, codec.Query{}), c.want)
		})
	}
}

// TestCutAnywhere checks that the whole messages of a bag that is cut off at any byte are read, and that no damage is
// reported.
func TestCutAnywhere(t *testing.T) {
	whole := bagOfTwoChunks().close()
	last := 0
	for size := len(version2); size < len(whole); size += 5 {
		r := openMemory(t, whole[:size])
		var damage []error
		n := len(readAll(t, r, codec.Query{Damaged: func(err error) { damage = append(damage, err) }}))
		require.Empty(t, damage, "at %d", size)
		require.GreaterOrEqual(t, n, last, "at %d", size)
		if size > 100 && size < 4000 {
			size = 4000 // skips most of the padding
		}
		last = n
		require.NoError(t, r.Close())
	}
	require.Equal(t, 6, last)
}

// TestDamageAnywhere checks that a changed byte in an uncompressed bag loses at most one message.
func TestDamageAnywhere(t *testing.T) {
	whole := bagOfTwoChunks().close()
	for at := len(version2); at < len(whole); at += 3 {
		if at > 100 && at < 4000 {
			at = 4000 // skips most of the padding
		}
		content := bytes.Clone(whole)
		content[at] ^= 0x55
		r := openMemory(t, content)
		all := texts(readAll(t, r, codec.Query{Damaged: func(error) {}}))
		kept := 0
		for _, text := range []string{"a10", "b20", "b30", "a50", "c50", "c3"} {
			if slices.Contains(all, text) {
				kept++
			}
		}
		require.GreaterOrEqual(t, kept, 5, "at %#x of %#x: %q", at, len(whole), all)
		it, err := r.Read(codec.Query{})
		require.NoError(t, err)
		_, _ = collect(it)
		require.NoError(t, r.Close())
	}
}

// TestWrongSizes checks that sizes in a bag that are too large do not make the reader allocate much memory.
func TestWrongSizes(t *testing.T) {
	const huge = uint32(maxChunk - 1)
	records := slices.Concat(testConnection(0, "/a"), testMessage(0, 10, "a"))
	p := must(newPacker("bz2"))
	chunk := func(compression string, stored []byte) []byte {
		b := newBag()
		b.Write(testRecord(stored, "op", opChunk, "compression", compression, "size", huge))
		b.Write(testRecord(make([]byte, 12), "op", opIndex, "ver", uint32(1), "conn", uint32(0), "count", uint32(1)))
		b.index = slices.Concat(testConnection(0, "/a"),
			testRecord(le.AppendUint32(make([]byte, 4), huge), "op", opChunkInfo, "ver", uint32(1),
				"chunk_pos", uint64(len(version2)+fileHeaderSize), "start_time", int64(10), "end_time", int64(10),
				"count",
				uint32(1)))
		b.conns, b.chunks = 1, 1
		return b.close()
	}
	// withLength returns a bag with a record whose data has a wrong length.
	withLength := func(record []byte, length uint32) []byte {
		le.PutUint32(record[4+le.Uint32(record):], length)
		return append(newBag().Bytes(), record...)
	}
	for name, content := range map[string][]byte{
		"none": chunk("none", records), "lz4": chunk("lz4", packLZ4(t, records)), "lz4 garbage": chunk("lz4", records),
		"bz2": chunk("bz2", must(p.pack(records))), "bz2 garbage": chunk("bz2", records),
		"message": withLength(testMessage(0, 10, "a"), huge), "connection": withLength(testConnection(0, "/a"), huge),
		"open chunk":  withLength(testRecord(records, "op", opChunk, "compression", "lz4", "size", huge), 4*huge),
		"connections": append(newBag().Bytes(), testMessage(math.MaxUint32, 10, "a")...),
	} {
		for _, cut := range []int{0, 8} { // a bag that is cut off has no index
			content := content[:len(content)-cut]
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := openMemory(t, content)
			if _, err := r.Info(); err == nil {
				readAll(t, r, codec.Query{Damaged: func(error) {}})
				it, err := r.Read(codec.Query{Damaged: func(error) {}, Last: func(*codec.Channel) int { return 1 }})
				require.NoError(t, err)
				_, _ = collect(it)
			}
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), name)
		}
	}
}

func FuzzReader(f *testing.F) {
	closed := bagOfTwoChunks().close()
	f.Add(closed)
	f.Add(bagOfTwoChunks().Bytes())
	f.Add(version1Bag(true))
	f.Add(version1Bag(false))
	records := slices.Concat(testConnection(0, "/a"), testMessage(0, 10, "a"), testMessage(0, 9, "b"))
	b := newBag()
	b.chunk("lz4", records, packLZ4(f, records))
	p := must(newPacker("bz2"))
	b.chunk("bz2", records, must(p.pack(records)))
	f.Add(b.close())
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := newReader(codectest.NewFile(content), int64(len(content)), "fuzz.bag")
		if err != nil {
			return
		}
		info, err := r.Info()
		if err != nil {
			return
		}
		it, err := r.Read(codec.Query{Damaged: func(error) {}})
		require.NoError(t, err)
		all, err := collect(it)
		if err != nil {
			require.ErrorContains(t, err, "it changed")
		}
		for i, m := range all {
			require.True(t, i == 0 || r.indexed || all[i-1].LogTime <= m.LogTime)
			require.NotNil(t, m.Channel)
		}
		if !r.indexed {
			require.EqualValues(t, info.MessageCount, len(all))
		}
		it, err = r.Read(codec.Query{})
		require.NoError(t, err)
		_, _ = collect(it)
	})
}

// TestWrongUncompressedSizes decompresses 4 MiB of records with an expected size that is too small, and a part of them
// with a size that is too large. The memory stays small.
func TestWrongUncompressedSizes(t *testing.T) {
	for _, compression := range []string{"bz2", "lz4"} {
		p, err := newPacker(compression)
		require.NoError(t, err)
		packed, err := p.pack(make([]byte, 4<<20))
		require.NoError(t, err)
		require.Less(t, len(packed), 50_000)
		var l loader
		records, err := l.decompress(compression, packed, nil, 1000)
		require.EqualError(t, err, "more than the 1000 bytes of records that the header says")
		require.LessOrEqual(t, cap(records), 1<<20)
		records, _ = l.decompress(compression, packed[:len(packed)/2], nil, maxChunk)
		require.LessOrEqual(t, cap(records), 16<<20)
	}
}
