package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/recordings/all"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/carla"
	"tapedeck/codec/format/hdf5/hdf5test"
	"tapedeck/config"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/internal/formats"
	"tapedeck/test/samples"
	"tapedeck/test/samples/generate"
)

// second is the unit of the times in these tests.
const second = int64(time.Second)

// channel returns a channel of ROS 2 messages.
func channel(t *testing.T, topic, typeName string) *codec.Channel {
	text, err := msgs.Library().Concatenated(typeName)
	require.NoError(t, err)
	return &codec.Channel{
		Topic: topic, Type: typeName, Encoding: codec.EncodingCDR, QoS: []codec.QoS{codec.DefaultQoS()},
		Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)},
	}
}

// write writes a recording and returns its path.
func write(t *testing.T, name string, messages ...codec.Message) string {
	return writeWith(t, name, codec.CreateOptions{}, messages...)
}

func writeWith(t *testing.T, name string, o codec.CreateOptions, messages ...codec.Message) string {
	path := filepath.Join(t.TempDir(), name)
	w, err := all.Formats().Create(path, o)
	require.NoError(t, err)
	for i := range messages {
		require.NoError(t, w.Write(&messages[i]))
	}
	require.NoError(t, w.Close())
	return path
}

// payload returns a message of ROS 2 as CDR.
func payload(t *testing.T, m msgs.Message) []byte {
	data, err := cdr.Marshal(m)
	require.NoError(t, err)
	return data
}

// numbers returns n messages of a channel, a second apart from 1000 s on.
func numbers(t *testing.T, c *codec.Channel, n int) (all []codec.Message) {
	for i := range n {
		all = append(all, codec.Message{
			Channel: c, LogTime: (1000 + int64(i)) * second, PublishTime: (1000+int64(i))*second - 1e6,
			Data: payload(t, &std_msgs.UInt32{Data: uint32(i)}),
		})
	}
	return all
}

// run converts inputs to output.
func run(t *testing.T, o Options, output string, inputs ...string) (*Result, error) {
	job := Job{Formats: formats.All(), Inputs: inputs, Output: output, Options: o}
	return job.Run(t.Context())
}

// readAll returns the messages of a recording.
func readAll(t *testing.T, path string) (all []codec.Message, info *codec.Info) {
	r, err := formats.All().OpenFile(nil, path)
	require.NoError(t, err)
	defer r.Close()
	info, err = r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	defer it.Close()
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return all, info
		}
		require.NoError(t, err)
		copied := *m
		copied.Data = bytes.Clone(m.Data)
		all = append(all, copied)
	}
}

// A conversion reports unreadable QoS once, and the output does not have it.
func TestUnreadQoS(t *testing.T) {
	odd := *channel(t, "/odd", "std_msgs/msg/UInt32")
	odd.QoS, odd.Metadata = nil, map[string]string{codec.UnreadQoS: "- history: odd", "key": "value"}
	messages := slices.Concat(numbers(t, &odd, 2), numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 2))
	in := []string{write(t, "a.mcap", messages...), write(t, "b.record", messages...)}
	for _, name := range []string{"out.mcap", "out.record", "out"} {
		for _, path := range in {
			out := filepath.Join(t.TempDir(), name)
			var warned, damaged []string
			j := Job{Formats: formats.All(), Inputs: []string{path}, Output: out, Options: DefaultOptions(),
				Warn: func(text string) { warned = append(warned, text) }}
			_, err := j.Run(t.Context())
			require.NoError(t, err)
			const text = "the QoS of topic /odd cannot be read, and is the default unless the recording has it " +
				`elsewhere: parse QoS profile 1: history: "odd" is not one of `
			require.Len(t, warned, 2)
			require.Contains(t, strings.Join(warned, "\n"), path+": "+text)
			got, info := readAll(t, out)
			require.Len(t, got, 4)
			for _, topic := range info.Topics {
				require.Equal(t, topic.Channel.Topic != "/odd", len(topic.Channel.QoS) > 0)
				require.Empty(t, topic.Channel.Metadata[codec.UnreadQoS])
			}
			j.Damaged = func(err error) { damaged = append(damaged, err.Error()) }
			j.Options.Overwrite = true
			_, err = j.Run(t.Context())
			require.NoError(t, err)
			require.Len(t, damaged, 1)
			require.Contains(t, damaged[0], text)
			j.Options.Topics, damaged = []string{"/n"}, nil
			_, err = j.Run(t.Context())
			require.NoError(t, err)
			require.Empty(t, damaged)
		}
	}
}

// texts returns losses as lines.
func texts(losses []Loss) string {
	var b strings.Builder
	for _, l := range losses {
		fmt.Fprintln(&b, l)
	}
	return b.String()
}

