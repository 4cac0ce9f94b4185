package rosbag2

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/internal/codectest"
	"tapedeck/test/samples"
)

func sample(t testing.TB, path string) string { return samples.Path(t, "rosbag2/"+path) }

var read = codectest.Read

func open(t testing.TB, path string) codec.Reader {
	return codectest.Open(t, path, Format, mcap.Format)
}

// TestReal reads bags of several releases and compares them with their metadata.yaml.
func TestReal(t *testing.T) {
	for _, c := range []struct {
		path    string
		version int
		times   bool // times in metadata.yaml match the messages; some conversions kept old times
	}{
		{"rosbags_rs/test_bag_mcap", 5, true},
		{"jazzy_resources/mcap/bag_with_topics_and_service_events", 8, true},
		{"jazzy_resources/mcap/cdr_test", 7, true},
		{"jazzy_resources/mcap/wrong_rmw_test", 6, true},
		{"rolling_py/mcap/convert_a", 5, false},
		{"rolling_py/mcap/convert_b", 5, true},
		{"rolling_py/mcap/talker", 4, true},
		{"rolling_py/mcap/wbag", 4, false},
		{"humble_py/convert_a", 5, false},
		{"humble_py/convert_b", 5, true},
		{"humble_py/talker", 4, true},
		{"humble_py/wbag", 4, false},
		{"humble_resources/cdr_test", 4, true},
		{"rosbags_rs/test_bag_sqlite3", 5, true},
	} {
		t.Run(c.path, func(t *testing.T) {
			path := sample(t, c.path)
			text, err := os.ReadFile(filepath.Join(path, metadataFile))
			require.NoError(t, err)
			m, err := parseMetadata(text)
			require.NoError(t, err)
			require.Equal(t, c.version, m.Version)

			r := open(t, path)
			info, err := r.Info()
			require.NoError(t, err)
			require.True(t, info.Complete)
			require.Empty(t, info.Events)
			require.Equal(t, Name, info.Format)
			require.Equal(t, m.Messages, info.MessageCount)
			if c.times {
				require.Equal(t, m.Start.Nanoseconds, info.StartTime)
				require.Equal(t, m.Duration.Nanoseconds, info.EndTime-info.StartTime)
			}
			require.Len(t, info.Files, len(m.Paths))
			require.Len(t, info.Topics, len(m.Topics))
			counts := map[string]uint64{}
			messages := read(t, r, codec.Query{})
			require.Len(t, messages, int(m.Messages))
			require.Equal(t, messages[0].LogTime, info.StartTime)
			require.Equal(t, messages[len(messages)-1].LogTime, info.EndTime)
			for _, message := range messages {
				counts[message.Channel.Topic]++
			}
			for _, want := range m.Topics {
				i := slices.IndexFunc(info.Topics,
					func(t codec.TopicInfo) bool { return t.Channel.Topic == want.Topic.Name })
				require.GreaterOrEqual(t, i, 0, want.Topic.Name)
				got := info.Topics[i]
				require.Equal(t, want.Topic.Type, got.Channel.Type)
				require.Equal(t, want.Topic.Encoding, got.Channel.Encoding)
				if want.Topic.TypeHash != "" {
					require.Equal(t, want.Topic.TypeHash, got.Channel.TypeHash)
				}
				require.Equal(t, []codec.QoS(want.Topic.QoS), got.Channel.QoS)
				require.Equal(t, want.Messages, got.MessageCount)
				require.Equal(t, want.Messages, counts[want.Topic.Name])
			}
		})
	}
}

func TestEveryTypeOfTheRealBag(t *testing.T) {
	r := open(t, sample(t, "rosbags_rs/test_bag_mcap"))
	info, err := r.Info()
	require.NoError(t, err)
	require.Len(t, info.Topics, 94)
	for _, topic := range info.Topics {
		require.EqualValues(t, 2, topic.MessageCount)
		require.NotEmpty(t, topic.Channel.Type)
		require.Equal(t, codec.EncodingCDR, topic.Channel.Encoding)
		require.Equal(t, codec.SchemaROS2Msg, topic.Channel.Schema.Encoding, topic.Channel.Type)
	}
	for _, m := range read(t, r, codec.Query{}) {
		require.Equal(t, []byte{0, 1}, m.Data[:2], "the encapsulation header of %s", m.Channel.Type)
	}
}

