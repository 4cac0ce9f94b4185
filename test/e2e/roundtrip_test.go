package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	_ "tapedeck/codec/mcap"
	_ "tapedeck/codec/record"
	_ "tapedeck/codec/rosbag2"
)

// topicsOf returns the names of the topics of a recording.
func topicsOf(t *testing.T, path string) (names []string) {
	t.Helper()
	for _, topic := range infoOf(t, path).Topics {
		names = append(names, topic.Channel.Topic)
	}
	return names
}

// infoOf returns what is in a recording, without the messages in which it says what happened to it.
func infoOf(t *testing.T, path string) *codec.Info {
	t.Helper()
	r, err := codec.Open(path)
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

// TestRealRecordingsOverDDS plays real ROS 2 recordings onto DDS, records them in both storages, and plays and records a
// recording again. The payloads, their types, their QoS and their order must come through.
func TestRealRecordingsOverDDS(t *testing.T) {
	for _, test := range []struct {
		sample string
		topics []string // nil: all
		rate   string
		times  string // how far times may be off; "" does not look
	}{
		{"rosbag2/rosbags_rs/test_bag_mcap", nil, "8", ""},
		{"rosbag2/rolling_py/mcap/talker", []string{"/topic"}, "1", "250ms"},
		{"rosbag2/jazzy_resources/mcap/cdr_test", nil, "1", "250ms"},
		{"rosbag2/rolling_resources/mcap/cdr_test/cdr_test_0.mcap", nil, "1", "250ms"},
		{"rosbag2/rolling_resources/mcap/bag_with_topics_and_service_events", []string{"/test_topic1", "/test_topic2"}, "1", "250ms"},
	} {
		t.Run(strings.ReplaceAll(test.sample, "/", "_"), func(t *testing.T) {
			original, err := filepath.Abs(filepath.Join(samples, test.sample))
			require.NoError(t, err)
			if _, err := os.Stat(original); err != nil {
				t.Skip("the real recordings are not there: ", err)
			}
			g := isolate(t)
			topics := test.topics
			if topics == nil {
				topics = topicsOf(t, original)
			}
			diff := func(path string) {
				args := []string{"diff", original, path, "--topics", strings.Join(topics, ",")}
				if test.times != "" {
					args = append(args, "--times", test.times)
				}
				require.Contains(t, g.run(0, "converter", args...), "identical")
			}
			record := g.rerecord(original, "first", "record", test.rate, topics)
			diff(record)
			mcap := g.rerecord(original, "bag", "mcap", test.rate, topics)
			diff(mcap)
			require.Equal(t, channelsOf(t, record), channelsOf(t, mcap))
			diff(g.rerecord(record, "second", "record", test.rate, topics))
		})
	}
}

// rerecord plays a recording while a recorder listens to topics, and returns what that wrote.
func (g *graph) rerecord(path, name, storage, rate string, topics []string) string {
	g.t.Helper()
	recorder := g.start("recorder", append([]string{"-o", name, "-s", storage}, topics...)...)
	args := []string{path, "--wait-for-subscribers", "--rate", rate}
	for _, topic := range topics {
		args = append(args, "--topics", topic)
	}
	g.run(0, "player", args...)
	recorder.signal(os.Interrupt)
	if storage == "record" {
		name += ".record.00000"
	}
	return g.path(name)
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