func TestEncodings(t *testing.T) {
	words := channel(t, "/ros2", "std_msgs/msg/String")
	ros1 := &codec.Channel{
		Topic: "/ros1", Type: "std_msgs/String", Encoding: codec.EncodingROS1,
		Schema: codec.Schema{Encoding: codec.SchemaROS1Msg, Data: []byte("string data\n")},
	}
	json := &codec.Channel{Topic: "/json", Type: "words", Encoding: "json"}
	in := write(t, "in.mcap",
		codec.Message{Channel: words, LogTime: second, Data: payload(t, &std_msgs.String{Data: "two"})},
		codec.Message{Channel: ros1, LogTime: 2 * second, Data: []byte("\x03\x00\x00\x00one")},
		codec.Message{Channel: json, LogTime: 3 * second, Data: []byte(`{"data":"three"}`)})
	const left = "topics that cannot be translated"
	for name, c := range map[string]struct {
		output, to, encoding, unmatched string
		want                            []string
		lost, fails                     string
	}{
		"mcap":         {output: "out.mcap", want: []string{"/ros2 cdr", "/ros1 ros1", "/json json"}},
		"mcap as cdr":  {output: "out.mcap", encoding: "cdr", want: []string{"/ros2 cdr", "/ros1 cdr"}, lost: left},
		"mcap as ros1": {output: "out.mcap", encoding: "ros1", want: []string{"/ros2 ros1", "/ros1 ros1"}, lost: left},
		"protobuf": {output: "out.mcap", encoding: "protobuf", want: []string{"/ros2 protobuf", "/ros1 protobuf"},
			lost: left},
		"raw": {output: "out.mcap", encoding: "cdr", unmatched: "raw",
			want: []string{"/ros2 cdr", "/ros1 cdr", "/json json"}},
		"rosbag2":       {output: "out", want: []string{"/ros2 cdr", "/ros1 cdr"}, lost: left},
		"rosbag2, raw":  {output: "out", unmatched: "raw", want: []string{"/ros2 cdr", "/ros1 cdr", "/json json"}},
		"rosbag2, kept": {output: "out", encoding: "keep", want: []string{"/ros2 cdr", "/ros1 ros1", "/json json"}},
		"record":        {output: "out.record", want: []string{"/ros2 cdr", "/ros1 cdr"}, lost: left},
		"record, kept": {output: "out.record", encoding: "keep",
			want: []string{"/ros2 cdr", "/ros1 ros1", "/json json"}},
		"bag": {output: "out.bag", want: []string{"/ros2 ros1", "/ros1 ros1"}, lost: left},
		"bag, kept": {output: "out.bag", encoding: "keep", want: []string{"/ros1 ros1"},
			lost: "their encoding is cdr, which bag cannot hold"},
		"bag, raw": {output: "out.bag", unmatched: "raw", want: []string{"/ros2 ros1", "/ros1 ros1"}, lost: left},
		"nothing matches": {output: "out.bag", unmatched: "fail",
			fails: "because of --unmatched fail: topics that cannot be translated"},
		"bag of cdr":     {output: "out.bag", encoding: "cdr", fails: "--encoding cdr: the format bag holds only ros1"},
		"log":            {output: "out.log", fails: "nothing could be stored in it"},
		"folder of bags": {output: "out", to: "bag", want: []string{"/ros2 ros1", "/ros1 ros1"}, lost: left},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			o.To = c.to
			if c.encoding != "" {
				o.Encoding = c.encoding
			}
			if c.unmatched != "" {
				o.Unmatched = c.unmatched
			}
			output := filepath.Join(t.TempDir(), c.output)
			result, err := run(t, o, output, in)
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				require.NoFileExists(t, output)
				return
			}
			require.NoError(t, err)
			messages, _ := readAll(t, output)
			var got []string
			for _, m := range messages {
				got = append(got, m.Channel.Topic+" "+m.Channel.Encoding)
			}
			require.Equal(t, c.want, got)
			require.EqualValues(t, len(got), result.Messages)
			require.Equal(t, c.lost != "", len(result.Losses) > 0, texts(result.Losses))
			require.Contains(t, texts(result.Losses), c.lost)

			// Translated messages have equal values.
			back := filepath.Join(t.TempDir(), "back.mcap")
			_, err = run(t, Options{Encoding: "cdr", Unmatched: "skip"}, back, output)
			require.NoError(t, err)
			messages, _ = readAll(t, back)
			for _, m := range messages {
				var word std_msgs.String
				require.NoError(t, cdr.Unmarshal(m.Data, &word))
				require.Equal(t, map[string]string{"/ros2": "two", "/ros1": "one"}[m.Channel.Topic], word.Data)
			}
		})
	}
}

// Messages that have the requested encoding already are not changed.
func TestPayloadsAreCopied(t *testing.T) {
	for _, c := range []struct {
		in    string
		steps []string
	}{
		{"carla/sr2020_DistanceToLaneCenter.log", []string{"a.log", "b.mcap", "c.record", "d.log"}},
		{"bag/cruise_example-lz4.bag", []string{"a.bag", "b.mcap", "c.bag"}},
		{"apollo/apollo_cpp_sensors.record", []string{"a.mcap", "b.record"}},
	} {
		t.Run(c.in, func(t *testing.T) {
			in := generate.Path(t, c.in)
			want, _ := readAll(t, in)
			folder, from := t.TempDir(), in
			for _, step := range c.steps {
				to := filepath.Join(folder, step)
				o := DefaultOptions()
				if strings.HasSuffix(in, ".log") || strings.HasSuffix(step, ".record") {
					o.Encoding = "keep"
				}
				_, err := run(t, o, to, from)
				require.NoError(t, err)
				got, _ := readAll(t, to)
				require.Len(t, got, len(want))
				for i := range want {
					if want[i].LogTime != got[i].LogTime || !bytes.Equal(want[i].Data, got[i].Data) ||
						want[i].Channel.Topic != got[i].Channel.Topic {
						require.Equal(t, want[i], got[i], "message %d", i)
					}
				}
				if filepath.Ext(step) == ".log" {
					original, err := os.ReadFile(in)
					require.NoError(t, err)
					copied, err := os.ReadFile(to)
					require.NoError(t, err)
					require.True(t, bytes.Equal(original, copied), step)
				}
				from = to
			}
		})
	}
}

// Recorded transforms of /tf are not confused with transforms made from poses.
func TestApolloTransformsSurviveJoinedChannels(t *testing.T) {
	in := generate.Path(t, "apollo/apollo_cpp_sensors.record")
	for _, step := range []string{"out.record", "out"} {
		between := filepath.Join(t.TempDir(), step)
		o := DefaultOptions()
		o.Encoding = "cdr"
		_, err := run(t, o, between, in)
		require.NoError(t, err)
		o.Encoding = "protobuf"
		back := filepath.Join(t.TempDir(), "back.record")
		_, err = run(t, o, back, between)
		require.NoError(t, err)
		messages, _ := readAll(t, back)
		transforms := 0
		for _, m := range messages {
			if m.Channel.Topic == "/tf" {
				transforms++
			}
		}
		require.GreaterOrEqual(t, transforms, 200, step)
	}
}