func testChannels() []*codec.Channel {
	latched := codec.DefaultQoS()
	latched.Durability = codec.TransientLocal
	return []*codec.Channel{
		{
			Topic: "/chatter", Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR, TypeHash: "RIHS01_00",
			Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("string data\n")},
			QoS:    []codec.QoS{codec.DefaultQoS(), latched},
		},
		{Topic: "/silent", Type: "std_msgs/msg/Empty", Encoding: codec.EncodingCDR},
	}
}

func testMessages(n int, c *codec.Channel) []codec.Message {
	messages := make([]codec.Message, n)
	for i := range messages {
		t := 1700000000000000000 + int64(i)*100_000_000
		messages[i] = codec.Message{Channel: c, LogTime: t, PublishTime: t, Data: fmt.Appendf(nil, "message %d", i)}
	}
	return messages
}

// writeBag writes a bag of testMessages.
func writeBag(t testing.TB, path string, o codec.CreateOptions, n int) []codec.Message {
	channels := testChannels()
	messages := testMessages(n, channels[0])
	w, err := codec.Formats{Format}.Create(path, o)
	require.NoError(t, err)
	require.NoError(t, w.Declare(channels[1]))
	for i := range messages {
		require.NoError(t, w.Write(&messages[i]))
	}
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	return messages
}

func requireMessages(t testing.TB, want, got []codec.Message) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, want[i].Channel.Topic, got[i].Channel.Topic)
		require.Equal(t, want[i].LogTime, got[i].LogTime)
		require.Equal(t, string(want[i].Data), string(got[i].Data))
	}
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "drive")
	want := writeBag(t, path+"/",
		codec.CreateOptions{Metadata: map[string]string{"ros_distro": "humble", "robot": "r2"}},
		50)
	r := open(t, path)
	requireMessages(t, want, read(t, r, codec.Query{}))
	info, err := r.Info()
	require.NoError(t, err)
	require.Empty(t, info.Events)
	require.True(t, info.Complete)
	require.Equal(t, map[string]string{"ros_distro": "humble", "robot": "r2"}, info.Metadata)
	extra := info.Extra.(Extra)
	require.Equal(t, 8, extra.Version)
	require.Equal(t, "humble", extra.ROSDistro)
	require.Equal(t, "ros2", extra.Profile)
	require.Len(t, info.Topics, 2)
	require.Equal(t, filepath.Join(path, "drive_0.mcap"), info.Files[0].Path)

	got := read(t, r, codec.Query{Start: want[10].LogTime, End: want[20].LogTime,
		Topics: func(c *codec.Channel) bool { return c.Topic == "/chatter" }})
	requireMessages(t, want[10:20], got)
	require.Empty(t, read(t, r, codec.Query{Topics: func(c *codec.Channel) bool { return c.Topic == "/silent" }}))
	requireMessages(t, want, read(t, open(t, filepath.Join(path, metadataFile)), codec.Query{}))
}

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
        offered_qos_profiles: "- history: 1\n  depth: 10\n  reliability: 1\n  durability: 2\n  deadline:\n    sec: 9223372036\n    nsec: 854775807\n  lifespan:\n    sec: 9223372036\n    nsec: 854775807\n  liveliness: 1\n  liveliness_lease_duration:\n    sec: 9223372036\n    nsec: 854775807\n  avoid_ros_namespace_conventions: false\n- history: 1\n  depth: 10\n  reliability: 1\n  durability: 1\n  deadline:\n    sec: 9223372036\n    nsec: 854775807\n  lifespan:\n    sec: 9223372036\n    nsec: 854775807\n  liveliness: 1\n  liveliness_lease_duration:\n    sec: 9223372036\n    nsec: 854775807\n  avoid_ros_namespace_conventions: false"
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
	require.Len(t, entries, 2)
}

