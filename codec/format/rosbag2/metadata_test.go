package rosbag2

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/test/samples"
)

// kilted is a metadata.yaml of Kilted, with version 9.
const kilted = `rosbag2_bagfile_information:
  version: 9
  storage_identifier: mcap
  duration:
    nanoseconds: 600880
  starting_time:
    nanoseconds_since_epoch: 1758921828523021747
  message_count: 6
  topics_with_message_count:
    - topic_metadata:
        name: /rosout
        type: rcl_interfaces/msg/Log
        serialization_format: cdr
        offered_qos_profiles:
          - history: unknown
            depth: 0
            reliability: reliable
            durability: transient_local
            deadline:
              sec: 9223372036
              nsec: 854775807
            lifespan:
              sec: 10
              nsec: 0
            liveliness: automatic
            liveliness_lease_duration:
              sec: 9223372036
              nsec: 854775807
            avoid_ros_namespace_conventions: false
        type_description_hash: RIHS01_e28ce254ca8abc06abf92773b74602cdbf116ed34fbaf294fb9f81da9f318eac
      message_count: 6
  compression_format: zstd
  compression_mode: FILE
  relative_file_paths:
    - part_0.mcap.zstd
  files:
    - path: part_0.mcap
      starting_time:
        nanoseconds_since_epoch: 1758921828523021747
      duration:
        nanoseconds: 600880
      message_count: 6
  custom_data: ~
  ros_distro: kilted
`

func TestMetadataOfVersion9(t *testing.T) {
	m, err := parseMetadata([]byte(kilted))
	require.NoError(t, err)
	rosout := codec.DefaultQoS()
	rosout.History, rosout.Depth, rosout.Durability, rosout.Lifespan = codec.UnknownHistory, 0, codec.TransientLocal,
		10*time.Second
	start, length := timePoint{1758921828523021747}, duration{600880}
	require.Equal(t, &metadata{
		Version: 9, Storage: "mcap", Duration: length, Start: start, Messages: 6,
		Topics: []topicInfo{{
			Topic: topic{
				Name: "/rosout", Type: "rcl_interfaces/msg/Log", Encoding: "cdr", QoS: profiles{rosout},
				TypeHash: "RIHS01_e28ce254ca8abc06abf92773b74602cdbf116ed34fbaf294fb9f81da9f318eac",
			},
			Messages: 6,
		}},
		Compression: "zstd", Mode: "FILE", Paths: []string{"part_0.mcap.zstd"},
		Files:  []fileInfo{{Path: "part_0.mcap", Start: start, Duration: length, Messages: 6}},
		Distro: "kilted",
	}, m)
}

// Any text is read as it was written, even if it looks like another kind of YAML value.
func TestMetadataOfOddNames(t *testing.T) {
	odd := []string{"", "/a", "yes", "Null", "~", "1", "1e3", "0x1f", "-", "a: b", "a\nb", "#x", "é", "\"q\"",
		"\xff\xfe", " lead", "trail ", "\u0085x", "\ufeff", "😀", "[", "2024-01-01", "=", "<<", "@x", "%", "a\tb\\",
		strings.Repeat("long", 300)}
	for version := 5; version <= 9; version++ {
		all := &metadata{Version: version, Storage: "mcap"}
		list := []*metadata{all}
		for _, text := range odd {
			one := &metadata{Version: version, Storage: "mcap"}
			list = append(list, one)
			for _, m := range []*metadata{one, all} {
				m.Topics = append(m.Topics, topicInfo{Topic: topic{Name: text, Type: text, Encoding: text}})
				m.Paths, m.Files = append(m.Paths, text), append(m.Files, fileInfo{Path: text})
				if version >= since["custom_data"] {
					m.Custom = map[string]string{text: text}
				}
			}
		}
		for _, m := range list {
			written, err := parseMetadata(m.format(true))
			require.NoError(t, err)
			require.Equal(t, m, written)
			written, err = parseEmbedded(m.format(false))
			require.NoError(t, err)
			require.Equal(t, m, written)
		}
	}
}

// wantMetadata is a metadata.yaml in the layout of Humble and Jazzy, with Humble's QoS and the fields of version 8.
const wantMetadata = `rosbag2_bagfile_information:
  version: 8
  storage_identifier: mcap
  duration:
    nanoseconds: 200000000
  starting_time:
    nanoseconds_since_epoch: 1700000000000000000
  message_count: 3
  topics_with_message_count:
    - topic_metadata:
        name: /silent
        type: std_msgs/msg/Empty
        serialization_format: cdr
        offered_qos_profiles: ""
        type_description_hash: ""
      message_count: 0
    - topic_metadata:
        name: /chatter
        type: std_msgs/msg/String
        serialization_format: cdr
        offered_qos_profiles: "- history: 1\n  depth: 10\n  reliability: 1\n  durability: 2\n` +
	`  deadline:\n    sec: 9223372036\n    nsec: 854775807\n` +
	`  lifespan:\n    sec: 9223372036\n    nsec: 854775807\n` +
	`  liveliness: 1\n  liveliness_lease_duration:\n    sec: 9223372036\n    nsec: 854775807\n` +
	`  avoid_ros_namespace_conventions: false\n` +
	`- history: 1\n  depth: 10\n  reliability: 1\n  durability: 1\n` +
	`  deadline:\n    sec: 9223372036\n    nsec: 854775807\n` +
	`  lifespan:\n    sec: 9223372036\n    nsec: 854775807\n` +
	`  liveliness: 1\n  liveliness_lease_duration:\n    sec: 9223372036\n    nsec: 854775807\n` +
	`  avoid_ros_namespace_conventions: false"
        type_description_hash: RIHS01_00
      message_count: 3
  compression_format: ""
  compression_mode: ""
  relative_file_paths:
    - drive_0.mcap
  files:
    - path: drive_0.mcap
      starting_time:
        nanoseconds_since_epoch: 1700000000000000000
      duration:
        nanoseconds: 200000000
      message_count: 3
  custom_data: ~
  ros_distro: ""
`

func TestMetadataFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "drive")
	writeBag(t, path, codec.CreateOptions{}, 3)
	text, err := os.ReadFile(filepath.Join(path, metadataFile))
	require.NoError(t, err)
	require.Equal(t, wantMetadata, string(text))
	entries, err := os.ReadDir(path)
	require.NoError(t, err)
	require.Len(t, entries, 2, "metadata.yaml and one MCAP file")
}

func TestParseEmbedded(t *testing.T) {
	for _, text := range []string{"", "7", "version: 9", "version: [", "storage_identifier: mcap"} {
		m, err := parseEmbedded([]byte(text))
		require.Error(t, err, text)
		require.Nil(t, m, text)
	}
}

func FuzzMetadata(f *testing.F) {
	f.Add([]byte(wantMetadata))
	f.Add([]byte(kilted))
	for _, path := range []string{"rosbags_rs/test_bag_mcap", "humble_py/convert_a", "jazzy_resources/mcap/cdr_test"} {
		for _, text := range samples.Seeds(f, filepath.Join("rosbag2", path, metadataFile)) {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseMetadata(text)
		if err != nil {
			return
		}
		again, err := parseMetadata(m.format(true))
		require.NoError(t, err)
		require.True(t, slices.Equal(m.Paths, again.Paths))
		require.Equal(t, len(m.Topics), len(again.Topics))
	})
}
