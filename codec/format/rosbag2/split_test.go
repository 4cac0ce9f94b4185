package rosbag2

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/disktest"
	"tapedeck/codec/format/mcap"
)

// readMetadata returns the metadata.yaml of a folder, or nil if there is none.
func readMetadata(t testing.TB, dir string) *metadata {
	text, err := os.ReadFile(filepath.Join(dir, metadataFile))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	m, err := parseMetadata(text)
	require.NoError(t, err)
	return m
}

// fileNames returns the names of the files in a folder.
func fileNames(t testing.TB, dir string) []string {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

func TestSplit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "drive")
	var mu sync.Mutex
	var completed []string
	w, err := Options{}.Create(dir, codec.CreateOptions{Completed: func(f codec.FileInfo, err error) {
		mu.Lock()
		defer mu.Unlock()
		completed = append(completed, fmt.Sprintf("%s %d %d-%d %v", filepath.Base(f.Path), f.MessageCount, f.StartTime,
			f.EndTime, err))
		require.Contains(t, readMetadata(t, dir).Paths, filepath.Base(f.Path), "the completed file is listed")
	}})
	require.NoError(t, err)
	channels := testChannels()
	require.NoError(t, w.Declare(channels[1]))
	require.Equal(t, filepath.Join(dir, "drive_0.mcap"), w.File())
	require.Equal(t, []string{"drive_0.mcap.active"}, fileNames(t, dir))
	var want []codec.Message
	for number := range 4 {
		if number > 0 {
			require.NoError(t, w.Split())
		}
		require.Equal(t, filepath.Join(dir, fmt.Sprintf("drive_%d.mcap", number)), w.File())
		for i := range 10 * number {
			at := int64(1000*number + i)
			m := codec.Message{Channel: channels[0], LogTime: at, PublishTime: at,
				Data: fmt.Appendf(nil, "message %d", at)}
			require.NoError(t, w.Write(&m))
			want = append(want, m)
		}
		// At any time the folder has all messages, and all listed files are complete.
		require.NoError(t, w.Sync())
		requireMessages(t, want, read(t, open(t, dir), codec.Query{}))
		if number > 0 {
			require.Len(t, readMetadata(t, dir).Paths, number)
		}
	}
	require.NoError(t, w.Remove(filepath.Join(dir, "drive_1.mcap")))
	require.Error(t, w.Remove(filepath.Join(dir, "drive_1.mcap")))
	require.Error(t, w.Remove(filepath.Join(dir, "drive_3.mcap")), "the recorder still writes drive_3.mcap")
	require.Equal(t, []string{"drive_0.mcap", "drive_2.mcap"}, readMetadata(t, dir).Paths)
	require.NoError(t, w.Close())
	require.Equal(t, []string{"drive_0.mcap 0 0-0 <nil>", "drive_1.mcap 10 1000-1009 <nil>",
		"drive_2.mcap 20 2000-2019 <nil>", "drive_3.mcap 30 3000-3029 <nil>"}, completed)
	require.Equal(t, []string{"drive_0.mcap", "drive_2.mcap", "drive_3.mcap", metadataFile}, fileNames(t, dir))

	r := open(t, dir)
	requireMessages(t, want[10:], read(t, r, codec.Query{}))
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.Empty(t, info.Events)
	require.Len(t, info.Topics, 2)
	m := readMetadata(t, dir)
	require.Equal(t, []string{"drive_0.mcap", "drive_2.mcap", "drive_3.mcap"}, m.Paths)
	require.Equal(t, []fileInfo{
		{Path: "drive_0.mcap"},
		{Path: "drive_2.mcap", Start: timePoint{2000}, Duration: duration{19}, Messages: 20},
		{Path: "drive_3.mcap", Start: timePoint{3000}, Duration: duration{29}, Messages: 30},
	}, m.Files)
	require.EqualValues(t, 50, m.Messages)
	require.Equal(t, timePoint{2000}, m.Start)
	require.Equal(t, duration{1029}, m.Duration)
	require.Len(t, m.Topics, 2)
	require.Equal(t, "/silent", m.Topics[0].Topic.Name)
	require.EqualValues(t, 50, m.Topics[1].Messages)
	// Each file embeds the metadata that rosbag2 needs for a single file.
	for _, file := range m.Paths {
		info, err := open(t, filepath.Join(dir, file)).Info()
		require.NoError(t, err)
		require.Equal(t, file != "drive_0.mcap", len(info.Topics) == 2, "topics when the file was completed")
		require.Equal(t, "ros2", info.Extra.(mcap.Extra).Profile)
	}
}

