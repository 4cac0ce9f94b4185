package mcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/internal/codectest"
	"tapedeck/test/samples"
)

func smallMessages() []codec.Message {
	messages := testMessages(14, []*codec.Channel{{Topic: "/a", Type: "a", Encoding: "ros1",
		Schema: codec.Schema{Encoding: "ros1msg", Data: []byte("int8 x\n")}}})
	for i := range messages {
		messages[i].Data = messages[i].Data[:len(messages[i].Data)/4]
	}
	return messages
}

// smallFile returns the bytes of a file of 14 messages in chunks of four or so, or "unchunked".
func smallFile(t testing.TB, compression string) ([]byte, []codec.Message) {
	if compression == "unchunked" {
		return unchunkedFile(t)
	}
	messages := smallMessages()
	o := codec.CreateOptions{ChunkSize: 220, Compression: compression}
	return codectest.Write(t, Format, o, messages...), messages
}

// unchunkedFile returns the bytes of a file without chunks, written by the reference library.
func unchunkedFile(t testing.TB) ([]byte, []codec.Message) {
	messages := smallMessages()
	channel := messages[0].Channel
	var b bytes.Buffer
	w, err := mcap.NewWriter(&b, &mcap.WriterOptions{IncludeCRC: true})
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&mcap.Header{Profile: "ros2"}))
	require.NoError(t, w.WriteSchema(&mcap.Schema{ID: 1, Name: channel.Type, Encoding: channel.Schema.Encoding,
		Data: channel.Schema.Data}))
	require.NoError(t, w.WriteChannel(&mcap.Channel{ID: 3, SchemaID: 1, Topic: "/a",
		MessageEncoding: channel.Encoding}))
	for _, m := range messages {
		require.NoError(t, w.WriteMessage(&mcap.Message{ChannelID: 3, LogTime: uint64(m.LogTime),
			PublishTime: uint64(m.PublishTime), Data: m.Data}))
	}
	require.NoError(t, w.Close())
	return b.Bytes(), messages
}

// result is the result of reading a file.
type result struct {
	info     *codec.Info
	messages []codec.Message
	err      error // error that ended the reading
	damage   []error
}

// tryRead reads a file that may be damaged, with or without Query.Damaged.
func tryRead(t testing.TB, path string, data []byte, tolerate bool) (result, error) {
	r, err := NewReader(codectest.NewFile(data), int64(len(data)), path)
	if err != nil {
		return result{}, err
	}
	defer r.Close()
	var got result
	got.info, err = r.Info()
	if err != nil {
		return result{}, err
	}
	q := codec.Query{}
	if tolerate {
		q.Damaged = func(err error) { got.damage = append(got.damage, err) }
	}
	it, err := r.Read(q)
	require.NoError(t, err)
	got.messages, got.err = collect(it)
	require.True(t, slices.IsSortedFunc(got.messages,
		func(a, b codec.Message) int { return int(a.LogTime - b.LogTime) }) || got.err != nil || got.damage != nil)
	if got.err == nil && len(got.messages) > 0 {
		if q.Damaged != nil {
			q.Damaged = func(error) {}
		}
		q.End = got.messages[len(got.messages)/2].LogTime
		q.Last = func(*codec.Channel) int { return 2 }
		it, err := r.Read(q)
		require.NoError(t, err)
		last, _ := collect(it)
		requireSubset(t, got.messages, last)
	}
	return got, nil
}

// requireSubset checks that each message of got is in want.
func requireSubset(t testing.TB, want, got []codec.Message) {
	t.Helper()
	left := map[string]int{}
	for _, m := range want {
		left[fmt.Sprint(m.Channel.Topic, m.LogTime, m.Data)]++
	}
	for _, m := range got {
		key := fmt.Sprint(m.Channel.Topic, m.LogTime, m.Data)
		require.Positive(t, left[key], "message at %d", m.LogTime)
		left[key]--
	}
}

