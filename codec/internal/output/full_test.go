package output_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag2"
)

// smallDisk returns a folder on a disk of the given size.
func smallDisk(t *testing.T, size string) string {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("a small tmpfs cannot be mounted here, only root may: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// readTimes returns the LogTime of the messages on the topics, and reads all others.
func readTimes(t *testing.T, path string, topics ...string) []int64 {
	r, err := formats.Open(path)
	require.NoError(t, err)
	defer r.Close()
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	defer it.Close()
	var all []int64
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			require.NoError(t, err)
		}
		if slices.Contains(topics, m.Channel.Topic) {
			all = append(all, m.LogTime)
		}
	}
}

func infoOf(t *testing.T, path string) *codec.Info {
	r, err := formats.Open(path)
	require.NoError(t, err)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err)
	return info
}

// A full disk does not end a file before its first message.
func TestSyncOnFullDisk(t *testing.T) {
	for _, f := range []codec.Format{record.Format, mcap.Format} {
		t.Run(f.Name, func(t *testing.T) {
			w, err := codec.Formats{f}.Create(filepath.Join(smallDisk(t, "100k"), "drive."+f.Name), codec.CreateOptions{})
			require.NoError(t, err)
			require.NoError(t, w.Declare(&codec.Channel{Topic: "/a", Type: "a/msg/A", Encoding: codec.EncodingCDR,
				Schema: codec.Schema{Encoding: "ros2msg", Data: bytes.Repeat([]byte("# text\n"), 20_000)}}))
			require.NoError(t, w.Sync())
			require.Error(t, w.Close())
		})
	}
}

// When the disk is full the file is completed with its whole chunks, the missing messages are reported, and recording
// can continue when there is space again.
func TestFullDisk(t *testing.T) {
	type sizes struct{ message, chunk int }
	each := []sizes{{100, 200_000}, {100, 16 << 20}, {10_000, 200_000}, {3 << 20, 200_000}, {3 << 20, 16 << 20}}
	some := each
	if testing.Short() {
		some = each[1:4]
	}
	for _, format := range []struct {
		codec.Format
		path, first, second string
		sizes               []sizes
	}{
		{record.Format, "drive.record.00000", "drive.record.00000", "drive.record.00001", each},
		{mcap.Format, "drive.mcap", "drive.mcap", "drive_1.mcap", some},
		{rosbag2.Format, "drive", "drive/drive_0.mcap", "drive/drive_1.mcap", some[1:2]}, // its files are MCAP files
		{rosbag2.Options{Storage: "sqlite3"}.Format(), "drive", "drive/drive_0.db3", "drive/drive_1.db3", some},
	} {
		for _, sizes := range format.sizes {
			size, chunk := sizes.message, sizes.chunk
			t.Run(fmt.Sprintf("%s, %d bytes in %d", format.first, size, chunk), func(t *testing.T) {
				room := 3 << 20
				if size > 1<<20 {
					room = 8 << 20
				}
				dir := smallDisk(t, fmt.Sprint(room))
				ballast := filepath.Join(dir, "ballast")
				require.NoError(t, os.WriteFile(ballast, make([]byte, 1<<20), 0o666))
				first, second := filepath.Join(dir, format.first), filepath.Join(dir, format.second)
				var completed []string
				w, err := codec.Formats{format.Format}.Create(filepath.Join(dir, format.path), codec.CreateOptions{
					Format: format.Name, ChunkSize: chunk,
					Completed: func(f codec.FileInfo, err error) {
						completed = append(completed, fmt.Sprint(f.Path, " ", err))
					},
				})
				require.NoError(t, err)
				channels := manyChannels(100)
				for _, c := range channels {
					require.NoError(t, w.Declare(c))
				}
				data := bytes.Repeat([]byte("data"), size/4)
				taken := int64(0)
				write := func() error {
					// Messages are a microsecond apart, so that only their size closes chunks.
					return w.Write(&codec.Message{Channel: channels[taken%2], LogTime: 1e18 + taken*1000,
						PublishTime: 1, Data: data})
				}
				for err == nil && taken < int64(3*room/2/size) {
					err = write()
					if err == nil {
						taken++
					}
				}
				if err == nil { // chunks that are written as a whole
					err = w.Sync()
				}
				var missing *codec.MissingError
				require.ErrorAs(t, err, &missing)
				require.ErrorIs(t, err, syscall.ENOSPC)
				require.Equal(t, first, missing.Path)
				require.Regexp(t, `^write .*: no space left on device: (1 message from \d.* is|\d+ messages from `+
					`\d.* to \d.* are) missing; what was written before is readable, free some space before `+
					`going on$`, err.Error())
				require.Equal(t, err, write())
				require.Equal(t, err, w.Sync()) // the file is completed when it returns
				require.Positive(t, missing.Count())
				kept := taken - int64(missing.Count())

				// Another file cannot be created until space is freed.
				full := filepath.Join(dir, "full")
				_ = os.WriteFile(full, make([]byte, room), 0o666)
				require.ErrorIs(t, w.Split(), syscall.ENOSPC)
				require.Equal(t, err, write())
				require.NoError(t, os.Remove(ballast))
				require.NoError(t, os.Remove(full))
				require.NoError(t, w.Split())
				require.Equal(t, second, w.File())
				again := taken
				for range 3 {
					if size > 1<<20 {
						break // the file is smaller
					}
					require.NoError(t, write())
					taken++
				}
				require.NoError(t, w.Close())
				require.Equal(t, []string{first + " <nil>", second + " <nil>"}, completed)

				info := infoOf(t, first)
				require.True(t, info.Complete)
				got := readTimes(t, first, "/0", "/1")
				slices.Sort(got)
				require.Len(t, got, int(kept))
				require.True(t, kept == 0 || got[0] == 1e18 && got[kept-1] == 1e18+(kept-1)*1000,
					"the first so many")
				require.Len(t, slices.Compact(got), int(kept))
				require.Equal(t, []codec.Event{missing.Event()}, info.Events)
				require.Equal(t, int64(1e18+kept*1000), missing.Start)
				require.Equal(t, int64(1e18+(again-1)*1000), missing.End)
				info = infoOf(t, second)
				require.True(t, info.Complete)
				require.Empty(t, info.Events)
				require.GreaterOrEqual(t, len(info.Topics), len(channels))
				require.Len(t, readTimes(t, second, "/0", "/1"), int(taken-again))
				if format.Name == "rosbag2" {
					info = infoOf(t, filepath.Join(dir, format.path))
					require.True(t, info.Complete, info.Events)
					require.Len(t, info.Files, 2)
				}
			})
		}
	}
}