// Messages translated from Apollo's stay ROS 2 messages in a record. A warning says so, unless an option chose that.
func TestMessagesThatWereApollos(t *testing.T) {
	in := generate.Path(t, "apollo/apollo_cpp_sensors.record")
	bag := filepath.Join(t.TempDir(), "a.bag")
	_, err := run(t, DefaultOptions(), bag, in)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		input, output, encoding string
		says                    bool
	}{
		"from a bag":          {bag, "back.record", "auto", true},
		"Apollo's again":      {bag, "back.record", "protobuf", false},
		"ROS 2, as chosen":    {bag, "back.record", "cdr", false},
		"to a format without": {bag, "back.mcap", "auto", false},
		"Apollo's":            {in, "back.record", "auto", false},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			o.Encoding = c.encoding
			var warnings []string
			job := Job{Formats: formats.All(), Inputs: []string{c.input}, Options: o,
				Output: filepath.Join(t.TempDir(), c.output),
				Warn:   func(text string) { warnings = append(warnings, text) }}
			_, err := job.Run(t.Context())
			require.NoError(t, err)
			hints := slices.DeleteFunc(warnings, func(text string) bool {
				return !strings.Contains(text, "--encoding protobuf makes them Apollo's again")
			})
			require.Equal(t, c.says, len(hints) == 1, hints)
			if c.says {
				require.Contains(t, hints[0], " on /apollo/canbus/chassis, ")
			}
		})
	}
}

// A database has one definition of a type; with an old metadata.yaml it has none.
func TestDefinitionsInDatabases(t *testing.T) {
	one, same := channel(t, "/one", "std_msgs/msg/UInt32"), channel(t, "/same", "std_msgs/msg/UInt32")
	other := channel(t, "/other", "std_msgs/msg/UInt32")
	same.Schema.Data = append(same.Schema.Data, "\n# A comment makes no other type.\n"...)
	other.Schema.Data = []byte("int32 data\n")
	in := write(t, "in.mcap", slices.Concat(numbers(t, one, 1), numbers(t, same, 2), numbers(t, other, 3))...)
	const published = "publish times (6 messages on /one, /other, /same)\n"
	for version, lost := range map[int]string{
		0: published + "messages that rosbag2 does not accept: write PATH: a database holds one definition of " +
			"std_msgs/msg/UInt32, that of /one; the storage mcap holds all (3 messages on /other)\n",
		5: "definitions of types (/other)\n" + published,
	} {
		o := DefaultOptions()
		o.To, o.Storage, o.Version = "rosbag2", "sqlite3", version
		path := filepath.Join(t.TempDir(), "out")
		result, err := run(t, o, path, in)
		require.NoError(t, err)
		got := strings.ReplaceAll(texts(result.Losses), filepath.Join(path, "out_0.db3"), "PATH")
		require.Equal(t, lost, got)
	}
}

// A log of CARLA cannot be written again without the metadata of its channel.
func TestLogWithoutMetadataIsLost(t *testing.T) {
	in := samples.Path(t, "carla/sr2020_DistanceToLaneCenter.log")
	o := DefaultOptions()
	o.To, o.Encoding, o.Storage = "rosbag2", "keep", "sqlite3"
	result, err := run(t, o, filepath.Join(t.TempDir(), "out"), in)
	require.NoError(t, err)
	require.Equal(t, "metadata of topics (/carla/log)\n", texts(result.Losses))
	o.To, o.Storage = "record", ""
	result, err = run(t, o, filepath.Join(t.TempDir(), "out.record"), in)
	require.NoError(t, err)
	require.Empty(t, texts(result.Losses))
}

func TestChanges(t *testing.T) {
	stamped := channel(t, "/stamped", "std_msgs/msg/Header")
	stamped.Type = "std_msgs/msg/Header"
	n := channel(t, "/n", "std_msgs/msg/UInt32")
	in := write(t, "in.mcap", append(numbers(t, n, 10), codec.Message{
		Channel: stamped, LogTime: 1020 * second, PublishTime: 1019 * second,
		Data: payload(t, &std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: 500}}),
	})...)
	const minute = 60 * second
	for name, c := range map[string]struct {
		change    func(*Options)
		topics    string
		count     int
		first     int64 // LogTime of the first message
		last      int64 // LogTime of the stamped message
		published int64 // PublishTime of the stamped message
		stamp     int32 // stamp in the stamped message, s
	}{
		"none": {func(*Options) {}, "/n /stamped", 11, 1000 * second, 1020 * second, 1019 * second, 500},
		"remap": {func(o *Options) { o.Remap, o.AllowUnmatched = []string{"/n:=/m", "/q:=/r"}, true }, "/m /stamped",
			11,
			1000 * second, 1020 * second, 1019 * second, 500},
		"prefix": {func(o *Options) { o.Prefix = "/robot" }, "/robot/n /robot/stamped", 11, 1000 * second,
			1020 * second, 1019 * second, 500},
		"offset": {func(o *Options) { o.Offset = time.Minute }, "/n /stamped", 11, 1000*second + minute,
			1020*second + minute, 1019*second + minute, 500},
		"offset backwards": {func(o *Options) { o.Offset, o.Restamp = -time.Minute, true }, "/n /stamped", 11,
			940 * second, 960 * second, 959 * second, 440},
		"throttle": {func(o *Options) { o.Throttle = []string{"/n=1/5"} }, "/n /stamped", 3, 1000 * second,
			1020 * second, 1019 * second, 500},
		"sent": {func(o *Options) { o.Order = "sent" }, "/n /stamped", 11, 1000*second - 1e6, 1019 * second,
			1019 * second, 500},
		"header": {func(o *Options) { o.Order = "header" }, "/n /stamped", 11, 1000 * second, 500 * second,
			1019 * second, 500},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			c.change(&o)
			output := filepath.Join(t.TempDir(), "out.mcap")
			result, err := run(t, o, output, in)
			require.NoError(t, err)
			require.Empty(t, result.Losses)
			require.EqualValues(t, 11-c.count, result.Throttled.Messages)
			messages, info := readAll(t, output)
			require.Len(t, messages, c.count)
			var topics []string
			for _, topic := range info.Topics {
				topics = append(topics, topic.Channel.Topic)
			}
			slices.Sort(topics)
			require.Equal(t, c.topics, strings.Join(topics, " "))
			for _, m := range messages {
				if !strings.HasSuffix(m.Channel.Topic, "/stamped") {
					continue
				}
				var header std_msgs.Header
				require.NoError(t, cdr.Unmarshal(m.Data, &header))
				require.Equal(t, c.stamp, header.Stamp.Sec)
				require.Equal(t, c.last, m.LogTime)
				require.Equal(t, c.published, m.PublishTime)
			}
			first := slices.IndexFunc(messages, func(m codec.Message) bool {
				return !strings.HasSuffix(m.Channel.Topic,
					"/stamped")
			})
			require.Equal(t, c.first, messages[first].LogTime)
		})
	}
}

