package e2e

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/test/samples/generate"
)

// topicsOf returns the names of the topics of a recording.
func topicsOf(t *testing.T, path string) (names []string) {
	t.Helper()
	for _, topic := range infoOf(t, path).Topics {
		names = append(names, topic.Channel.Topic)
	}
	return names
}

// infoOf returns the contents of a recording, without its events.
func infoOf(t *testing.T, path string) *codec.Info {
	t.Helper()
	r, err := formats.Open(path)
	require.NoError(t, err)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err)
	info.Topics = slices.DeleteFunc(info.Topics, func(topic codec.TopicInfo) bool {
		if codec.IsEvents(topic.Channel) {
			info.MessageCount -= topic.MessageCount
			return true
		}
		return false
	})
	return info
}

// TestRealRecordingsOverDDS plays real ROS 2 recordings onto DDS and records them in both storages. It then
// plays and records the Apollo record again. It checks that payloads, types, QoS and order are equal.
func TestRealRecordingsOverDDS(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		sample string
		topics []string // nil: all
		rate   int
	}{
		{"rosbag2/rosbags_rs/test_bag_mcap", nil, 8},
		{"rosbag2/rolling_py/mcap/talker", []string{"/topic"}, 1},
		{"rosbag2/jazzy_resources/mcap/cdr_test", nil, 1},
		{"rosbag2/rolling_resources/mcap/cdr_test/cdr_test_0.mcap", nil, 1},
		{"rosbag2/rolling_resources/mcap/bag_with_topics_and_service_events", []string{"/test_topic1", "/test_topic2"},
			1},
	} {
		t.Run(strings.ReplaceAll(test.sample, "/", "_"), func(t *testing.T) {
			t.Parallel()
			original := generate.Path(t, test.sample)
			g := isolate(t)
			topics := test.topics
			if topics == nil {
				topics = topicsOf(t, original)
			}
			record := g.rerecord(original, "first", "record", test.rate, topics)
			mcap := g.rerecord(original, "bag", "mcap", test.rate, topics)
			require.Equal(t, channelsOf(t, record), channelsOf(t, mcap))
			g.rerecord(record, "second", "record", test.rate, topics)
		})
	}
}

// rerecord plays a recording while a recorder records topics, and returns the path of the new recording. It requires
// that both recordings have equal messages, and that no message is early. On a busy machine messages may be late.
func (g *graph) rerecord(path, name, storage string, rate int, topics []string) string {
	t := g.t
	t.Helper()
	recorder := g.start("recorder", append([]string{"-o", name, "-s", storage}, topics...)...)
	var selected []string
	for _, topic := range topics {
		selected = append(selected, "--topics", topic)
	}
	began := time.Now().UnixNano()
	g.run(0, "player", append([]string{path, "--wait-for-subscribers", "--rate", fmt.Sprint(rate)}, selected...)...)
	recorder.Interrupt()
	if storage == "record" {
		name += ".record.00000"
	}
	copied := g.path(name)
	require.Contains(t, g.run(0, "converter", append([]string{"diff", path, copied}, selected...)...), "identical")
	due := logTimes(t, path, topics)
	begin := int64(math.MaxInt64)
	for _, times := range due {
		begin = min(begin, times[0])
	}
	for topic, times := range logTimes(t, copied, topics) {
		for i, at := range times {
			require.GreaterOrEqual(t, at, began+(due[topic][i]-begin)/int64(rate), "message %d of %s", i, topic)
		}
	}
	return copied
}

// logTimes returns the log times of the messages of the given topics.
func logTimes(t *testing.T, path string, topics []string) map[string][]int64 {
	t.Helper()
	r, err := formats.Open(path)
	require.NoError(t, err)
	defer r.Close()
	it, err := r.Read(codec.Query{Topics: func(c *codec.Channel) bool { return slices.Contains(topics, c.Topic) }})
	require.NoError(t, err)
	defer it.Close()
	times := map[string][]int64{}
	for {
		m, err := it.Next()
		if err == io.EOF {
			return times
		}
		require.NoError(t, err)
		times[m.Channel.Topic] = append(times[m.Channel.Topic], m.LogTime)
	}
}

// channelsOf returns the channels of a recording by topic, and their counts of messages.
func channelsOf(t *testing.T, path string) map[string]any {
	t.Helper()
	channels := map[string]any{}
	for _, topic := range infoOf(t, path).Topics {
		c := *topic.Channel
		c.Metadata = nil
		channels[c.Topic] = []any{c, topic.MessageCount}
	}
	return channels
}