// manyChannels returns channels that take some space in an index.
func manyChannels(n int) []*codec.Channel {
	var all []*codec.Channel
	for i := range n {
		all = append(all, &codec.Channel{
			Topic: fmt.Sprint("/", i), Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR,
			QoS:    []codec.QoS{codec.DefaultQoS()},
			Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("string data\n")},
		})
	}
	return all
}

// withoutMissing returns err without errors of type MissingError.
func withoutMissing(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var list []error
		for _, e := range joined.Unwrap() {
			list = append(list, withoutMissing(e))
		}
		return errors.Join(list...)
	}
	if _, ok := err.(*codec.MissingError); ok {
		return nil
	}
	return err
}

// A recording continues for as long as its oldest files are deleted, however often the disk is full.
func TestDeletingFromAFullDisk(t *testing.T) {
	for _, format := range []struct {
		codec.Format
		path, first string
	}{
		{record.Format, "drive.record.00000", "drive.record.00000"}, {rosbag2.Format, "drive", "drive/drive_0.mcap"},
		{rosbag2.Options{Storage: "sqlite3"}.Format(), "drive", "drive/drive_0.db3"},
	} {
		t.Run(format.first, func(t *testing.T) {
			dir := smallDisk(t, "8m")
			var mu sync.Mutex
			var complete []string
			w, err := codec.Formats{format.Format}.Create(filepath.Join(dir, format.path), codec.CreateOptions{
				Format: format.Name, ChunkSize: 100_000,
				Completed: func(f codec.FileInfo, err error) {
					mu.Lock()
					defer mu.Unlock()
					assert.NoError(t, withoutMissing(err))
					complete = append(complete, f.Path)
				},
			})
			require.NoError(t, err)
			c := manyChannels(1)[0]
			data := make([]byte, 10_000)
			full := 0
			for taken := int64(0); full < 50; taken++ {
				err := w.Write(&codec.Message{Channel: c, LogTime: 1e18 + taken*1000, PublishTime: 1, Data: data})
				if err == nil && taken%100 == 99 {
					err = w.Split()
				}
				if err == nil {
					continue
				}
				full++
				require.ErrorIs(t, err, syscall.ENOSPC)
				_ = w.Sync() // the files before are complete when it returns
				for err != nil {
					mu.Lock()
					require.NotEmpty(t, complete, "there is nothing left to delete")
					oldest := complete[0]
					complete = complete[1:]
					mu.Unlock()
					require.NoError(t, w.Remove(oldest))
					require.NoFileExists(t, oldest)
					err = w.Split()
				}
			}
			require.NoError(t, withoutMissing(w.Close()))
			for _, path := range complete {
				require.True(t, infoOf(t, path).Complete)
			}
			if format.Name == "rosbag2" {
				require.Len(t, infoOf(t, filepath.Join(dir, format.path)).Files, len(complete))
			}
		})
	}
}