// With --message-order, messages are not written in the order of their log times.
func TestTimesOfAnotherOrder(t *testing.T) {
	messages := numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 3)
	for i := range messages {
		messages[i].PublishTime = int64(900-i) * second
	}
	o := DefaultOptions()
	o.Order = "sent"
	result, err := run(t, o, filepath.Join(t.TempDir(), "out.mcap"), write(t, "in.mcap", messages...))
	require.NoError(t, err)
	require.Equal(t, []int64{898 * second, 900 * second}, []int64{result.Start, result.End})
}

// Stamps are also moved on the way from one foreign encoding to another.
func TestRestampOfWhatIsTranslated(t *testing.T) {
	in := generate.Path(t, "apollo/apollo_cpp_sensors.record")
	o := DefaultOptions()
	o.Encoding = "cdr"
	plain, moved := filepath.Join(t.TempDir(), "plain.mcap"), filepath.Join(t.TempDir(), "moved.bag")
	_, err := run(t, o, plain, in)
	require.NoError(t, err)
	o = DefaultOptions()
	o.Offset, o.Restamp = time.Hour, true
	_, err = run(t, o, moved, in)
	require.NoError(t, err)
	back := filepath.Join(t.TempDir(), "back.mcap")
	o.Encoding, o.Offset, o.Restamp = "cdr", 0, false
	_, err = run(t, o, back, moved)
	require.NoError(t, err)
	want, _ := readAll(t, plain)
	got, _ := readAll(t, back)
	some := false
	for i, m := range slices.DeleteFunc(want,
		func(m codec.Message) bool { return m.Channel.Type != "sensor_msgs/msg/Imu" }) {
		others := slices.DeleteFunc(slices.Clone(got),
			func(m codec.Message) bool { return m.Channel.Type != "sensor_msgs/msg/Imu" })
		stamps := m.Channel.Stamps(msgs.Library())
		before, ok, err := stamps.First(m.Data)
		require.NoError(t, err)
		after, also, err := stamps.First(others[i].Data)
		require.NoError(t, err)
		require.True(t, ok && also)
		require.Equal(t, before+int64(time.Hour), after)
		require.Equal(t, m.LogTime+int64(time.Hour), others[i].LogTime)
		some = true
	}
	require.True(t, some)
}

// Splitting by duration makes one file for each duration, even if times in headers go back and forth.
func TestSplitsOutOfOrder(t *testing.T) {
	stamped := channel(t, "/stamped", "std_msgs/msg/Header")
	var all []codec.Message
	for i := range int64(100) {
		for _, late := range []int64{0, 500, 20} {
			all = append(all, codec.Message{Channel: stamped, LogTime: (1000 + i) * second, Data: payload(t,
				&std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: int32(1000 + i - late)}})})
		}
	}
	o := DefaultOptions()
	o.Order, o.MaxBagDuration = "header", 10*time.Second
	result, err := run(t, o, filepath.Join(t.TempDir(), "out.mcap"), write(t, "in.mcap", all...))
	require.NoError(t, err)
	require.EqualValues(t, 300, result.Messages)
	require.Len(t, result.Files, 10)
}

func TestSplits(t *testing.T) {
	in := write(t, "in.mcap", numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 100)...)
	for name, c := range map[string]struct {
		change func(*Options)
		output string
		want   []int // messages in each file
	}{
		"messages": {func(o *Options) { o.MaxBagMessages = 40 }, "out.mcap", []int{40, 40, 20}},
		"duration": {func(o *Options) { o.MaxBagDuration = 30 * time.Second }, "out.bag", []int{30, 30, 30, 10}},
		"size":     {func(o *Options) { o.MaxBagSize = 50 * (48 + 8 + 2) }, "out.record", []int{50, 50}},
		"whichever": {func(o *Options) { o.MaxBagMessages, o.MaxBagDuration = 80, 90*time.Second }, "out.mcap",
			[]int{80, 10, 10}},
		"no message": {func(o *Options) { o.MaxBagSize = 1; o.End = "2" }, "out.mcap", []int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			c.change(&o)
			folder := t.TempDir()
			result, err := run(t, o, filepath.Join(folder, c.output), in)
			require.NoError(t, err)
			var got []int
			next := int64(1000)
			for _, path := range result.Files {
				messages, _ := readAll(t, path)
				got = append(got, len(messages))
				for _, m := range messages {
					require.Equal(t, next*second, m.LogTime)
					next++
				}
			}
			require.Equal(t, c.want, got)
			entries, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Len(t, entries, len(c.want))
		})
	}
	o := DefaultOptions()
	o.MaxBagMessages = 30
	folder := filepath.Join(t.TempDir(), "bag")
	result, err := run(t, o, folder, in)
	require.NoError(t, err)
	require.Equal(t, []string{folder}, result.Files)
	messages, info := readAll(t, folder)
	require.Len(t, info.Files, 4)
	require.Len(t, messages, 100)
}