// wholeMessages returns the messages that are whole in the first n bytes of a file whose chunks are not compressed.
func wholeMessages(data []byte, n int, messages []codec.Message) []codec.Message {
	var whole []codec.Message
	for _, m := range messages {
		record := make([]byte, 16)
		binary.LittleEndian.PutUint64(record, uint64(m.LogTime))
		binary.LittleEndian.PutUint64(record[8:], uint64(m.PublishTime))
		if i := bytes.Index(data, append(record, m.Data...)); i+16+len(m.Data) <= n {
			whole = append(whole, m)
		}
	}
	return whole
}

func TestTruncatedAnywhere(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 23
	}
	for _, name := range []string{"none", "zstd", "lz4", "unchunked"} {
		t.Run(name, func(t *testing.T) {
			data, messages := smallFile(t, name)
			path := "a.mcap"
			most := 0
			for n := 0; n < len(data); n += step {
				got, err := tryRead(t, path, data[:n], false)
				if n < len(mcap.Magic) {
					require.ErrorContains(t, err, path)
					continue
				}
				require.NoError(t, err, "cut at %d", n)
				require.NoError(t, got.err, "cut at %d", n)
				require.False(t, got.info.Complete)
				require.Len(t, got.info.Events, 1, "cut at %d: %v", n, got.info.Events)
				require.Equal(t, "unfinished", got.info.Events[0].Kind)
				require.EqualValues(t, len(got.messages), got.info.MessageCount)
				if name == "none" || name == "unchunked" {
					requireMessages(t, byTime(wholeMessages(data, n, messages)), got.messages)
				} else {
					requireSubset(t, messages, got.messages)
					require.GreaterOrEqual(t, len(got.messages), most, "cut at %d", n)
				}
				most = len(got.messages)
			}
			require.Equal(t, len(messages), most)
		})
	}
}

// TestFlippedBits flips each bit of a file with checksums, and of a file without chunks and checksums.
func TestFlippedBits(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 29
	}
	for _, name := range []string{"none", "zstd", "lz4", "unchunked"} {
		t.Run(name, func(t *testing.T) {
			data, messages := smallFile(t, name)
			path := "a.mcap"
			random := rand.New(rand.NewPCG(3, 4))
			worst := 0
			for i := 0; i < len(data); i += step {
				bit := byte(1) << random.IntN(8)
				data[i] ^= bit
				strict, err := tryRead(t, path, data, false)
				if i < len(mcap.Magic) && err != nil { // the file may not be recognised as MCAP
					require.ErrorContains(t, err, path)
					data[i] ^= bit
					continue
				}
				require.NoError(t, err, "byte %d", i)
				if strict.err != nil {
					require.ErrorContains(t, strict.err, "read "+path+": ")
				} else if name != "unchunked" {
					// With checksums no loss and no change goes unnoticed.
					require.Len(t, strict.messages, len(messages), "byte %d bit %d", i, bit)
				}
				got, err := tryRead(t, path, data, true)
				require.NoError(t, err)
				require.NoError(t, got.err, "byte %d", i)
				require.Equal(t, strict.err != nil, len(got.damage) > 0, "byte %d: %v, %v", i, strict.err, got.damage)
				worst = max(worst, len(messages)-len(got.messages))
				data[i] ^= bit
			}
			if name == "unchunked" {
				require.LessOrEqual(t, worst, 2)
			} else {
				require.LessOrEqual(t, worst, 5, "more than a chunk")
			}
		})
	}
}

func TestRandomDamage(t *testing.T) {
	count := 500
	if testing.Short() {
		count = 30
	}
	random := rand.New(rand.NewPCG(5, 6))
	path := "a.mcap"
	for _, compression := range []string{"none", "zstd", "lz4"} {
		data, _ := smallFile(t, compression)
		for range count {
			broken := slices.Clone(data)
			for range 1 + random.IntN(20) {
				switch at := random.IntN(len(broken)); random.IntN(4) {
				case 0:
					broken[at] = byte(random.IntN(256))
				case 1: // a hole
					clear(broken[at:min(len(broken), at+random.IntN(300))])
				case 2:
					broken = slices.Delete(broken, at, min(len(broken), at+random.IntN(50)))
				case 3:
					broken = slices.Insert(broken, at, data[:random.IntN(100)]...)
				}
			}
			got, err := tryRead(t, path, broken, true)
			if err == nil {
				require.NoError(t, got.err)
			}
		}
	}
}