// TestKilled reads the folder of a writer that was not closed.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "drive")
	w, err := codec.Formats{Format}.Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	info, err := open(t, path).Info()
	require.NoError(t, err)
	require.False(t, info.Complete)
	require.Zero(t, info.MessageCount)

	messages := testMessages(15, testChannels()[0])
	for i := range messages {
		require.NoError(t, w.Write(&messages[i]))
	}
	r := open(t, path)
	info, err = r.Info()
	require.NoError(t, err)
	require.False(t, info.Complete)
	requireMessages(t, messages[:10], read(t, r, codec.Query{}))

	require.NoError(t, w.Sync())
	requireMessages(t, messages, read(t, open(t, path), codec.Query{}))
	require.NoFileExists(t, filepath.Join(path, metadataFile))
	require.NoError(t, w.Close())
}

// writeSplitBag makes a bag of several files: bag_0 to bag_11 with messages 0 to 9, 8 to 19 and so on, twelve each.
func writeSplitBag(t testing.TB) (string, []codec.Message) {
	dir := filepath.Join(t.TempDir(), "bag")
	require.NoError(t, os.Mkdir(dir, 0o777))
	all := testMessages(120, testChannels()[0])
	m := &metadata{Version: 9, Storage: "mcap", Messages: 144}
	var want []codec.Message
	for i := range 12 {
		name := fmt.Sprintf("bag_%d.mcap", i)
		m.Paths = append(m.Paths, name)
		w, err := mcap.Format.Create(filepath.Join(dir, name), codec.CreateOptions{})
		require.NoError(t, err)
		part := all[max(0, i*10-2) : i*10+10]
		for j := range part {
			require.NoError(t, w.Write(&part[j]))
		}
		want = append(want, part...)
		require.NoError(t, w.Close())
	}
	m.Messages = uint64(len(want))
	require.NoError(t, m.save(codec.OS{}, dir))
	slices.SortStableFunc(want, func(a, b codec.Message) int { return int(a.LogTime - b.LogTime) })
	return dir, want
}

func TestSeveralFiles(t *testing.T) {
	dir, want := writeSplitBag(t)
	r := open(t, dir)
	requireMessages(t, want, read(t, r, codec.Query{}))
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.Len(t, info.Topics, 1)
	require.Len(t, info.Files, 12)

	require.NoError(t, os.Remove(filepath.Join(dir, metadataFile)))
	r = open(t, dir)
	requireMessages(t, want, read(t, r, codec.Query{}))
	info, err = r.Info()
	require.NoError(t, err)
	require.False(t, info.Complete)
	require.Equal(t, "unfinished", info.Events[0].Kind)
	require.Equal(t, filepath.Join(dir, "bag_10.mcap"), info.Files[10].Path)

	// A file that is complete by itself was finished.
	for i := range 11 {
		require.NoError(t, os.Remove(filepath.Join(dir, fmt.Sprintf("bag_%d.mcap", i))))
	}
	info, err = open(t, dir).Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.Empty(t, info.Events)
	require.Equal(t, []string{"without metadata.yaml (there is none): every file of the folder was read"}, info.Notes)
	last := filepath.Join(dir, "bag_11.mcap")
	text, err := os.ReadFile(last)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(last, text[:len(text)-20], 0o666))
	info, err = open(t, dir).Info()
	require.NoError(t, err)
	require.False(t, info.Complete)
	require.Equal(t, codec.EventUnfinished, info.Events[0].Kind)
}

func TestMissingAndDamagedFiles(t *testing.T) {
	dir, want := writeSplitBag(t)
	require.NoError(t, os.Remove(filepath.Join(dir, "bag_3.mcap")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bag_11.mcap"), nil, 0o666))
	r := open(t, dir)
	require.Len(t, read(t, r, codec.Query{}), len(want)-2*12)
	info, err := r.Info()
	require.NoError(t, err)
	require.False(t, info.Complete)
	require.Equal(t, "bag_3.mcap is missing", info.Events[0].Text)
	require.Contains(t, info.Events[1].Text, "bag_11.mcap: not an MCAP file")
	require.Contains(t, info.Events[2].Text, "metadata.yaml counts 142 messages, the files hold 118")

	for i := range 12 {
		os.Remove(filepath.Join(dir, fmt.Sprintf("bag_%d.mcap", i)))
	}
	_, err = codec.Formats{Format}.Open(dir)
	require.EqualError(t, err, "read "+dir+": none of the bag's files is there")
}

func TestDamagedMetadata(t *testing.T) {
	dir, want := writeSplitBag(t)
	text, err := os.ReadFile(filepath.Join(dir, metadataFile))
	require.NoError(t, err)
	for _, broken := range [][]byte{nil, text[:10], text[:60], []byte("rosbag2_bagfile_information: 7"),
		[]byte("\x00\x01"), []byte("rosbag2_bagfile_information: {version: 9}")} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, metadataFile), broken, 0o666))
		r := open(t, dir)
		requireMessages(t, want, read(t, r, codec.Query{}))
		info, err := r.Info()
		require.NoError(t, err)
		require.False(t, info.Complete)
		require.Equal(t, "damage", info.Events[0].Kind)
	}
}