func TestLosses(t *testing.T) {
	best := codec.DefaultQoS()
	best.Reliability = codec.BestEffort
	n := channel(t, "/n", "std_msgs/msg/UInt32")
	n.QoS = []codec.QoS{best}
	plain := numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 3)
	for i := range plain {
		plain[i].PublishTime = 0
	}
	early := append([]codec.Message{{Channel: plain[0].Channel, Data: plain[0].Data}}, plain...)
	broken := append(slices.Clone(plain), codec.Message{Channel: plain[0].Channel, LogTime: 2000 * second,
		Data: []byte{0, 1, 0, 0, 7}})
	metadata := codec.CreateOptions{Metadata: map[string]string{"driver": "nobody"}}
	for name, c := range map[string]struct {
		in     string
		output string
		want   string
	}{
		"mcap":    {writeWith(t, "in.mcap", metadata, numbers(t, n, 3)...), "out.mcap", ""},
		"rosbag2": {writeWith(t, "in.mcap", metadata, numbers(t, n, 3)...), "out", ""},
		"record": {writeWith(t, "in.mcap", metadata, numbers(t, n, 3)...), "out.record",
			"metadata of the recording\n"},
		"bag": {write(t, "in.mcap", numbers(t, n, 3)...), "out.bag",
			"quality of service, except durability (/n)\npublish times (3 messages on /n)\n"},
		"too early":        {write(t, "in.mcap", early...), "out.bag", "messages that bag does not accept: write "},
		"broken":           {write(t, "in.mcap", broken...), "out.bag", "messages that cannot be translated: "},
		"broken, as it is": {write(t, "in.mcap", broken...), "out.mcap", ""},
	} {
		t.Run(name, func(t *testing.T) {
			output := filepath.Join(t.TempDir(), c.output)
			result, err := run(t, DefaultOptions(), output, c.in)
			require.NoError(t, err)
			if c.want == "" {
				require.Empty(t, result.Losses)
			}
			require.Contains(t, texts(result.Losses), c.want)
			messages, _ := readAll(t, output)
			require.GreaterOrEqual(t, len(messages), 3)

			o := DefaultOptions()
			o.Strict, o.Overwrite = true, true
			strict := output + ".strict" + filepath.Ext(output)
			o.To = map[string]string{"": "rosbag2"}[filepath.Ext(output)]
			_, err = run(t, o, strict, c.in)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "is not written because of --strict: it would lose "+
				strings.Split(strings.Split(c.want, "\n")[0], ": write")[0])
			entries, err := os.ReadDir(filepath.Dir(output))
			require.NoError(t, err)
			require.Len(t, entries, 1)
		})
	}
}

// TestEvents keeps the events of a recorder, with every encoding of messages.
func TestEvents(t *testing.T) {
	e := codec.Event{Kind: codec.EventDrop, Topic: "/n", Time: 1000 * second, Until: 1001 * second, Count: 12,
		Text: "the disk is slow"}
	m, err := codec.EventMessage(e)
	require.NoError(t, err)
	m.LogTime = e.Until
	in := write(t, "in.record", append(numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 2), *m)...)
	for _, name := range []string{"out.record", "out.mcap"} {
		o := DefaultOptions()
		o.Encoding = codec.EncodingProtobuf
		output := filepath.Join(t.TempDir(), name)
		result, err := run(t, o, output, in)
		require.NoError(t, err)
		require.Empty(t, result.Losses)
		messages, info := readAll(t, output)
		require.Len(t, messages, 3)
		require.Contains(t, info.Events, e)
		for _, topic := range info.Topics {
			require.Equal(t, topic.Channel.Topic == codec.EventTopic, topic.Channel.Encoding == codec.EncodingCDR)
		}
	}
}

// TestChannelMetadata converts a topic with a caller id, and a topic whose metadata follow from its type.
func TestChannelMetadata(t *testing.T) {
	called, plain := channel(t, "/called", "std_msgs/msg/UInt32"), channel(t, "/plain", "std_msgs/msg/UInt32")
	called.Metadata = map[string]string{"callerid": "/talker", "md5sum": "*"}
	plain.Metadata = map[string]string{"md5sum": "*", "latching": "true"}
	in := write(t, "in.mcap", append(numbers(t, called, 1), numbers(t, plain, 1)...)...)
	for storage, want := range map[string]string{"sqlite3": "metadata of topics (/called)\n", "mcap": ""} {
		o := DefaultOptions()
		o.To, o.Storage = "rosbag2", storage
		result, err := run(t, o, filepath.Join(t.TempDir(), "out"), in)
		require.NoError(t, err)
		lines := slices.DeleteFunc(result.Losses, func(l Loss) bool { return l.What == "publish times" })
		require.Equal(t, want, texts(lines))
	}
}

func TestStorages(t *testing.T) {
	in := write(t, "in.mcap", numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 5)...)
	for storage, want := range map[string]string{"mcap": "",
		"sqlite3": "publish times (5 messages on /n)\n"} {
		for _, mode := range []string{"", "file", "message"} {
			if mode == "message" && storage == "mcap" {
				continue // rosbag2 compresses chunks instead
			}
			o := DefaultOptions()
			o.Storage, o.CompressionMode, o.Version = storage, mode, 5
			if mode != "" {
				o.Compression = "zstd"
			}
			output := filepath.Join(t.TempDir(), "out")
			result, err := run(t, o, output, in)
			require.NoError(t, err)
			require.Equal(t, want, texts(result.Losses))
			messages, _ := readAll(t, output)
			require.Len(t, messages, 5)
		}
	}
	o := DefaultOptions()
	o.Storage = "sqlite3"
	_, err := run(t, o, filepath.Join(t.TempDir(), "out.bag"), in)
	require.ErrorContains(t, err, "format bag has no choice of storage")
}

func TestBefore1970(t *testing.T) {
	in := write(t, "in.mcap", numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 5)...)
	o := DefaultOptions()
	o.Offset = -1002 * time.Second
	output := filepath.Join(t.TempDir(), "out.mcap")
	result, err := run(t, o, output, in)
	require.NoError(t, err)
	require.Equal(t, "messages before 1970 (2 messages on /n)\n", texts(result.Losses))
	messages, _ := readAll(t, output)
	require.Len(t, messages, 3)
	o.Offset, o.Overwrite = -2000*time.Second, true
	_, err = run(t, o, output, in)
	require.ErrorContains(t, err, "all messages are before 1970")
}

func TestAfter2262(t *testing.T) {
	in := write(t, "in.mcap", numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 5)...)
	o := DefaultOptions()
	o.Offset = math.MaxInt64 - 1002*time.Second
	output := filepath.Join(t.TempDir(), "out.mcap")
	result, err := run(t, o, output, in)
	require.NoError(t, err)
	require.Equal(t, "messages beyond 2262 (3 messages on /n)\n", texts(result.Losses))
	messages, _ := readAll(t, output)
	require.Len(t, messages, 2)
	o.Offset, o.Overwrite = math.MaxInt64, true
	_, err = run(t, o, output, in)
	require.ErrorContains(t, err, "all messages are beyond 2262")
}

func TestNothingThatCanBeWritten(t *testing.T) {
	n := channel(t, "/n", "std_msgs/msg/UInt32")
	in := write(t, "in.mcap", codec.Message{Channel: n, Data: payload(t, &std_msgs.UInt32{})})
	output := filepath.Join(t.TempDir(), "out.bag")
	_, err := run(t, DefaultOptions(), output, in)
	require.ErrorContains(t, err, "has the time 0 ns; times in a bag are from 1 to ")
	require.NoFileExists(t, output)
}

