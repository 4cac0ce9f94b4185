package output_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag2"
)

var formats = codec.Formats{mcap.Format, record.Format, rosbag2.Format}

// A file that a full disk ended has the events of CreateOptions.Ending at its end, whether the error came from Write,
// from Sync, or when the file was completed. The error counts the recorder's own lost messages.
func TestEnding(t *testing.T) {
	for _, format := range []struct {
		codec.Format
		path, first string
	}{
		{record.Format, "drive.record.00000", "drive.record.00000"},
		{rosbag2.Format, "drive", "drive/drive_0.mcap"},
		{rosbag2.Options{Storage: "sqlite3"}.Format(), "drive", "drive/drive_0.db3"},
	} {
		for _, by := range []string{"write", "sync", "complete"} {
			t.Run(format.first+" "+by, func(t *testing.T) {
				dir := smallDisk(t, "8m")
				const topics = 200
				channels := manyChannels(topics)
				lost := codec.Event{Kind: codec.EventGap, Topic: "/0", Time: 1e18, Until: 1e18 + 1, Text: "lost"}
				var mu sync.Mutex
				var missing *codec.MissingError
				w, err := codec.Formats{format.Format}.Create(filepath.Join(dir, format.path), codec.CreateOptions{
					Format: format.Name, ChunkSize: 200_000,
					Ending: func(path string, m *codec.MissingError) (events []codec.Event) {
						mu.Lock()
						defer mu.Unlock()
						missing = m
						require.Equal(t, filepath.Join(dir, format.first), path)
						for i := range topics {
							totals := codec.Totals{Written: uint64(i)}
							events = append(events, totals.Event(channels[i].Topic, 0, 0, false))
						}
						return events
					},
				})
				require.NoError(t, err)
				for i := range 300 {
					m := codec.Message{Channel: channels[i%topics], LogTime: 1e18 + int64(i), Data: make([]byte, 1000)}
					require.NoError(t, w.Write(&m))
				}
				require.NoError(t, w.Sync())
				m, err := codec.EventMessage(lost)
				require.NoError(t, err)
				require.NoError(t, w.Write(m))
				fillUp(t, filepath.Join(dir, "full"))
				for i := 300; err == nil && (by == "write" || i < 320); i++ {
					m := codec.Message{Channel: channels[0], LogTime: 1e18 + int64(i), Data: make([]byte, 1000)}
					err = w.Write(&m)
				}
				if by == "sync" {
					err = w.Sync()
				}
				if by != "complete" {
					require.ErrorIs(t, err, syscall.ENOSPC)
				}
				require.ErrorIs(t, w.Close(), syscall.ENOSPC)
				require.Equal(t, filepath.Join(dir, format.first), missing.Path)
				info := infoOf(t, filepath.Join(dir, format.first))
				require.True(t, info.Complete)
				counted := map[string]uint64{}
				gaps := 0
				for _, e := range info.Events {
					switch e.Kind {
					case codec.EventTotals:
						counted[e.Topic] = e.Count
						require.Equal(t, int64(1e18), e.Time)
					case codec.EventGap:
						gaps++
					}
				}
				require.Len(t, counted, topics)
				require.Equal(t, uint64(topics-1), counted[fmt.Sprint("/", topics-1)])
				require.Equal(t, 1, gaps)
			})
		}
	}
}

// fillUp fills the disk to the last byte.
func fillUp(t *testing.T, path string) {
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = file.Write(make([]byte, size))
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
	}
}