// TestZerosAtTheEnd reads files that end with zeros, as after a crash of the system.
func TestZerosAtTheEnd(t *testing.T) {
	data, messages := smallFile(t, "zstd")
	summary := int(binary.LittleEndian.Uint64(data[len(data)-28:]))
	path := "a.mcap"
	got, err := tryRead(t, path, append(data[:summary:summary], make([]byte, 300_000)...), false)
	require.NoError(t, err)
	require.NoError(t, got.err)
	require.Len(t, got.messages, len(messages))
	require.Len(t, got.info.Events, 1)
	require.Equal(t, "unfinished", got.info.Events[0].Kind)
}

// TestHugeLengths makes every length in a file huge and watches the memory.
func TestHugeLengths(t *testing.T) {
	for _, compression := range []string{"none", "zstd", "lz4"} {
		data, _ := smallFile(t, compression)
		path := "a.mcap"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tried := 0
		for i := 8; i+8 < len(data); i++ {
			if data[i+1] != 0 || data[i+2] != 0 || data[i+3] != 0 || data[i] == 0 {
				continue
			}
			broken := slices.Clone(data)
			binary.LittleEndian.PutUint32(broken[i:], 1<<29)
			_, _ = tryRead(t, path, broken, true)
			tried++
		}
		runtime.ReadMemStats(&after)
		require.Positive(t, tried)
		require.Less(t, (after.TotalAlloc-before.TotalAlloc)/uint64(tried), uint64(16<<20), compression)
	}
}

// TestNegativeLengths reads a file that ends with a chunk whose lengths are negative as signed numbers.
func TestNegativeLengths(t *testing.T) {
	data, messages := smallFile(t, "none")
	summary := int(binary.LittleEndian.Uint64(data[len(data)-28:]))
	data = append(data[:summary:summary], byte(mcap.OpChunk))
	data = binary.LittleEndian.AppendUint64(data, math.MaxUint64)
	data = append(data, make([]byte, chunkHead-8)...)
	data = binary.LittleEndian.AppendUint64(data, 1<<63)
	got, err := tryRead(t, "a.mcap", data, true)
	require.NoError(t, err)
	require.Len(t, got.messages, len(messages))
	require.False(t, got.info.Complete)
}