// After a crash at any moment the folder has everything before the last Sync, and all files that metadata.yaml lists
// are complete.
func TestCrash(t *testing.T) {
	factor, stride := 1, 1
	if testing.Short() {
		factor, stride = 10, 19
	}
	for storage, step := range map[string]int{storageMCAP: 131, storageSQLite: 20_011} {
		t.Run(storage, func(t *testing.T) { testCrashes(t, storage, factor*step, stride) })
	}
}

func testCrashes(t *testing.T, storage string, step, stride int) {
	disk := &disktest.Disk{}
	folder := filepath.Join(t.TempDir(), "drive")
	w, err := Options{Storage: storage}.createOn(disk, folder, codec.CreateOptions{ChunkSize: 200})
	require.NoError(t, err)
	all := testMessages(20, testChannels()[0])
	written := 0
	write := func(n int) {
		for range n {
			require.NoError(t, w.Write(&all[written]))
			written++
		}
	}
	sync := func() {
		require.NoError(t, w.Sync())
		disk.Mark(written)
	}
	write(6)
	sync()
	require.NoError(t, w.Split())
	write(5)
	sync()
	require.NoError(t, w.Split())
	write(9)
	require.NoError(t, w.Close())
	disk.Mark(written)

	sound := map[string]bool{} // contents of files that were checked
	disk.Crashes(step, stride, func(c disktest.Crash) {
		dir := filepath.Join(t.TempDir(), "drive")
		require.NoError(t, os.Mkdir(dir, 0o777))
		for name, content := range c.Files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(name)), content, 0o666))
		}
		defer os.RemoveAll(filepath.Dir(dir))
		if m := readMetadata(t, dir); m != nil {
			for _, name := range m.Paths {
				content := string(c.Files[filepath.Join(folder, name)])
				if sound[content] {
					continue
				}
				sound[content] = true
				r, err := codec.Formats{Format, mcap.Format}.Open(filepath.Join(dir, name))
				require.NoError(t, err, c.Name)
				info, err := r.Info()
				require.NoError(t, err, c.Name)
				require.True(t, info.Complete, "%s: %s", c.Name, name)
				require.Empty(t, info.Events, "%s: %s", c.Name, name)
				require.NoError(t, r.Close())
			}
		}
		r, err := codec.Formats{Format}.Open(dir)
		if err != nil {
			require.Zero(t, c.Mark, "%s: %v", c.Name, err)
			return
		}
		defer r.Close()
		var got []codec.Message
		it, err := r.Read(codec.Query{Damaged: func(error) { require.True(t, c.Hole, c.Name) }})
		require.NoError(t, err)
		for m, err := it.Next(); err == nil; m, err = it.Next() {
			m := *m
			m.Data = slices.Clone(m.Data)
			got = append(got, m)
		}
		require.NoError(t, it.Close())
		require.GreaterOrEqual(t, len(got), c.Mark, c.Name)
		requireMessages(t, all[:c.Mark], got[:c.Mark])
	})
}

// The name of a bag's folder is on the disk before its files are.
func TestFolderIsSynced(t *testing.T) {
	disk := &disktest.Disk{}
	w, err := Options{}.Create("/data/drive", codec.CreateOptions{Disk: disk})
	require.NoError(t, err)
	require.NoError(t, w.Declare(testChannels()[0]))
	require.NoError(t, w.Sync())
	for seed := range uint64(20) {
		cut := disk.PowerCut(func(string) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) })
		require.Contains(t, cut.Files(), "/data/drive/drive_0.mcap"+codec.ActiveSuffix)
	}
	require.NoError(t, w.Close())
}