// A log is converted to ROS 2 messages, and these to a log.
func TestLogOfMessages(t *testing.T) {
	in := generate.Path(t, "carla/sr2020_DistanceToLaneCenter.log")
	folder := t.TempDir()
	bag, back := filepath.Join(folder, "bag"), filepath.Join(folder, "back.log")
	_, err := run(t, DefaultOptions(), bag, in)
	require.NoError(t, err)
	want, _ := readAll(t, in)
	other := numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 1)
	other[0].LogTime = want[0].LogTime
	result, err := run(t, DefaultOptions(), back, bag, write(t, "other.mcap", other...))
	require.NoError(t, err)
	require.Contains(t, texts(result.Losses), "topics without a counterpart in the format (")
	got, info := readAll(t, back)
	require.Equal(t, "carla", info.Format)
	require.Len(t, got, len(want))
	require.EqualValues(t, len(got), result.Messages, "its frames")
	require.Equal(t, 1, result.Topics)
	require.NotContains(t, texts(result.Losses), "metadata")
}

// Each file of a log composed of ROS 2 messages begins with the present actors. A clip does, too.
func TestFilesOfLogOfMessages(t *testing.T) {
	folder := t.TempDir()
	bag, whole := filepath.Join(folder, "bag"), filepath.Join(folder, "whole.log")
	_, err := run(t, DefaultOptions(), bag, generate.Path(t, "carla/sr2020_DistanceToLaneCenter.log"))
	require.NoError(t, err)
	_, err = run(t, DefaultOptions(), whole, bag)
	require.NoError(t, err)
	var state *carla.State
	after := func(m *codec.Message) (ids []uint32) {
		if state == nil {
			_, profile, err := carla.ParseChannel(m.Channel)
			require.NoError(t, err)
			state = carla.NewState(profile)
		}
		_, err = state.Apply(m.Data)
		require.NoError(t, err)
		for _, a := range state.Sorted() {
			ids = append(ids, a.Actor)
		}
		slices.Sort(ids)
		return ids
	}
	want := map[int64][]uint32{} // actors by time
	frames, _ := readAll(t, whole)
	for i := range frames {
		want[frames[i].LogTime] = after(&frames[i])
	}
	require.NotEmpty(t, want[frames[0].LogTime])
	o := DefaultOptions()
	o.MaxBagMessages = 1000
	split, err := run(t, o, filepath.Join(folder, "split.log"), bag)
	require.NoError(t, err)
	require.Greater(t, len(split.Files), 1)
	o = DefaultOptions()
	o.Begin = "3"
	clip, err := run(t, o, filepath.Join(folder, "clip.log"), bag)
	require.NoError(t, err)
	for _, path := range append(split.Files, clip.Files...) {
		frames, _ := readAll(t, path)
		state = nil
		first := after(&frames[0])
		for time, ids := range want { // the dates of logs have whole seconds
			if time <= frames[0].LogTime+1e9 && time >= frames[0].LogTime-1e9 {
				require.Equal(t, ids, first, path)
			}
		}
	}
}

// Logs of different recordings cannot be one log, but files of one recording can.
func TestSeveralLogs(t *testing.T) {
	a, b := generate.Path(t, "carla/sr2020_DistanceToLaneCenter.log"), generate.Path(t, generate.CARLALog)
	folder := t.TempDir()
	_, err := run(t, DefaultOptions(), filepath.Join(folder, "ab.log"), a, b)
	require.ErrorContains(t, err, "write a log for each")
	require.NotContains(t, err.Error(), ".part")
	require.NoFileExists(t, filepath.Join(folder, "ab.log"))
	o := DefaultOptions()
	o.Encoding = "keep"
	result, err := run(t, o, filepath.Join(folder, "ab.mcap"), a, b)
	require.NoError(t, err)
	require.Equal(t, 1, result.Topics) // both have one name
	o = DefaultOptions()
	o.MaxBagMessages = 300
	split, err := run(t, o, filepath.Join(folder, "split.log"), a)
	require.NoError(t, err)
	require.Len(t, split.Files, 2)
	joined := filepath.Join(folder, "joined.log")
	_, err = run(t, DefaultOptions(), joined, split.Files...)
	require.NoError(t, err)
	want, _ := readAll(t, a)
	got, _ := readAll(t, joined)
	require.Len(t, got, len(want))
	for i := range got {
		require.Equal(t, want[i].LogTime, got[i].LogTime)
	}
}

// A log is written in the profile of the option, or else in its recorded profile.
func TestProfileOfLog(t *testing.T) {
	in := samples.Path(t, "carla/sr2020_DistanceToLaneCenter.log")
	folder := t.TempDir()
	profile := func(path string) string {
		_, info := readAll(t, path)
		return info.Extra.(carla.Details).Profile
	}
	to := func(name, from, profile string) (string, *Result) {
		o, path := DefaultOptions(), filepath.Join(folder, name)
		o.CARLAProfile = profile
		result, err := run(t, o, path, from)
		require.NoError(t, err)
		return path, result
	}
	same, _ := to("same.log", in, "ue4-0.9.11")
	want, err := os.ReadFile(in)
	require.NoError(t, err)
	got, err := os.ReadFile(same)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))
	wide, result := to("wide.log", in, "ue5")
	require.Equal(t, "ue5", profile(wide))
	require.EqualValues(t, 461, result.Messages)
	require.Equal(t, "physics of vehicles, which differ in profile ue5 (1 message on /carla/log)\n",
		texts(result.Losses))
	bag, _ := to("bag.mcap", wide, "")
	again, _ := to("again.log", bag, "")
	require.Equal(t, "ue5", profile(again))
	newest, _ := to("newest.log", bag, "ue4-0.9.16")
	require.Equal(t, "ue4-0.9.16", profile(newest))
}