func pack(t testing.TB, data []byte) []byte {
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return encoder.EncodeAll(data, nil)
}

func TestCompressedFiles(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere"))
	dir, want := writeSplitBag(t)
	var last []byte
	for i := range 12 {
		path := filepath.Join(dir, fmt.Sprintf("bag_%d.mcap", i))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.Remove(path))
		last = pack(t, data)
		require.NoError(t, os.WriteFile(path+".zstd", last, 0o666))
	}
	text, err := os.ReadFile(filepath.Join(dir, metadataFile))
	require.NoError(t, err)
	// rosbag2 lists the compressed files in relative_file_paths, and writes the mode in capitals.
	text = bytes.ReplaceAll(text, []byte(".mcap\n"), []byte(".mcap.zstd\n"))
	text = bytes.Replace(text, []byte(`compression_format: ""`), []byte("compression_format: zstd"), 1)
	text = bytes.Replace(text, []byte(`compression_mode: ""`), []byte("compression_mode: FILE"), 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, metadataFile), text, 0o666))
	r := open(t, dir)
	requireMessages(t, want, read(t, r, codec.Query{}))
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.Equal(t, "FILE", info.Extra.(Extra).CompressionMode)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "bag_11.mcap.zstd"), last[:len(last)-20], 0o666))
	r = open(t, dir)
	info, err = r.Info()
	require.NoError(t, err)
	require.False(t, info.Complete)
	require.Contains(t, info.Events[0].Text, "decompress "+filepath.Join(dir, "bag_11.mcap.zstd"))
	require.GreaterOrEqual(t, len(read(t, r, codec.Query{})), len(want)-12)
}

func TestCompressedMessages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bag")
	want := testMessages(20, testChannels()[0])
	packed := slices.Clone(want)
	for i := range packed {
		packed[i].Data = pack(t, want[i].Data)
	}
	packed[7].Data = []byte("not compressed")
	w, err := Options{}.Create(dir, codec.CreateOptions{})
	require.NoError(t, err)
	for i := range packed {
		require.NoError(t, w.Write(&packed[i]))
	}
	require.NoError(t, w.Close())
	text, err := os.ReadFile(filepath.Join(dir, metadataFile))
	require.NoError(t, err)
	m, err := parseMetadata(text)
	require.NoError(t, err)
	m.Mode, m.Compression = "MESSAGE", "zstd"
	require.NoError(t, m.save(codec.OS{}, dir))
	r := open(t, dir)
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	for range 7 {
		_, err = it.Next()
		require.NoError(t, err)
	}
	_, err = it.Next()
	require.ErrorContains(t, err, "message on /chatter at 1700000000700000000 ns: decompress: ")
	require.NoError(t, it.Close())
	reports := 0
	got := read(t, r, codec.Query{Damaged: func(error) { reports++ }})
	require.Equal(t, 1, reports)
	requireMessages(t, slices.Delete(slices.Clone(want), 7, 8), got)

	m.Compression = "brotli"
	require.NoError(t, m.save(codec.OS{}, dir))
	_, err = codec.Formats{Format}.Open(dir)
	require.ErrorContains(t, err, `compressed with "brotli"; only zstd is supported`)

	// An unusable metadata.yaml is ignored: messages are decompressed if they look compressed.
	require.NoError(t, os.WriteFile(filepath.Join(dir, metadataFile),
		[]byte("rosbag2_bagfile_information: {version: 9, ros_distro: jazzy}"), 0o666))
	r = open(t, dir)
	want[7].Data = packed[7].Data
	requireMessages(t, want, read(t, r, codec.Query{}))
	info, err := r.Info()
	require.NoError(t, err)
	require.Empty(t, info.Metadata)
}

