package codec_test

import (
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	_ "tapedeck/codec/mcap"
	_ "tapedeck/codec/record"
	_ "tapedeck/codec/rosbag2"
)

// samples are real recordings, in folders beside the repository.
var samples = filepath.Join("..", "..", "shared", "samples")

// recordings returns the samples of formats that are registered, bags as folders.
func recordings(t *testing.T) (paths []string) {
	for _, folder := range []string{"apollo", "bag", "mcap", "rosbag2"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(samples, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == folder {
				return err
			}
			if d.IsDir() && folder == "mcap" {
				return nil // the files in it are not one recording
			}
			r, err := codec.Open(path)
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

// read returns what it yields, up to most messages. Damage is passed over.
func read(t *testing.T, most int, it codec.Iterator, err error) (messages []seen) {
	require.NoError(t, err)
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) || len(messages) == most {
			require.NoError(t, it.Close())
			return messages
		}
		require.NoError(t, err)
		messages = append(messages, seen{m.Channel, m.LogTime, m.PublishTime, maphash.Bytes(seed, m.Data)})
	}
}

var seed = maphash.MakeSeed()

// same is require.Equal for many messages.
func same(t *testing.T, want, got []seen, text string, at int64) {
	if !slices.Equal(want, got) {
		require.Equal(t, want, got, text, at)
	}
}

// Wherever one seeks to, what follows is the rest of the whole, and the state there is what the whole says.
func TestSeekInSamples(t *testing.T) {
	if _, err := os.Stat(samples); err != nil {
		t.Skip("the samples are not there: ", err)
	}
	for _, path := range recordings(t) {
		t.Run(path[len(samples)+1:], func(t *testing.T) {
			t.Parallel()
			r, err := codec.Open(path)
			require.NoError(t, err)
			defer r.Close()
			times := 200
			if testing.Short() {
				times = 20
			}
			seek(t, r, times)
		})
	}
}

// seek compares what is read from random times on with the whole.
func seek(t *testing.T, r codec.Reader, times int) {
	random := rand.New(rand.NewPCG(1, 2))
	damaged := func(error) {}
	it, err := r.Read(codec.Query{Damaged: damaged})
	whole := read(t, codec.All, it, err)
	for i := 1; i < len(whole); i++ {
		require.LessOrEqual(t, whole[i-1].logTime, whole[i].logTime)
	}
	if len(whole) == 0 {
		it, err := codec.Latest(r, codec.Query{}, func(*codec.Channel) int { return 1 })
		require.Empty(t, read(t, codec.All, it, err))
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
		same(t, whole[begin:min(begin+most, len(whole))], read(t, most, it, err), "from %d on", at)
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
			if kept[m.channel]++; kept[m.channel] <= depths[m.channel] {
				want = append(want, m)
			}
		}
		slices.Reverse(want)
		it, err = codec.Latest(r, codec.Query{End: at, Damaged: damaged}, func(c *codec.Channel) int { return depths[c] })
		same(t, want, read(t, codec.All, it, err), "before %d", at)
	}
}