// A topic of several channels is named once.
func TestWarningAboutStamps(t *testing.T) {
	var messages []codec.Message
	for _, text := range []string{"int32 a\n", "int32 b\n"} {
		messages = append(messages, codec.Message{LogTime: second, Data: make([]byte, 4), Channel: &codec.Channel{
			Topic: "/a", Type: "x/A", Encoding: codec.EncodingROS1,
			Schema: codec.Schema{Encoding: codec.SchemaROS1Msg, Data: []byte(text)}}})
	}
	o := DefaultOptions()
	o.Order = "header"
	var warnings []string
	job := Job{Formats: formats.All(), Inputs: []string{write(t, "in.mcap", messages...)},
		Output: filepath.Join(t.TempDir(), "out.mcap"), Options: o,
		Warn: func(text string) { warnings = append(warnings, text) }}
	_, err := job.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"stamps can be found only in ROS 2 messages, not in those of /a"}, warnings)
}

func TestUsage(t *testing.T) {
	in := write(t, "in.mcap", numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 1)...)
	for want, change := range map[string]func(*Options){
		"--remap":                           func(o *Options) { o.Remap = []string{"nonsense"} },
		"--prefix robot: want /PREFIX":      func(o *Options) { o.Prefix = "robot" },
		"--restamp says that --offset":      func(o *Options) { o.Restamp = true },
		"--throttle: \"/n\" is not allowed": func(o *Options) { o.Throttle = []string{"/n"} },
		"--begin \"noon\" is no time":       func(o *Options) { o.Begin = "noon" },
		"is not a format":                   func(o *Options) { o.To = "tape" },
		"--task does not apply to mcap":     func(o *Options) { o.Task = "pick" },
		"--timeline does not apply to mcap": func(o *Options) { o.Timeline = "union" },
		"--link-file does not apply":        func(o *Options) { o.LinkFile = "all.hdf5" },
		"--images does not apply to mcap":   func(o *Options) { o.Images = "padded" },
		"--video does not apply to mcap":    func(o *Options) { o.Video = true },
		"--video-codec does not apply":      func(o *Options) { o.VideoCodec = "libx264" },
		"--table-bytes does not apply":      func(o *Options) { o.Bytes = true },
		"--track-origin does not apply":     func(o *Options) { o.Origin = "10N" },
		"--carla-profile does not apply":    func(o *Options) { o.CARLAProfile = "ue5" },
	} {
		o := DefaultOptions()
		change(&o)
		output := filepath.Join(t.TempDir(), "out.mcap")
		_, err := run(t, o, output, in)
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, err, config.ErrUsage)
		require.NoFileExists(t, output)
	}
}

// Options that a format does not take are wrong usage. They are found before an input is opened.
func TestUsageOfFormats(t *testing.T) {
	compression := func(name string) func(*Options) {
		return func(o *Options) { o.Compression = name }
	}
	mode := func(name string) func(*Options) {
		return func(o *Options) { o.CompressionMode = name }
	}
	to := func(format string, change func(*Options)) func(*Options) {
		return func(o *Options) {
			o.To = format
			change(o)
		}
	}
	origin := func(o *Options) { o.Origin = "91,0" }
	split := func(o *Options) { o.MaxBagMessages = 1 }
	for _, test := range []struct {
		output string
		change func(*Options)
		want   string
	}{
		{"out.mcap", compression("bz2"), `MCAP has no compression "bz2"; it has none, lz4 and zstd`},
		{"out.bag", compression("zstd"), `a bag has no compression "zstd"; it has none, lz4 and bz2`},
		{"out.record", compression("lz4"), `format record has no compression "lz4"; lz4 is for --to `},
		{"out.log", compression("lz4"), `format carla has no compression "lz4"`},
		{"out.parquet", compression("bz2"), `parquet has no compression "bz2", only `},
		{"out.mp4", compression("zstd"), `format mp4 has no compression "zstd"`},
		{"out.kml", compression("zstd"), `format kml has no compression "zstd"`},
		{"out", to("images", compression("lz4")), `format images has no compression "lz4"`},
		{"out", to("ply", compression("lz4")), `format ply has no compression "lz4"`},
		{"out", compression("bz2"), `MCAP has no compression "bz2"; it has none, lz4 and zstd`},
		{"out", mode("files"), `compression mode "files" is not one of none, file and message`},
		{"out", mode("message"), "rosbag2 does not compress messages in MCAP files"},
		{"out.mcap", mode("file"), `format mcap has no compression mode "file"; use --to rosbag2`},
		{"out", func(o *Options) { o.Version = 3 }, "version 3 of metadata.yaml is not one of 4 to 9"},
		{"out.bag", func(o *Options) { o.Version = 3 }, "format bag has no choice of version, and so none of 3"},
		{"out", func(o *Options) { o.Storage = "tape" }, `storage "tape" is not one of mcap and sqlite3`},
		{"out.gpx", origin, `invalid track origin "91,0"`},
		{"out.tum", func(o *Options) { o.Origin = "10N" }, "track origin 10N: a track in metres needs "},
		{"out.mp4", func(o *Options) { o.VideoCodec = "x" }, `codec "x": want libx264 or libsvtav1`},
		{"out.hdf5", func(o *Options) { o.CameraLinks = []string{"x"} }, `--camera-links "x": want LINK=CAMERA`},
		{"out", func(o *Options) { o.To, o.CameraNames = "lerobot", []string{"x"} }, "want CAMERA=NAME"},
		{"out", func(o *Options) { o.To, o.VideoCodec = "lerobot", "x" }, `codec "x": want libsvtav1 or libx264`},
		{"out.csv", split, "--max-bag-messages does not apply to csv, which cannot be split"},
		{"out.gpx", split, "--max-bag-messages does not apply to gpx, which cannot be split"},
		{"out", to("pcd", split), "--max-bag-messages does not apply to pcd, which cannot be split"},
		{"out", to("images", func(o *Options) { o.MaxBagDuration = 1 }), "--max-bag-duration does not apply to images"},
		{"out.mp4", func(o *Options) { o.MaxBagSize = 1 << 20 }, "--max-bag-size does not apply to mp4"},
		{"out.mcap", func(o *Options) { o.Begin = "noon" }, `--begin "noon" is no time`},
		{"out.hdf5", func(o *Options) { o.End = "noon" }, `--end "noon" is no time`},
		{"out.kml", func(o *Options) { o.Frames = []string{"a", "a=b"} }, "the frames of tracks name a twice"},
	} {
		o := DefaultOptions()
		test.change(&o)
		_, err := run(t, o, filepath.Join(t.TempDir(), test.output), "missing")
		require.ErrorIs(t, err, config.ErrUsage, test.want)
		require.ErrorContains(t, err, test.want)
	}
}