func TestParseEmbedded(t *testing.T) {
	for _, text := range []string{"", "7", "version: 9", "version: [", "storage_identifier: mcap"} {
		m, err := parseEmbedded([]byte(text))
		require.Error(t, err, text)
		require.Nil(t, m, text)
	}
}

func TestOverwrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bag")
	writeBag(t, dir, codec.CreateOptions{}, 5)
	_, err := codec.Formats{Format}.Create(dir, codec.CreateOptions{})
	require.ErrorIs(t, err, os.ErrExist)
	writeBag(t, dir, codec.CreateOptions{Overwrite: true}, 7)
	require.Len(t, read(t, open(t, dir), codec.Query{}), 7)

	note := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(note, nil, 0o666))
	_, err = codec.Formats{Format}.Create(dir, codec.CreateOptions{Overwrite: true})
	require.EqualError(t, err, "overwrite "+dir+": the folder holds notes.txt, which is not part of a bag; remove it "+
		"or name another output")
	require.FileExists(t, note)
	require.Len(t, read(t, open(t, dir), codec.Query{}), 7)
}

func TestCreateRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bag")
	_, err := codec.Formats{Format}.Create(dir, codec.CreateOptions{Compression: "bz2"})
	require.ErrorContains(t, err, `MCAP has no compression "bz2"`)
	require.NoDirExists(t, dir)
	_, err = codec.Formats{Format}.Create(filepath.Join(dir, "deeper"), codec.CreateOptions{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestNamed(t *testing.T) {
	for path, want := range map[string]bool{"drive": true, "out.d/": true, "a/drive": true, "a.mcap": false,
		"drive.record.00000": false} {
		require.Equal(t, want, named(path), path)
	}
}

func TestEmptyFolderIsNone(t *testing.T) {
	_, err := codec.Formats{Format}.Open(t.TempDir())
	require.ErrorIs(t, err, codec.ErrUnknownFormat)
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

func TestCreateLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bag")
	for _, o := range []codec.CreateOptions{{Compression: "bz2"}, {ChunkSize: -1}} {
		_, err := Options{}.Create(dir, o)
		require.Error(t, err)
		require.NoDirExists(t, dir)
	}
}

// A recorder may be killed before it lists the last file, when the file is uncompressed, compressed, or both.
func TestKilledWhileCompressing(t *testing.T) {
	channel := &codec.Channel{Topic: "/a", Type: "std_msgs/msg/UInt8", Encoding: codec.EncodingCDR}
	for _, storage := range []string{"mcap", "sqlite3"} {
		dir := filepath.Join(t.TempDir(), "bag")
		w, err := Options{CompressionMode: "file", Storage: storage}.Create(dir, codec.CreateOptions{})
		require.NoError(t, err)
		name := filepath.Join(dir, metadataFile)
		var listed []byte
		for i := range int64(3) {
			if i == 2 {
				require.NoError(t, w.Sync()) // all files before the present one are complete
				listed, err = os.ReadFile(name)
				require.NoError(t, err)
			}
			require.NoError(t, w.Write(&codec.Message{Channel: channel, LogTime: i + 1, Data: []byte{0, 1, 0, 0, 1}}))
			if i < 2 {
				require.NoError(t, w.Split())
			}
		}
		last := w.File()
		require.NoError(t, w.Close())
		require.NoError(t, os.WriteFile(name, listed, 0o666))
		count := func() uint64 {
			info, err := open(t, dir).Info()
			require.NoError(t, err)
			require.False(t, info.Complete)
			return info.MessageCount
		}
		require.EqualValues(t, 3, count(), "compressed")
		p, err := unpack(nil, last, maxPacked)
		require.NoError(t, err)
		data := make([]byte, p.size)
		_, err = p.ReadAt(data, 0)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(unpackedName(last), data, 0o666))
		require.EqualValues(t, 3, count(), "both")
		require.NoError(t, os.Remove(last))
		require.EqualValues(t, 3, count(), "not compressed")
	}
}