// TestReservedRecords reads a long row of records with an unused opcode. Each record must be checked once.
func TestReservedRecords(t *testing.T) {
	data, messages := unchunkedFile(t)
	const count = 1 << 17
	var odd []byte
	for range count {
		odd = append(odd, 0x20, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	file := &countingReader{data: slices.Concat(data[:len(data)-len(mcap.Magic)-footerSize], odd)}
	size := int64(len(file.data))
	w := walker{
		Window: chunked.Window{File: file, Size: size}, off: int64(len(mcap.Magic)), to: size,
		known: func(uint16) bool { return true },
	}
	found := map[mcap.OpCode]int{}
	for {
		r, err := w.next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		found[r.op]++
	}
	require.Equal(t, count, found[0x20])
	require.Equal(t, len(messages), found[mcap.OpMessage])
	require.Less(t, file.read, 100*len(file.data))
}

// countingReader counts the bytes that are read.
type countingReader struct {
	data []byte
	read int
}

func (c *countingReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := bytes.NewReader(c.data).ReadAt(b, off)
	c.read += n
	return n, err
}

func TestNotAFile(t *testing.T) {
	dir := t.TempDir()
	_, err := Format.Open(dir)
	require.ErrorContains(t, err, dir)
	_, err = Format.Open(filepath.Join(dir, "none.mcap"))
	require.ErrorIs(t, err, os.ErrNotExist)
	path := filepath.Join(dir, "empty.mcap")
	require.NoError(t, os.WriteFile(path, nil, 0o666))
	_, err = Format.Open(path)
	require.EqualError(t, err, "read "+path+": not an MCAP file: unexpected EOF")
	data, _ := smallFile(t, "none")
	data[5] = '1'
	require.NoError(t, os.WriteFile(path, data, 0o666))
	_, err = codec.Formats{Format}.Open(path)
	require.EqualError(t, err, "read "+path+": MCAP of version '1'; this program reads version 0")
}

func FuzzRead(f *testing.F) {
	for _, compression := range []string{"none", "zstd", "lz4"} {
		data, _ := smallFile(f, compression)
		f.Add(data)
		f.Add(data[:len(data)*2/3])
	}
	data, _ := unchunkedFile(f)
	f.Add(data)
	for _, path := range []string{
		"mcap/conformance/TenMessages/TenMessages-ch-chx-mx-pad-rch-rsh-st-sum.mcap",
		"mcap/conformance/OneAttachment/OneAttachment-ax-st-sum.mcap",
		"rosbag2/rolling_py/mcap/convert_a/rewriter_a_0.mcap",
	} {
		for _, data := range samples.Seeds(f, path) {
			f.Add(data)
		}
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, fmt.Sprint(os.Getpid()))
		got, err := tryRead(t, path, data, true)
		if err == nil {
			require.NoError(t, got.err)
		}
		_, _ = tryRead(t, path, data, false)
	})
}

// TestZeroedSector clears the length of a chunk's records, as a disk may. The chunk must not be taken for an empty one.
func TestZeroedSector(t *testing.T) {
	data, messages := smallFile(t, "none")
	path := "a.mcap"
	chunk := bytes.Index(data[len(mcap.Magic):], []byte{byte(mcap.OpHeader)}) + len(mcap.Magic)
	for mcap.OpCode(data[chunk]) != mcap.OpChunk {
		chunk += recordHead + int(binary.LittleEndian.Uint64(data[chunk+1:]))
	}
	content := chunk + recordHead
	clear(data[content+8 : content+chunkHead])
	got, err := tryRead(t, path, data, true)
	require.NoError(t, err)
	require.NotEmpty(t, got.damage)
	require.Equal(t, len(messages), len(got.messages))
	got, err = tryRead(t, path, data, false)
	require.NoError(t, err)
	require.Error(t, got.err)
}

// TestChangedMagic reads a file whose first bytes are damaged, but not the version in them.
func TestChangedMagic(t *testing.T) {
	data, messages := smallFile(t, "none")
	data[6] = 0
	got, err := tryRead(t, "a.mcap", data, true)
	require.NoError(t, err)
	require.False(t, got.info.Complete)
	require.Len(t, got.messages, len(messages))
}

// TestBombs reads chunks of 8 MiB whose heads give a small size, and others whose heads give a large size.
func TestBombs(t *testing.T) {
	zeros := make([]byte, 8<<20)
	for _, name := range []string{"zstd", "lz4"} {
		p, err := newPacker(name)
		require.NoError(t, err)
		packed, _, err := p.pack(zeros)
		require.NoError(t, err)
		require.Less(t, len(packed), 50_000)
		var l loader
		records, err := l.decompress(chunkInfo{compression: p.compression, uncompressed: 1000}, packed, nil)
		require.True(t, err != nil || len(records) <= 1000)
		require.LessOrEqual(t, cap(records), 1<<16)
		records, err = l.decompress(chunkInfo{compression: p.compression, uncompressed: 1 << 29}, packed[:100], nil)
		require.Error(t, err)
		require.LessOrEqual(t, cap(records), 100<<15)
		_, err = l.decompress(chunkInfo{compression: p.compression, uncompressed: maxChunk + 1}, packed, nil)
		require.EqualError(t, err, "1073741825 bytes exceed the largest chunk that this program reads")
		l.Close()
	}
}
