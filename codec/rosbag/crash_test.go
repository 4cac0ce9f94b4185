package rosbag

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/disktest"
)

// Whatever moment a crash comes at, and whatever it leaves of what was not put on the disk: everything before the last Sync is
// there, nothing else than what was written, and no file is called complete that is not.
func TestCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("it is slow under the race detector and has one goroutine")
	}
	for compression, step := range map[string]int{"none": 61, "lz4": 307} { // LZ4 takes its time to begin
		t.Run(compression, func(t *testing.T) { testCrash(t, compression, step) })
	}
}

func testCrash(t *testing.T, compression string, step int) {
	disk := &disktest.Disk{}
	w, err := createOn(disk, "drive.bag", codec.CreateOptions{ChunkSize: 300, Compression: compression})
	require.NoError(t, err)
	channels := testChannels()
	var written []codec.Message
	write := func(n int) {
		for range n {
			i := len(written)
			// Many end with zeros, and some are larger than a page.
			data := strings.Repeat(string(rune('a'+i%26)), 5+i) + strings.Repeat("\x00", 7*(i%5)) + strings.Repeat("z", i/20*5000)
			m := codec.Message{Channel: channels[i%3], LogTime: 1000 + int64(i), Data: []byte(data)}
			require.NoError(t, w.Write(&m))
			written = append(written, m)
		}
	}
	sync := func() {
		require.NoError(t, w.Sync())
		disk.Mark(len(written))
	}
	sync()
	write(4)
	sync()
	write(8) // more than a chunk
	require.NoError(t, w.Split())
	write(3)
	sync()
	require.NoError(t, w.Split())
	write(6)
	sync()
	require.NoError(t, w.Declare(channels[3]))
	sync()
	write(1)
	require.NoError(t, w.Close())
	disk.Mark(len(written))

	disk.Crashes(step, func(c disktest.Crash) {
		var all []codec.Message
		for name, content := range c.Files {
			all = append(all, readCrashed(t, name, content, c)...)
		}
		slices.SortFunc(all, func(a, b codec.Message) int { return int(a.LogTime - b.LogTime) })
		require.GreaterOrEqual(t, len(all), c.Mark, c.Name)
		for i, m := range all {
			if i < c.Mark {
				require.Equal(t, written[i].LogTime, m.LogTime, c.Name)
			}
			want := written[m.LogTime-1000]
			require.Equal(t, want.Channel.Topic, m.Channel.Topic, c.Name)
			require.Equal(t, string(want.Data), string(m.Data), c.Name)
			require.True(t, i == 0 || all[i-1].LogTime < m.LogTime, c.Name)
		}
	})
}

// readCrashed returns what is to be read without a word of damage.
func readCrashed(t *testing.T, name string, content []byte, c disktest.Crash) []codec.Message {
	active := strings.HasSuffix(name, codec.ActiveSuffix)
	r, err := newReader(memory{bytes.NewReader(content)}, int64(len(content)), name)
	if err != nil {
		require.True(t, active, c.Name)
		return nil // nothing of it is on the disk
	}
	it, err := r.Read(codec.Query{})
	require.NoError(t, err, c.Name)
	strict, err := collect(it)
	it, savedErr := r.Read(codec.Query{Damaged: func(error) {}})
	require.NoError(t, savedErr, c.Name)
	saved, savedErr := collect(it)
	require.NoError(t, savedErr, c.Name)
	if c.Hole && err != nil {
		require.Subset(t, saved, strict, c.Name) // what is behind it may be wrong
	} else {
		require.NoError(t, err, "%s: %s", c.Name, name)
		require.Equal(t, strict, saved, c.Name)
	}
	info, err := r.Info()
	require.NoError(t, err)
	if !active {
		require.True(t, info.Complete, "%s: %s: %v", c.Name, name, info.Events)
		require.Empty(t, info.Events, c.Name)
	}
	return strict
}
