package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/codectest"
)

// countedFile is a file that counts the bytes that are read.
type countedFile struct {
	codec.File
	bytes *int64
}

func (c countedFile) ReadAt(b []byte, pos int64) (int, error) {
	*c.bytes += int64(len(b))
	return c.File.ReadAt(b, pos)
}

// openCounted opens a file. It also returns the counter of bytes that are read.
func openCounted(t testing.TB, b []byte) (*reader, *int64) {
	n := new(int64)
	r, err := newReader("counted.record", countedFile{codectest.NewFile(b), n}, int64(len(b)),
		b[:min(len(b), firstSection)])
	require.NoError(t, err)
	return r, n
}

// readLatest returns the latest messages that r returns for a Query.Last, and the latest messages by reading all
// messages.
func readLatest(t testing.TB, r codec.Reader, q codec.Query, keep func(*codec.Channel) int) (got, want []string) {
	q.Last = keep
	byAll := func(q codec.Query) (codec.Iterator, error) { return codec.ReadLast(q, r.Read) }
	for _, read := range []func(codec.Query) (codec.Iterator, error){r.Read, byAll} {
		it, err := read(q)
		require.NoError(t, err)
		got, want = want, nil
		for m, err := it.Next(); err == nil; m, err = it.Next() {
			want = append(want, fmt.Sprintf("%s %d %.9q", m.Channel.Topic, m.LogTime, m.Data))
		}
		require.NoError(t, it.Close())
	}
	return got, want
}

// latchedFile has a static transform in the first of many chunks, and a map in some.
func latchedFile(t testing.TB) []byte {
	qos := codec.DefaultQoS()
	imu := &codec.Channel{Topic: "/imu", Type: "sensor_msgs/msg/Imu", Encoding: codec.EncodingCDR,
		QoS: []codec.QoS{qos}}
	qos.Durability, qos.Depth = codec.TransientLocal, 2
	place := &codec.Channel{Topic: "/map", Type: "nav_msgs/msg/OccupancyGrid", Encoding: codec.EncodingCDR,
		QoS: []codec.QoS{qos}}
	static := &codec.Channel{Topic: "/tf_static", Type: "tf2_msgs/msg/TFMessage", Encoding: codec.EncodingCDR}
	messages := []codec.Message{{Channel: static, LogTime: 1, Data: []byte("transform")}}
	for i := range int64(3000) {
		messages = append(messages, codec.Message{Channel: imu, LogTime: 10 + i, Data: bytes.Repeat([]byte("i"), 1000)})
		if i%700 == 0 {
			messages = append(messages, codec.Message{Channel: place, LogTime: 10 + i,
				Data: fmt.Append(nil, "map ", i)})
		}
	}
	return codectest.Write(t, Format, codec.CreateOptions{ChunkSize: 10_000}, messages...)
}

func TestLatestByPlaces(t *testing.T) {
	b := latchedFile(t)
	r, n := openCounted(t, b)
	for _, end := range []int64{1, 2, 10, 11, 1000, 2800, 0} {
		*n = 0
		it, err := r.Read(codec.Query{End: end, Last: codec.LatchedDepth})
		require.NoError(t, err)
		for err == nil {
			_, err = it.Next()
		}
		require.Less(t, *n, int64(100_000), "of %d", len(b))
		got, want := readLatest(t, r, codec.Query{End: end}, codec.LatchedDepth)
		require.Equal(t, want, got)
	}

	// If positions are missing or wrong, the reader searches the file, once.
	for name, position := range map[string]func(uint64) uint64{
		"none": nil, "beyond the end": func(uint64) uint64 { return 1 << 50 },
		"descending":       func(p uint64) uint64 { return 1<<40 - p },
		"between messages": func(p uint64) uint64 { return p + 3 },
		"of others":        func(p uint64) uint64 { return p + 2100 },
	} {
		t.Run(name, func(t *testing.T) {
			changed := bytes.Clone(b)
			tag := appendBytes(nil, extension, "")[:3]
			index := bytes.LastIndex(changed, section{indexSection, 0}.append(nil)[:8])
			for i := index; ; {
				next := bytes.Index(changed[i:], tag)
				if next < 0 {
					break
				}
				i += next + len(tag) + 1
				size := int(changed[i-1])
				if size == 0 || size%8 != 0 || size > 40 {
					continue
				}
				if position == nil {
					changed[i-4] += 8 // another field
					continue
				}
				for at := i; at < i+size; at += 8 {
					binary.LittleEndian.PutUint64(changed[at:], position(binary.LittleEndian.Uint64(changed[at:])))
				}
			}
			require.NotEqual(t, b, changed)
			r, n := openCounted(t, changed)
			for range 2 {
				*n = 0
				for _, end := range []int64{2, 1000, 0} {
					it, err := r.Read(codec.Query{End: end, Last: codec.LatchedDepth})
					require.NoError(t, err)
					require.NoError(t, it.Close())
				}
			}
			require.Less(t, *n, int64(len(b)/10))
			for _, end := range []int64{2, 1000, 0} {
				got, want := readLatest(t, r, codec.Query{End: end}, codec.LatchedDepth)
				require.Equal(t, want, got)
			}
		})
	}
}

// A second seek reads only a part of a large chunk. Another chunk lies behind it in the file and within it in time.
func TestSeekInLargeChunks(t *testing.T) {
	var large, small []int64
	for i := range int64(40_000) {
		large = append(large, 10+10*i)
		if i > 20_000 && i%1000 == 0 {
			small = append(small, 5+10*i, 4+10*i)
		}
	}
	path := filepath.Join(t.TempDir(), "a.record")
	writeChunks(t, path, 1000, large, small)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	r, n := openCounted(t, b)
	starts := []int64{200_000, 10, 399_999, 210_006, 250_005}
	if testing.Short() {
		starts = starts[2:]
	}
	for i, at := range starts {
		*n = 0
		it, err := r.Read(codec.Query{Start: at})
		require.NoError(t, err)
		_, err = it.Next()
		require.NoError(t, err)
		if i > 0 { // the first reading finds where messages are
			require.Less(t, *n, int64(len(b)/3))
		}
		got, want := readLatest(t, r, codec.Query{End: at}, func(*codec.Channel) int { return 5 })
		require.Equal(t, want, got)
		require.NotEmpty(t, append(got, "nothing"))
		rest, err := readAll(t, r, codec.Query{Start: at})
		require.NoError(t, err)
		count := 0
		for _, t := range append(large, small...) {
			if t >= at {
				count++
			}
		}
		require.Len(t, rest, count)
		for i := 1; i < len(rest); i++ {
			require.LessOrEqual(t, rest[i-1].time, rest[i].time)
		}
	}
}
