package mcap

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/disktest"
	"tapedeck/codec/internal/codectest"
)

// byTopic makes a group for each topic whose first message has at least 1000 bytes.
func byTopic(c *codec.Channel, size int) string {
	if size < 1000 {
		return ""
	}
	return c.Topic
}

// drive returns the messages of small and large topics, in the order of time. Every large topic has its own rate.
func drive(small, large, size int, length time.Duration) (all []codec.Message) {
	r := rand.New(rand.NewPCG(1, 2))
	add := func(name string, size int, step time.Duration) {
		c := &codec.Channel{Topic: name, Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR,
			Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("string data\n")}}
		for at := step + time.Duration(len(all)); at <= length; at += step { // times differ
			data := make([]byte, size+int(r.Int32N(100)))
			data[0], data[len(data)-1] = byte(at>>20), byte(len(all))
			all = append(all, codec.Message{Channel: c, LogTime: int64(at), PublishTime: int64(at) - 5, Data: data})
		}
	}
	for i := range small {
		add(fmt.Sprint("/small/", i), 100, 10*time.Millisecond+time.Duration(i))
	}
	for i := range large {
		add(fmt.Sprint("/large/", i), size, 50*time.Millisecond+time.Duration(i)*1001)
	}
	slices.SortStableFunc(all, func(a, b codec.Message) int { return int(a.LogTime - b.LogTime) })
	return all
}

// readByIndex requires that Foxglove's reader finds all messages by the index, and returns what it knows of the file.
func readByIndex(t *testing.T, content []byte, messages []codec.Message) *mcap.Info {
	r, err := mcap.NewReader(bytes.NewReader(content))
	require.NoError(t, err)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err)
	it, err := r.Messages(mcap.UsingIndex(true), mcap.InOrder(mcap.LogTimeOrder))
	require.NoError(t, err)
	for i := range messages {
		_, c, m, err := it.NextInto(nil)
		require.NoError(t, err)
		require.Equal(t, uint64(messages[i].LogTime), m.LogTime)
		require.Equal(t, messages[i].Channel.Topic, c.Topic)
		require.True(t, bytes.Equal(messages[i].Data, m.Data))
	}
	_, _, _, err = it.NextInto(nil)
	require.ErrorIs(t, err, io.EOF)
	return info
}

// TestGroups checks that each chunk has topics of one group, that small topics get long chunks, and that the messages
// of whole and cut files are read in the order of time.
func TestGroups(t *testing.T) {
	messages := drive(20, 5, 20_000, 5*time.Second)
	for _, compression := range []string{"none", "zstd"} {
		t.Run(compression, func(t *testing.T) {
			content := codectest.Write(t, Format, codec.CreateOptions{Compression: compression, ChunkSize: 1 << 20,
				ChunkGroups: byTopic}, messages...)
			info := readByIndex(t, content, messages)
			small, first, last := 0, int64(0), int64(0)
			for _, c := range info.ChunkIndexes {
				groups := map[string]bool{}
				for id := range c.MessageIndexOffsets {
					topic := info.Channels[id].Topic
					if strings.HasPrefix(topic, "/small/") {
						topic = "/small"
					}
					groups[topic] = true
				}
				require.Len(t, groups, 1)
				require.Less(t, c.MessageEndTime-c.MessageStartTime, uint64(time.Second))
				if groups["/small"] {
					small++
				}
				if last == 0 && c.ChunkStartOffset > uint64(len(content)/2) {
					first, last = int64(c.MessageStartTime), int64(c.ChunkStartOffset)
				}
			}
			require.LessOrEqual(t, small, 6)

			r, err := NewReader(codectest.NewFile(content[:last]), last, "a")
			require.NoError(t, err)
			all := codectest.Read(t, r, codec.Query{})
			before := first - int64(time.Second) // all open chunks were closed then
			n, _ := slices.BinarySearchFunc(messages, before, func(m codec.Message, t int64) int {
				return cmp.Compare(m.LogTime, t)
			})
			require.Greater(t, n, len(messages)/5)
			for i := range n {
				require.Equal(t, messages[i].LogTime, all[i].LogTime)
				require.Equal(t, messages[i].Channel.Topic, all[i].Channel.Topic)
				require.True(t, bytes.Equal(messages[i].Data, all[i].Data))
			}
		})
	}
}

// TestGroupMemory checks that the memory for open chunks does not grow with the number of groups.
func TestGroupMemory(t *testing.T) {
	const chunkSize = 1 << 20
	messages := drive(0, 200, 100_000, 400*time.Millisecond)
	heap := func(o codec.CreateOptions) int64 {
		w, err := createOn(codec.OS{}, filepath.Join(t.TempDir(), "a.mcap"), o)
		require.NoError(t, err)
		for i := range messages {
			require.NoError(t, w.Write(&messages[i]))
		}
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		require.NoError(t, w.Close())
		return int64(stats.HeapAlloc)
	}
	for _, compression := range []string{"none", "zstd"} {
		one := heap(codec.CreateOptions{Compression: compression, ChunkSize: chunkSize})
		many := heap(codec.CreateOptions{Compression: compression, ChunkSize: chunkSize, ChunkGroups: byTopic})
		require.Less(t, many, one+4*chunkSize)
	}
	runtime.KeepAlive(messages)
}

func TestGroupsSyncBesideWrite(t *testing.T) {
	f := Format
	f.Create = func(path string, o codec.CreateOptions) (codec.Writer, error) {
		o.ChunkGroups = func(c *codec.Channel, _ int) string { return c.Topic }
		return createOn(o.OnDisk(), path, o)
	}
	disktest.Pieces(t, func(t *testing.T) { codectest.SyncBesideWrite(t, f, testChannels()...) })
}