func TestFullDisk(t *testing.T) {
	for _, output := range []string{"out.mcap", "out.bag", "out.record", "out"} {
		t.Run(output, func(t *testing.T) {
			disk := t.TempDir()
			if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
				t.Skip("a small tmpfs cannot be mounted here, only root may: ", err)
			}
			t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
			n := channel(t, "/n", "std_msgs/msg/UInt8MultiArray")
			var all []codec.Message
			for i := range int64(100) {
				all = append(all, codec.Message{Channel: n, LogTime: 1e18 + i,
					Data: payload(t, &std_msgs.UInt8MultiArray{Data: make([]byte, 100_000)})})
			}
			path := filepath.Join(disk, output)
			_, err := run(t, DefaultOptions(), path, write(t, "in.mcap", all...))
			require.ErrorIs(t, err, syscall.ENOSPC)
			require.EqualError(t, err, "write "+path+": no space left on device")
			entries, err := os.ReadDir(disk)
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}

func TestInterruption(t *testing.T) {
	in := write(t, "in.mcap", numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 100)...)
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	job := Job{Formats: formats.All(), Inputs: []string{in}, Output: filepath.Join(folder, "out.mcap"),
		Options: DefaultOptions()}
	job.Options.MaxBagMessages = 10
	cancel()
	_, err := job.Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestMain(m *testing.M) {
	hdf5test.Main()
	time.Local = time.UTC
	os.Exit(m.Run())
}

// A recording of several files is replaced as a whole. A file of another recording with a similar name is kept.
func TestOverwriteSeries(t *testing.T) {
	in := write(t, "in.mcap", numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 30)...)
	o := DefaultOptions()
	o.MaxBagMessages = 10
	out := filepath.Join(t.TempDir(), "out.mcap")
	_, err := run(t, o, out, in)
	require.NoError(t, err)
	later := filepath.Join(filepath.Dir(out), "out_3.mcap")
	o.MaxBagMessages, o.Offset = 0, time.Hour
	_, err = run(t, o, later, in)
	require.NoError(t, err)
	o.Offset, o.Overwrite, o.End = 0, true, "10"
	_, err = run(t, o, out, in)
	require.NoError(t, err)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(out), "*"))
	require.NoError(t, err)
	require.Equal(t, []string{out, later}, left)
}

// If two merged recordings have messages in common, as a recording and its snapshot, they are written twice with a
// warning.
func TestDoubled(t *testing.T) {
	c, other := channel(t, "/n", "std_msgs/msg/UInt32"), channel(t, "/m", "std_msgs/msg/UInt32")
	all := numbers(t, c, 20)
	differing := numbers(t, c, 20)
	for i := range differing {
		differing[i].Data = payload(t, &std_msgs.UInt32{Data: 99})
	}
	whole := write(t, "whole.mcap", all...)
	for name, test := range map[string]struct {
		messages []codec.Message
		warns    bool
	}{
		"a part": {all[10:15], true}, "another topic": {numbers(t, other, 20), false},
		"other payloads": {differing, false},
	} {
		t.Run(name, func(t *testing.T) {
			part := write(t, "part.mcap", test.messages...)
			var warnings []string
			j := Job{Formats: formats.All(), Inputs: []string{whole, part},
				Output:  filepath.Join(t.TempDir(), "out.mcap"),
				Options: DefaultOptions(), Warn: func(text string) { warnings = append(warnings, text) }}
			result, err := j.Run(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 20+len(test.messages), result.Messages)
			if test.warns {
				require.Equal(t, []string{whole + " and " + part + " have messages in common, which are read twice; " +
					"leave one of them out"}, warnings)
			} else {
				require.Empty(t, warnings)
			}
		})
	}
}

// Recordings that are far apart are merged with a warning; --align-starts merges them at the same time.
func TestFarApart(t *testing.T) {
	c := channel(t, "/n", "std_msgs/msg/UInt32")
	later := numbers(t, c, 3)
	for i := range later {
		later[i].LogTime += 800 * 24 * 3600 * second
	}
	near, far := write(t, "near.mcap", numbers(t, c, 5)...), write(t, "far.mcap", later...)
	var warnings []string
	j := Job{Formats: formats.All(), Inputs: []string{far, near, near},
		Output:  filepath.Join(t.TempDir(), "out.mcap"),
		Options: DefaultOptions(), Warn: func(text string) { warnings = append(warnings, text) }}
	_, err := j.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{far + " begins 800.0 days after the end of " + near + "; --align-starts lets all " +
		"recordings begin at the same time"}, warnings[:1])

	warnings = nil
	j.Options.AlignStarts, j.Options.Begin, j.Options.Overwrite = true, "2", true
	result, err := j.Run(t.Context())
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.EqualValues(t, 1+3+3, result.Messages)
	require.Equal(t, [2]int64{1002 * second, 1004 * second}, [2]int64{result.Start, result.End})
}

// --align-starts moves stamps only with --restamp.
func TestAlignStamps(t *testing.T) {
	c := channel(t, "/stamped", "std_msgs/msg/Header")
	var inputs []string
	for _, s := range []int32{1000, 2000} {
		inputs = append(inputs, write(t, fmt.Sprint(s, ".mcap"), codec.Message{Channel: c, LogTime: int64(s) * second,
			PublishTime: int64(s-1) * second,
			Data:        payload(t, &std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: s - 2}})}))
	}
	for restamp, want := range map[bool]int32{false: 1998, true: 1008} {
		o := DefaultOptions()
		o.AlignStarts, o.Restamp = true, restamp
		if restamp {
			o.Offset = 10 * time.Second
		}
		out := filepath.Join(t.TempDir(), "out.mcap")
		_, err := run(t, o, out, inputs...)
		require.NoError(t, err)
		messages, _ := readAll(t, out)
		require.Len(t, messages, 2)
		var header std_msgs.Header
		require.NoError(t, cdr.Unmarshal(messages[1].Data, &header))
		require.Equal(t, want, header.Stamp.Sec)
		require.Equal(t, 1000*second+int64(o.Offset), messages[1].LogTime)
		require.Equal(t, 999*second+int64(o.Offset), messages[1].PublishTime)
	}
}
