package record

import (
	"os"
	"path/filepath"
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
	disk := &disktest.Disk{}
	w, err := createOn(disk, "drive.record.00000", codec.CreateOptions{ChunkSize: 300})
	require.NoError(t, err)
	channels := []*codec.Channel{
		{Topic: "/a", Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR, Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("string data\n")}},
		{Topic: "/b", Type: "x.B", Encoding: codec.EncodingProtobuf},
	}
	var written []got
	write := func(n int) {
		for range n {
			i := len(written)
			// Many end with zeros, and some are larger than a page.
			data := strings.Repeat(string(rune('a'+i%26)), 5+i) + strings.Repeat("\x00", 7*(i%5)) + strings.Repeat("z", i/20*5000)
			m := &codec.Message{Channel: channels[i%2], LogTime: 1000 + int64(i), PublishTime: int64(i % 3), Data: []byte(data)}
			require.NoError(t, w.Write(m))
			written = append(written, got{m.Channel.Topic, m.LogTime, m.PublishTime, data})
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
	require.NoError(t, w.Declare(&codec.Channel{Topic: "/silent", Type: "x.C", Encoding: codec.EncodingProtobuf}))
	sync()
	write(1)
	require.NoError(t, w.Close())
	disk.Mark(len(written))

	dir := t.TempDir()
	disk.Crashes(31, func(c disktest.Crash) {
		var all []got
		for _, name := range put(t, dir, c.Files) {
			r, err := codec.Open(name)
			if err != nil {
				require.True(t, strings.HasSuffix(name, codec.ActiveSuffix), c.Name)
				continue // nothing of it is on the disk
			}
			strict, err := readAll(t, r, codec.Query{})
			saved, savedErr := readAll(t, r, codec.Query{Damaged: func(error) {}})
			require.NoError(t, savedErr)
			if err != nil {
				require.ErrorIs(t, err, ErrDamaged, c.Name) // behind what is certain
				require.Subset(t, saved, strict, c.Name)
			} else {
				require.Equal(t, strict, saved, c.Name)
			}
			info, err := r.Info()
			require.NoError(t, err)
			if !strings.HasSuffix(name, codec.ActiveSuffix) {
				require.True(t, info.Complete, "%s: %s: %v", c.Name, name, info.Events)
			}
			require.NoError(t, r.Close())
			all = append(all, strict...)
		}
		slices.SortFunc(all, func(a, b got) int { return int(a.time - b.time) })
		require.GreaterOrEqual(t, len(all), c.Mark, c.Name)
		for i, m := range all {
			if i < c.Mark {
				require.Equal(t, written[i], m, c.Name)
			} else {
				require.Contains(t, written, m, c.Name)
				require.True(t, i == 0 || all[i-1].time < m.time, c.Name)
			}
		}
	})
}

// put writes files into an empty folder and returns their paths, in order.
func put(t testing.TB, dir string, files map[string][]byte) []string {
	old, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for _, path := range old {
		require.NoError(t, os.Remove(path))
	}
	var paths []string
	for name, content := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o666))
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}
