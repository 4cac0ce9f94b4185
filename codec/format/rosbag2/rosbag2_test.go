package rosbag2

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

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

// TestBagsOfReleases reads bags of several releases and compares them with their metadata.yaml.
func TestBagsOfReleases(t *testing.T) {
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

func TestBagOf94Types(t *testing.T) {
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
	require.NoError(t, w.Close(), "a second Close does nothing")
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

// TestUnclosedBag tests that a bag whose writer was killed can be read: it has the completed chunks (10 of 15
// messages), and all messages after a Sync.
func TestUnclosedBag(t *testing.T) {
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

// writeSplitBag writes a bag of 12 files. File i holds messages 10i-2 to 10i+9, so that files overlap by two messages;
// bag_0 begins with message 0. It returns the folder and all 142 messages by time.
func writeSplitBag(t testing.TB) (string, []codec.Message) {
	dir := filepath.Join(t.TempDir(), "bag")
	require.NoError(t, os.Mkdir(dir, 0o777))
	all := testMessages(120, testChannels()[0])
	m := &metadata{Version: 9, Storage: "mcap"}
	var want []codec.Message
	for i := range 12 {
		name := fmt.Sprintf("bag_%d.mcap", i)
		m.Paths = append(m.Paths, name)
		w, err := mcap.Format.Create(filepath.Join(dir, name), codec.CreateOptions{})
		require.NoError(t, err)
		inFile := all[max(0, i*10-2) : i*10+10]
		for j := range inFile {
			require.NoError(t, w.Write(&inFile[j]))
		}
		want = append(want, inFile...)
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
	require.Equal(t, codec.EventUnfinished, info.Events[0].Kind)
	require.Equal(t, filepath.Join(dir, "bag_10.mcap"), info.Files[10].Path)

	// Without metadata.yaml, a bag of one file is complete if the file has its footer.
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

// A Create that fails leaves no folder.
func TestCreateRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bag")
	_, err := codec.Formats{Format}.Create(dir, codec.CreateOptions{Compression: "bz2"})
	require.ErrorContains(t, err, `MCAP has no compression "bz2"`)
	require.NoDirExists(t, dir)
	for _, o := range []codec.CreateOptions{{Compression: "bz2"}, {ChunkSize: -1}} { // without the format's own check
		_, err = Options{}.Create(dir, o)
		require.Error(t, err, o)
		require.NoDirExists(t, dir)
	}
	_, err = codec.Formats{Format}.Create(filepath.Join(dir, "deeper"), codec.CreateOptions{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestNamedIsAFolderPath(t *testing.T) {
	for path, want := range map[string]bool{"drive": true, "out.d/": true, "a/drive": true, "a.mcap": false,
		"drive.record.00000": false} {
		require.Equal(t, want, isFolderPath(path), path)
	}
}

func TestEmptyFolderIsNoBag(t *testing.T) {
	_, err := codec.Formats{Format}.Open(t.TempDir())
	require.ErrorIs(t, err, codec.ErrUnknownFormat)
}
