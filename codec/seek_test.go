package codec_test

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/test/samples"
	"tapedeck/test/samples/generate"
)

var formats = codec.Formats{mcap.Format, record.Format, rosbag2.Format}

// sampleRecordings returns the samples of formats, with bags as folders, or substitutes for missing samples.
func sampleRecordings(t *testing.T) (paths []string) {
	if _, ok := samples.Find(""); !ok {
		for _, name := range []string{
			"apollo/apollo_cpp_sensors.record", "apollo/incomplete_killed.record", "apollo/multichunk.record",
			"rosbag2/rosbags_rs/test_bag_mcap", "rosbag2/rosbags_rs/test_bag_sqlite3",
		} {
			paths = append(paths, generate.Path(t, name))
		}
		return paths
	}
	for _, folder := range []string{"apollo", "bag", "mcap", "rosbag2"} {
		require.NoError(t, filepath.WalkDir(samples.Path(t, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == folder {
				return err
			}
			if d.IsDir() && folder == "mcap" {
				return nil // the files in it are not one recording
			}
			r, err := formats.Open(path)
			if err != nil {
				return nil
			}
			paths = append(paths, path)
			if err := r.Close(); err != nil || !d.IsDir() {
				return err
			}
			return fs.SkipDir
		}))
	}
	return paths
}

// seen is a message that was read.
type seen struct {
	channel            *codec.Channel
	logTime, published int64
	sum                uint64 // of the payload
}

// readMessages returns up to most messages of it. Damage is skipped.
func readMessages(t *testing.T, most int, it codec.Iterator, err error) (messages []seen) {
	require.NoError(t, err)
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) || len(messages) == most {
			require.NoError(t, it.Close())
			return messages
		}
		if err != nil {
			require.NoError(t, err)
		}
		messages = append(messages, seen{m.Channel, m.LogTime, m.PublishTime, maphash.Bytes(seed, m.Data)})
	}
}

var seed = maphash.MakeSeed()

// requireSameMessages is require.Equal for many messages.
func requireSameMessages(t *testing.T, want, got []seen, text string, at int64) {
	if !slices.Equal(want, got) {
		require.Equal(t, want, got, text, at)
	}
}

// A seek to any time yields the rest of the whole recording, and the latest messages that the whole recording has
// there.
func TestSeekInSamples(t *testing.T) {
	for _, path := range sampleRecordings(t) {
		t.Run(strings.TrimPrefix(path, samples.Folder()+"/"), func(t *testing.T) {
			t.Parallel()
			r, err := formats.Open(path)
			require.NoError(t, err)
			defer r.Close()
			times := 100
			if testing.Short() {
				times = 12
			}
			requireSeeks(t, r, times)
		})
	}
}

// requireSeeks compares the messages from random times on with the messages of the whole recording.
func requireSeeks(t *testing.T, r codec.Reader, times int) {
	random := rand.New(rand.NewPCG(1, 2))
	damaged := func(error) {}
	it, err := r.Read(codec.Query{Damaged: damaged})
	whole := readMessages(t, codec.All, it, err)
	require.True(t, slices.IsSortedFunc(whole, func(a, b seen) int { return cmp.Compare(a.logTime, b.logTime) }))
	if len(whole) == 0 {
		it, err := r.Read(codec.Query{Last: func(*codec.Channel) int { return 1 }})
		require.Empty(t, readMessages(t, codec.All, it, err))
		return
	}
	first, last := whole[0].logTime, whole[len(whole)-1].logTime
	for i := range times {
		at := whole[random.IntN(len(whole))].logTime + random.Int64N(3) - 1
		if i%2 == 0 {
			at = first - 1 + random.Int64N(last-first+3)
		}
		at = max(at, 1) // 0 is no end
		begin := 0
		for begin < len(whole) && whole[begin].logTime < at {
			begin++
		}
		it, err := r.Read(codec.Query{Start: at, Damaged: damaged})
		most := 100
		if i%10 == 0 {
			most = len(whole)
		}
		got := readMessages(t, most, it, err)
		requireSameMessages(t, whole[begin:min(begin+most, len(whole))], got, "from %d on", at)
		if i%4 != 0 {
			continue
		}
		depths := map[*codec.Channel]int{}
		for _, m := range whole {
			if _, ok := depths[m.channel]; !ok {
				depths[m.channel] = []int{0, 1, 1, 2, 7, codec.All}[random.IntN(6)]
			}
		}
		kept := map[*codec.Channel]int{}
		var want []seen
		for i := begin - 1; i >= 0; i-- {
			m := whole[i]
			kept[m.channel]++
			if kept[m.channel] <= depths[m.channel] {
				want = append(want, m)
			}
		}
		slices.Reverse(want)
		it, err = r.Read(codec.Query{End: at, Damaged: damaged,
			Last: func(c *codec.Channel) int { return depths[c] }})
		requireSameMessages(t, want, readMessages(t, codec.All, it, err), "before %d", at)
	}
}

// Seeks also work in recordings with chunks and files that overlap, come late, are not in order, or were not
// finished.
func TestSeekInDisorder(t *testing.T) {
	latched := codec.DefaultQoS()
	latched.Durability, latched.Depth = codec.TransientLocal, 2
	var channels []*codec.Channel
	for _, topic := range []string{"/imu", "/scan", "/map", "/tf_static"} {
		channels = append(channels, &codec.Channel{Topic: topic, Type: "pkg/msg/A", Encoding: codec.EncodingCDR,
			QoS: []codec.QoS{latched}})
	}
	for _, test := range []struct {
		format, compression string
		splits              int
		killed              bool
	}{
		{format: "record"}, {format: "record", killed: true},
		{format: "mcap"}, {format: "mcap", compression: "lz4"}, {format: "mcap", compression: "zstd", killed: true},
		{format: "rosbag2", splits: 5}, {format: "rosbag2", compression: "zstd", splits: 70},
		{format: "rosbag2", splits: 3, killed: true},
	} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a")
			w, err := formats.Create(path, codec.CreateOptions{Format: test.format, Compression: test.compression,
				ChunkSize: 3000, ChunkDuration: 1 << 40})
			require.NoError(t, err)
			random := rand.New(rand.NewPCG(3, 4))
			const n = 2000
			for i := range int64(n) {
				m := codec.Message{Channel: channels[random.IntN(2)], LogTime: 1000 + 10*i + random.Int64N(30),
					Data: fmt.Append(nil, i)}
				switch {
				case i%400 == 399:
					m.Channel = channels[2]
				case i == 5 || i == 1000:
					m.Channel = channels[3]
				case i/100%5 == 3: // a hundred messages come late, from long ago
					m.LogTime -= random.Int64N(5000)
				}
				require.NoError(t, w.Write(&m))
				if test.splits > 0 && i%(n/int64(test.splits)) == 0 {
					require.NoError(t, w.Split())
				}
			}
			if test.killed {
				require.NoError(t, w.Sync())
				copied := filepath.Join(t.TempDir(), "b")
				active := path + codec.ActiveSuffix
				if stat, err := os.Stat(path); err == nil && stat.IsDir() {
					require.NoError(t, os.CopyFS(copied, os.DirFS(path)))
				} else {
					b, err := os.ReadFile(active)
					require.NoError(t, err)
					require.NoError(t, os.WriteFile(copied, b, 0o644))
				}
				path = copied
			}
			require.NoError(t, w.Close())
			r, err := formats.Open(path)
			require.NoError(t, err)
			defer r.Close()
			info, err := r.Info()
			require.NoError(t, err)
			require.EqualValues(t, n, info.MessageCount)
			requireSeeks(t, r, 40)
		})
	}
}
