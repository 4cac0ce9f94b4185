package player

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/translate/apollo"
	"tapedeck/bridge/translate/carla"
	"tapedeck/bridge/translate/ros1"
	"tapedeck/codec"
	layout "tapedeck/codec/format/carla"
	"tapedeck/test/samples/generate"
)

// TestSamples plays recordings of other programs as fast as possible. It checks that ROS 2 messages, and translated
// messages, arrive in order with the payloads that codec reads. Counts are those of the recording programs, or 0 if
// several messages become one message or none.
func TestSamples(t *testing.T) {
	for name, count := range map[string]int{
		"apollo/apollo_cpp_sensors.record":                    0,
		"apollo/example.record.00000":                         0,
		"bag/cruise_example.bag":                              8647,
		"bag/cruise_example-bz2.bag":                          8647,
		"bag/py_unindexed_active.bag":                         400,
		"carla/scenario_runner_DistanceToLaneCenter.log":      0,
		"rosbag2/rosbags_rs/test_bag_mcap/test_bag_mcap.mcap": 188,
		"rosbag2/rosbags_rs/test_bag_sqlite3":                 188,
		"rosbag2/humble_py/wbag":                              6074,
	} {
		t.Run(name, func(t *testing.T) {
			path := generate.Path(t, name)
			g := newGraph(t)
			want := readAll(t, path)
			all := map[played]*heard{}
			overrides, total := "", 0
			for p, messages := range want {
				total += len(messages)
				overrides += fmt.Sprintf("%s: {reliability: reliable, durability: volatile, history: keep_all}\n",
					p.topic)
				all[p] = g.hear(g.node, p.topic, p.typeName, keepAll())
			}
			profiles := filepath.Join(g.dir, "profiles.yaml")
			require.NoError(t, os.WriteFile(profiles, []byte(overrides), 0o644))
			if count > 0 {
				require.Equal(t, count, total)
			}
			player := g.player(path, "--immediate", "--delay", "0s", "--wait-for-subscribers",
				"--qos-profile-overrides-path",
				profiles)
			require.Contains(t, player.Wait(0), fmt.Sprintf("played %d messages", total))
			for p, messages := range want {
				all[p].wait(len(messages))
				have := all[p].all()
				require.Len(t, have, len(messages), p.topic)
				for i := range have {
					// DDS pads a message to 4 bytes.
					if size := len(messages[i]); len(have[i]) < size || len(have[i]) >= size+4 ||
						!bytes.Equal(messages[i], have[i][:size]) {
						require.Equal(t, messages[i], have[i], "message %d of %s", i, p.topic)
					}
				}
			}
		})
	}
}

// played is the name and the type of a played topic.
type played struct{ topic, typeName string }

func playedOf(c *codec.Channel) played { return played{"/" + strings.TrimPrefix(c.Topic, "/"), c.Type} }

// readAll returns the ROS 2 payloads of a recording by topic. Topics without ROS 2 messages have no payloads.
func readAll(t *testing.T, path string) map[played][][]byte {
	source, err := formats.Open(path)
	require.NoError(t, err)
	r, _, err := bridge.Translate(source, codec.EncodingCDR, nil,
		map[string]func(codec.Reader) (bridge.Translator, error){
			layout.Encoding: carla.ToROS2, codec.EncodingProtobuf: apollo.ToROS2, codec.EncodingROS1: ros1.ToROS2,
		})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	it, err := r.Read(codec.Query{Damaged: func(error) {}})
	require.NoError(t, err)
	defer func() { require.NoError(t, it.Close()) }()
	all := map[played][][]byte{}
	info, err := r.Info()
	require.NoError(t, err)
	for _, topic := range info.Topics {
		if c := topic.Channel; c.Encoding == codec.EncodingCDR {
			all[playedOf(c)] = nil
		}
	}
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		if m.Channel.Encoding == codec.EncodingCDR {
			p := playedOf(m.Channel)
			all[p] = append(all[p], bytes.Clone(m.Data))
		}
	}
}
