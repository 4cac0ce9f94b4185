package output_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// Info lists the events that a recorder stored, for complete files and others. The events are also a topic like any
// other.
func TestEvents(t *testing.T) {
	for _, path := range []string{"drive.record.00000", "drive.mcap", "drive"} {
		for _, compression := range []string{"none", "zstd"} {
			if compression != "none" && path == "drive.record.00000" {
				continue
			}
			t.Run(path+" "+compression, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), path)
				w, err := formats.Create(path, codec.CreateOptions{ChunkSize: 1000, Compression: compression})
				require.NoError(t, err)
				channel := manyChannels(1)[0]
				other := *channel
				other.Topic = codec.EventTopic // any publisher may use this topic
				require.NoError(t, w.Write(&codec.Message{Channel: &other, LogTime: 5, Data: make([]byte, 20)}))
				var want []codec.Event
				for i := range 30 {
					for range 10 {
						require.NoError(t, w.Write(&codec.Message{Channel: channel, LogTime: int64(i) * 100,
							Data: make([]byte, 50)}))
					}
					if i%3 == 0 {
						e := codec.Event{Kind: codec.EventDrop, Topic: "/0", Time: int64(i)*100 + 1,
							Until: int64(i)*100 + 2,
							Count: uint64(i), Text: fmt.Sprint("event ", i)}
						m, err := codec.EventMessage(e)
						require.NoError(t, err)
						require.NoError(t, w.Write(m))
						want = append(want, e)
					}
				}
				require.NoError(t, w.Sync())
				info := infoOf(t, path)
				require.False(t, info.Complete)
				var kept []codec.Event
				for _, e := range info.Events {
					if e.Kind != codec.EventUnfinished {
						kept = append(kept, e)
					}
				}
				require.Equal(t, want, kept)
				require.Greater(t, len(info.Events), len(kept))

				require.NoError(t, w.Close())
				info = infoOf(t, path)
				require.True(t, info.Complete)
				require.Equal(t, want, info.Events)
				require.EqualValues(t, 311, info.MessageCount)
				counts := map[string]uint64{}
				for _, topic := range info.Topics {
					counts[topic.Channel.Topic+" "+topic.Channel.Type] = topic.MessageCount
				}
				require.Equal(t, map[string]uint64{"/0 std_msgs/msg/String": 300,
					"/tapedeck/events std_msgs/msg/String":         1,
					"/tapedeck/events tapedeck/msg/RecordingEvent": 10}, counts)
				require.Len(t, readTimes(t, path, codec.EventTopic), 11)
			})
		}
	}
}
