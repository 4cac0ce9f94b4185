package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/training/episode"
	"tapedeck/nodes/internal/describe"
	"tapedeck/test/samples/generate"
)

func sampleInfo() *codec.Info {
	qos := codec.DefaultQoS()
	static := qos
	static.Depth, static.Durability, static.Lifespan = 1, codec.TransientLocal, 1500*time.Millisecond
	return &codec.Info{
		Format: "mcap", Path: "drive", Size: 5 << 20, MessageCount: 301, StartTime: 1627031535_000000000,
		EndTime: 1627031538_500000000,
		Files: []codec.FileInfo{{Path: "drive/drive_0.mcap", Size: 4 << 20, MessageCount: 300},
			{Path: "drive/drive_1.mcap", Size: 1 << 20, MessageCount: 1}},
		Topics: []codec.TopicInfo{
			{Channel: &codec.Channel{Topic: "/tf_static", Type: "tf2_msgs/msg/TFMessage", Encoding: "cdr",
				QoS: []codec.QoS{static, qos}}, MessageCount: 1},
			{Channel: &codec.Channel{Topic: "/imu", Type: "sensor_msgs/msg/Imu", Encoding: "cdr", QoS: []codec.QoS{qos},
				TypeHash: "RIHS01_00"}, MessageCount: 300},
			{Channel: &codec.Channel{Topic: "/odd\x1b", Encoding: "cdr"}},
		},
		Events: []codec.Event{{Kind: "drop", Topic: "/imu", Time: 1627031536_000000000, Count: 12,
			Text: "12 messages dropped"}, {Kind: "unfinished", Text: "no index"}},
		Extra: map[string]any{"chunks": 3},
	}
}

func TestInfoText(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, writeInfoText(&out, "drive", sampleInfo(), nil, sortName))
	require.Equal(t, `
Files:      drive/drive_0.mcap  (4.0 MiB, 300 messages)
            drive/drive_1.mcap  (1.0 MiB, 1 message)
Bag size:   5.0 MiB (5242880 bytes)
Format:     mcap
Duration:   3.500000000 s
Start:      2021-07-23 09:12:15.000000000 UTC (1627031535.000000000)
End:        2021-07-23 09:12:18.500000000 UTC (1627031538.500000000)
Messages:   301
Complete:   no, it was not finished; what is here can be read and played,
            'converter recover drive' writes a complete copy of it
Topics:     3
  Topic       Type                    Count     Hz  Encoding  QoS
  /imu        sensor_msgs/msg/Imu       300  85.71  cdr       reliable volatile keep_last(10)
  "/odd\x1b"  -                           0      -  cdr       -
  /tf_static  tf2_msgs/msg/TFMessage      1      -  cdr       reliable transient_local keep_last(1) lifespan 1.5s + reliable volatile keep_last(10)
Events:     2
  2021-07-23 09:12:16.000000000 UTC  drop        /imu  12 messages dropped
  -                                  unfinished  -     no index
`, "\n"+out.String())
}

// recordedInfo returns the Info of a recording with events of the recorder.
func recordedInfo() *codec.Info {
	info := sampleInfo()
	info.Complete = true
	at := func(s float64) int64 { return info.StartTime + int64(s*1e9) }
	info.Events = []codec.Event{
		codec.Totals{Received: 30, Written: 28, Dropped: 2}.Event("/imu", at(0), at(1), false),
		{Kind: codec.EventDrop, Topic: "/imu", Time: at(0.5), Until: at(0.75), Count: 2,
			Text: "dropped, as the disk did not keep up"},
		{Kind: codec.EventLost, Topic: "/imu", Time: at(0.6), Until: at(0.7), Count: 1,
			Text: "lost in transport from a publisher"},
		{Kind: codec.EventPause, Time: at(1), Until: at(2.25), Text: "recording was paused"},
		{Kind: codec.EventSplit, Time: at(2.25), Text: "goes on from drive_0.mcap"},
		{Kind: codec.EventDrop, Topic: "/imu", Time: at(2.5), Until: at(3), Count: 40,
			Text: "dropped, as the disk did not keep up"},
		{Kind: codec.EventDisk, Time: at(3), Until: at(3.1), Count: 7,
			Text: "no space left on device: 7 messages from … to … are missing"},
		{Kind: codec.EventGap, Topic: "/tf_static", Time: at(3), Until: at(3.2), Text: "silent"},
		{Kind: codec.EventGap, Topic: "/tf_static", Time: at(3.3), Until: at(3.4), Text: "silent"},
		{Kind: codec.EventSnapshot, Topic: "/imu", Time: at(3.25), Text: "/imu linear_acceleration.x > 20"},
		codec.Totals{Received: 280, Written: 272, Dropped: 8, Lost: 1}.Event("/imu", at(1), at(3.5), false),
		codec.Totals{Received: 1000, Written: 990, Dropped: 10, Lost: 3}.Event("/imu", at(0), at(3.5), true),
	}
	return info
}

func TestInfoTextOfEvents(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, writeInfoText(&out, "drive", recordedInfo(), nil, sortName))
	_, text, _ := strings.Cut(out.String(), "Topics:")
	require.Equal(t, `     3
  Topic       Type                    Count  Received  Written  Dropped  Lost     Hz  Encoding  QoS
  /imu        sensor_msgs/msg/Imu       300       310      300       10     1  85.71  cdr       reliable volatile keep_last(10)
  "/odd\x1b"  -                           0         -        -        -     -      -  cdr       -
  /tf_static  tf2_msgs/msg/TFMessage      1         -        -        -     -      -  cdr       reliable transient_local keep_last(1) lifespan 1.5s + reliable volatile keep_last(10)
Recorded:   received 310, written 300, dropped 10, lost in transport 1
            all files of the recording together: received 1000, written 990, dropped 10, lost in transport 3
Events:     7
  2021-07-23 09:12:15.500000000 UTC  to 09:12:18.000 (2.500 s)  drop      /imu        42 messages, 2 times: dropped, as the disk did not keep up; the longest 0.500 s at 09:12:17.500
  2021-07-23 09:12:15.600000000 UTC  to 09:12:15.700 (0.100 s)  lost      /imu        1 message: lost in transport from a publisher
  2021-07-23 09:12:16.000000000 UTC  to 09:12:17.250 (1.250 s)  pause     -           recording was paused
  2021-07-23 09:12:17.250000000 UTC                             split     -           goes on from drive_0.mcap
  2021-07-23 09:12:18.000000000 UTC  to 09:12:18.100 (0.100 s)  disk      -           no space left on device: 7 messages from … to … are missing
  2021-07-23 09:12:18.000000000 UTC  to 09:12:18.400 (0.400 s)  gap       /tf_static  2 times: silent; the longest 0.200 s at 09:12:18.000
  2021-07-23 09:12:18.250000000 UTC                             snapshot  /imu        /imu linear_acceleration.x > 20
`, text)
}

func TestInfoJSONOfEvents(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, writeInfoJSON(&out, recordedInfo(), nil))
	var got describe.Recording
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	require.Len(t, got.Events, 12, "all of them")
	require.Equal(t, describe.Event{Kind: "pause", Time: 1627031536_000000000, Until: 1627031537_250000000,
		Text: "recording was paused"}, got.Events[3])
	require.Equal(t, &describe.Totals{Received: 310, Written: 300, Dropped: 10, Lost: 1}, got.Topics[0].Totals)
	require.Nil(t, got.Topics[1].Totals)
}

// Channels of a topic that do not differ share a row.
func TestInfoTextOfChannels(t *testing.T) {
	channel := func(topic string, n uint64, qos ...codec.QoS) codec.TopicInfo {
		return codec.TopicInfo{Channel: &codec.Channel{Topic: topic, Type: "std_msgs/String", Encoding: "ros1",
			QoS: qos},
			MessageCount: n}
	}
	latched := codec.DefaultQoS()
	latched.Durability = codec.TransientLocal
	var out bytes.Buffer
	require.NoError(t, writeInfoText(&out, "a.bag", &codec.Info{
		EndTime: 2e9, Topics: []codec.TopicInfo{channel("/b", 1, latched), channel("/a", 3), channel("/b", 4, latched),
			channel("/b", 9)},
	}, nil, sortName))
	_, text, _ := strings.Cut(out.String(), "Topics:")
	require.Equal(t, `     3
  Topic  Type             Count  Channels    Hz  Encoding  QoS
  /a     std_msgs/String      3         1  1.50  ros1      -
  /b     std_msgs/String      5         2  2.50  ros1      reliable transient_local keep_last(10)
  /b     std_msgs/String      9         1  4.50  ros1      -
`, text)
}

func TestInfoTextOfNothing(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, writeInfoText(&out, "empty.mcap",
		&codec.Info{Format: "mcap", Complete: true, Events: make([]codec.Event, 25)}, nil, sortName))
	require.True(t, strings.HasPrefix(out.String(), `Files:      empty.mcap
Bag size:   0 B
Format:     mcap
Duration:   0.000000000 s
Messages:   0
Complete:   yes
Topics:     0
Events:     25
`), out.String())
	require.True(t, strings.HasSuffix(out.String(), "\n  and 5 more; --json lists all of them\n"))
}

func TestInfoJSON(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, writeInfoJSON(&out, sampleInfo(), nil))
	require.JSONEq(t, `{
		"format": "mcap", "path": "drive", "size": 5242880, "message_count": 301, "complete": false,
		"contents_checked": false,
		"start_time": 1627031535000000000, "end_time": 1627031538500000000, "duration": 3.5,
		"files": [
			{"path": "drive/drive_0.mcap", "size": 4194304, "message_count": 300, "start_time": 0, "end_time": 0},
			{"path": "drive/drive_1.mcap", "size": 1048576, "message_count": 1, "start_time": 0, "end_time": 0}
		],
		"topics": [
			{"name": "/imu", "type": "sensor_msgs/msg/Imu", "encoding": "cdr", "message_count": 300,
			"frequency": 85.71428571428571, "type_hash": "RIHS01_00", "qos": [
				{"history": "keep_last", "depth": 10, "reliability": "reliable", "durability": "volatile",
				"liveliness": "automatic",
				 "deadline": {"sec": 9223372036, "nsec": 854775807}, "lifespan": {"sec": 9223372036, "nsec": 854775807},
				 "liveliness_lease_duration": {"sec": 9223372036, "nsec": 854775807}}]},
			{"name": "/odd\u001b", "type": "", "encoding": "cdr", "message_count": 0, "frequency": 0, "qos": []},
			{"name": "/tf_static", "type": "tf2_msgs/msg/TFMessage", "encoding": "cdr", "message_count": 1,
			"frequency": 0, "qos": [
				{"history": "keep_last", "depth": 1, "reliability": "reliable", "durability": "transient_local",
				"liveliness": "automatic",
				 "deadline": {"sec": 9223372036, "nsec": 854775807}, "lifespan": {"sec": 1, "nsec": 500000000},
				 "liveliness_lease_duration": {"sec": 9223372036, "nsec": 854775807}},
				{"history": "keep_last", "depth": 10, "reliability": "reliable", "durability": "volatile",
				"liveliness": "automatic",
				 "deadline": {"sec": 9223372036, "nsec": 854775807}, "lifespan": {"sec": 9223372036, "nsec": 854775807},
				 "liveliness_lease_duration": {"sec": 9223372036, "nsec": 854775807}}]}
		],
		"events": [
			{"kind": "drop", "topic": "/imu", "time": 1627031536000000000, "count": 12, "text": "12 messages dropped"},
			{"kind": "unfinished", "text": "no index"}
		],
		"extra": {"chunks": 3}
	}`, out.String())
}

// TestInfoJSONOfNothing checks that empty lists are lists, not null, and that numbers divided by 0 are numbers.
func TestInfoJSONOfNothing(t *testing.T) {
	for name, in := range map[string]*codec.Info{
		"no messages": {Format: "mcap", Complete: true},
		"one moment": {Format: "mcap", Complete: true, StartTime: 5, EndTime: 5, MessageCount: 2,
			Topics: []codec.TopicInfo{{Channel: imu, MessageCount: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, writeInfoJSON(&out, in, nil))
			var got describe.Recording
			require.NoError(t, json.Unmarshal(out.Bytes(), &got))
			require.NotNil(t, got.Files)
			require.NotNil(t, got.Topics)
			require.NotNil(t, got.Events)
			require.Zero(t, got.Duration)
			for _, topic := range got.Topics {
				require.Zero(t, topic.Frequency)
			}
		})
	}
}

func TestInfoOfDamaged(t *testing.T) {
	path := writeLines(t, "a.lines", []codec.Message{at(imu, 1, "a"), at(imu, 2, "b")})
	damage(t, path, "{\"Message\":")
	stdout, _, err := run(t, "info", path)
	require.ErrorIs(t, err, errDamaged)
	require.Contains(t, stdout, "Complete:   no, it is damaged; 'converter recover "+
		path+"' saves everything that can be read\n")
	require.Contains(t, stdout, "  -  damage  -  line 3\n")
}

func TestInfoOfSeveral(t *testing.T) {
	a := writeLines(t, "a.lines", []codec.Message{at(imu, 1, "a")})
	b := writeLines(t, "b.lines", []codec.Message{at(imu, 2, "a")})
	stdout, stderr, err := run(t, "info", a, t.TempDir()+"/none", b)
	require.EqualError(t, err, "1 of 3 recordings cannot be read")
	require.Equal(t, 2, strings.Count(stdout, "Messages:   1\n"))
	require.Contains(t, stdout, "\n\nFiles:      "+b)
	require.Contains(t, stderr, "none: no such file or directory\n")

	stdout, _, err = run(t, "info", "--json", a, b)
	require.NoError(t, err)
	d := json.NewDecoder(strings.NewReader(stdout))
	for _, path := range []string{a, b} {
		var got describe.Recording
		require.NoError(t, d.Decode(&got))
		require.Equal(t, path, got.Path)
	}
}

func TestInfoOfEpisodes(t *testing.T) {
	yes := true
	one := episode.Summary{
		Name: "a", Task: "pick", Success: &yes, Duration: 2.5,
		Cameras: []episode.StreamSummary{{Name: "camera_0", Count: 75, Rate: 30, Gaps: 1, LongestGap: 0.5},
			{Name: "camera_1", Count: 1}},
		Streams: []episode.StreamSummary{{Name: "arm_0/joint", Count: 250, Rate: 100, LongestGap: 0.02,
			Unit: episode.UnitUnknown, Columns: []string{"a", "b"}}},
	}
	var b strings.Builder
	writeEpisodes(&b, []episode.Summary{one})
	require.Equal(t, `  a: 2.500 s, pick, success: true
    stream       count      rate  gaps  longest  unit     columns
    camera_0        75   30.0 Hz     1  0.500 s  -        -
    camera_1         1         -     0  0.000 s  -        -
    arm_0/joint    250  100.0 Hz     0  0.020 s  unknown  a b
`, b.String())

	b.Reset()
	one.Discarded = true
	writeEpisodes(&b, []episode.Summary{one})
	require.Contains(t, b.String(), "  a: 2.500 s, pick, success: true, discarded\n")

	b.Reset()
	var many []episode.Summary
	for i := range 52 {
		one.Discarded = i == 51
		many = append(many, one)
	}
	many[3].Discarded = true
	writeEpisodes(&b, many)
	require.Equal(t, "52, 2 of them discarded", episodeCount(many))
	require.Equal(t, "2", episodeCount(many[:2]))
	lines := strings.Split(b.String(), "\n")
	require.Equal(t, "  number  episode        duration  frames  slowest camera  gaps  longest  task", lines[0])
	require.Equal(t, "       3  a (discarded)   2.500 s      76               -     1  0.500 s  pick", lines[4])
	require.Equal(t, "      49  a               2.500 s      76               -     1  0.500 s  pick", lines[50])
	require.Equal(t, "  and 2 more; --json shows all", lines[51])
}

func TestConvertEpisodes(t *testing.T) {
	in := generate.Path(t, "session/easyteleop_reference/temp/20261121_082214")
	out := t.TempDir() + "/x.hdf5"
	stdout, _, err := run(t, in, in, out)
	require.NoError(t, err)
	require.Contains(t, stdout, "20261121_082214: 1.100000000 s, 88 frames; 27 rows of 30, 3 dropped, 1 hole\n  "+
		"camera_0: 30 frames, 27 used, worst skew 0s of 16.5ms\n")
	require.Contains(t, stdout, out+": 2 episodes, 162 frames, 54 rows; written in ")
	stdout, _, err = run(t, "info", out)
	require.NoError(t, err)
	require.Contains(t, stdout, "Format:     hdf5\nEpisodes:   2\n")
	stdout, _, err = run(t, "info", out, "--json")
	require.NoError(t, err)
	require.Contains(t, stdout, `"name": "camera_0"`)

	folder := t.TempDir()
	stdout, _, err = run(t, in, "--output-folder", folder, "--to", "hdf5", "--timeline", "fixed:20")
	require.NoError(t, err)
	require.Contains(t, stdout, folder+"/20261121_082214.hdf5: 1 episode, 54 frames, ")
}

func TestInfoMeasures(t *testing.T) {
	a, b, c := at(imu, 2e9, strings.Repeat("a", 26)), at(imu, 2.5e9, "bb"), at(odom, 4e9, "cccc")
	path := writeLines(t, "a.lines", []codec.Message{a, b, at(imu, 3.75e9, strings.Repeat("d", 18)), c}, info)
	stdout, _, err := run(t, "info", "-v", path)
	require.NoError(t, err)
	require.Contains(t, stdout, "\nPayload:    66 B\n")
	require.Contains(t, stdout, `
  Topic  Type                   Count  Bytes   Share           Worst gap    Hz  Encoding
  /imu   sensor_msgs/msg/Imu        3   58 B  87.9 %  1.250 s at 0.500 s  1.50  cdr
  /info  std_msgs/msg/String        0    0 B   0.0 %                   -     -  cdr
  /odom  nav_msgs/msg/Odometry      1    8 B  12.1 %                   -     -  cdr
`[1:])
	stdout, _, err = run(t, "info", "--verbose", "--json", path)
	require.NoError(t, err)
	var got struct {
		Bytes  int64 `json:"payload_bytes"`
		Topics []struct {
			Bytes    int64
			Share    float64
			WorstGap *describe.Gap `json:"worst_gap"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.EqualValues(t, 66, got.Bytes)
	require.EqualValues(t, 58, got.Topics[0].Bytes)
	require.InDelta(t, 58.0/66, got.Topics[0].Share, 1e-9)
	require.Equal(t, &describe.Gap{Time: 2.5e9, Duration: 1.25}, got.Topics[0].WorstGap)
	require.Nil(t, got.Topics[2].WorstGap)

	damage(t, path, `{"Message":{"Channel":null,"LogTime":2500`)
	stdout, _, err = run(t, "info", "-v", path)
	require.ErrorIs(t, err, errDamaged)
	require.Contains(t, stdout, "no, it is damaged")
	require.Contains(t, stdout, "Payload:    60 B\n")
}

// The metadata of a session are lines, for the session and for its conversions.
func TestInfoMetadataOfEpisodes(t *testing.T) {
	e := episode.Summary{Name: "one", Metadata: json.RawMessage(`{"devices": {"arm": {"ip": "1.2.3.4", "joints": 6,
		"at": [1, {"x": null}], "calibration": {"k": {"a": 1.50}}}}, "end_time": 1795249335.139884, "note": null}`)}
	const lines = "Metadata:   PREdevices.arm.at = [1,{\"x\":null}]\n" +
		"            PREdevices.arm.calibration = {\"k\":{\"a\":1.50}}\n" +
		"            PREdevices.arm.ip = 1.2.3.4\n" +
		"            PREdevices.arm.joints = 6\n" +
		"            PREend_time = 1795249335.139884\n" +
		"            PREnote = null\n"
	for name, episodes := range map[string][]episode.Summary{"": {e}, "one.": {e, {Name: "two"}}} {
		i := sampleInfo()
		details := episode.Details{Episodes: episodes}
		text, err := json.Marshal(details)
		require.NoError(t, err)
		i.Metadata = map[string]string{episode.MetadataKey: string(text)}
		for _, extra := range []any{nil, details} {
			i.Extra = extra
			var out bytes.Buffer
			require.NoError(t, writeInfoText(&out, "drive", i, nil, sortName))
			require.Contains(t, out.String(), fmt.Sprintf("\nEpisodes:   %d\n  ", len(episodes)))
			require.Contains(t, out.String(), "\n"+strings.ReplaceAll(lines, "PRE", name)+"Topics: ")
		}
	}
}

func TestInfoMetadata(t *testing.T) {
	i := sampleInfo()
	i.Metadata = map[string]string{"ros_distro": "jazzy", "vehicle": "mkz", "notes": "two\nlines",
		"long": strings.Repeat("x", 205)}
	var out bytes.Buffer
	require.NoError(t, writeInfoText(&out, "drive", i, nil, sortName))
	require.Contains(t, out.String(), "\nMetadata:   long = "+strings.Repeat("x", 200)+
		"... and 5 more characters; --json "+
		"shows all\n            notes = \"two\\nlines\"\n            vehicle = mkz\nTopics: ")
	i.Metadata = map[string]string{"a": "b"}
	i.Records = []codec.MetadataRecord{{Name: "car", Values: map[string]string{"plate": "1"}}}
	i.Attachments = []codec.Attachment{
		{Name: "map.bin", Size: 2048, LogTime: 7}, {Name: "two\nlines", MediaType: "text/plain", CreateTime: 5},
	}
	out.Reset()
	require.NoError(t, writeInfoText(&out, "drive", i, nil, sortName))
	require.Contains(t, out.String(), "\nMetadata:   a = b\n            car/plate = 1\nAttached:   map.bin  (2.0 "+
		"KiB, -)\n            \"two\\nlines\"  (0 B, text/plain)\nTopics: ")
	out.Reset()
	require.NoError(t, writeInfoJSON(&out, i, nil))
	var got describe.Recording
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	require.Equal(t, map[string]string{"a": "b", "car/plate": "1"}, got.Metadata)
	require.Equal(t, []describe.Attachment{{Name: "map.bin", Size: 2048, LogTime: 7},
		{Name: "two\nlines", MediaType: "text/plain", CreateTime: 5}},
		got.Attachments)
	i.Metadata = map[string]string{}
	i.Records = nil
	for n := range 40 {
		i.Metadata[fmt.Sprintf("%02d", n)] = "x"
	}
	out.Reset()
	require.NoError(t, writeInfoText(&out, "drive", i, nil, sortName))
	require.Contains(t, out.String(), "            29 = x\n            and 10 more; --json shows all\n")
}

// info describes a damaged recording and then fails.
func TestExitCodesOfInfo(t *testing.T) {
	folder := t.TempDir()
	whole, damaged := filepath.Join(folder, "whole.mcap"), filepath.Join(folder, "damaged.mcap")
	channel := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
	w, err := known.Codecs().Create(whole, codec.CreateOptions{ChunkSize: 100, Compression: "none"})
	require.NoError(t, err)
	for i := range int64(100) {
		require.NoError(t, w.Write(&codec.Message{Channel: channel, LogTime: i + 1, Data: make([]byte, 50)}))
	}
	require.NoError(t, w.Close())
	content, err := os.ReadFile(whole)
	require.NoError(t, err)
	clear(content[len(content)/4 : len(content)/2])
	clear(content[len(content)-200:])
	require.NoError(t, os.WriteFile(damaged, content, 0o600))
	active := filepath.Join(folder, "killed.mcap.active") // without an end: the recorder was killed
	content, err = os.ReadFile(whole)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(active, content[:len(content)/2], 0o600))
	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"killed":  {[]string{"info", active}, 1, "killed.mcap.active was not finished"},
		"whole":   {[]string{"info", whole}, 0, ""},
		"damaged": {[]string{"info", damaged}, 1, "damaged.mcap is damaged"},
		"JSON":    {[]string{"info", "--json", damaged}, 1, "damaged.mcap is damaged"},
		"both":    {[]string{"info", whole, damaged}, 1, "damaged or not finished: 1 of 2 recordings"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := execute(t, test.args...)
			require.Equal(t, test.code, code, stderr)
			require.Contains(t, stderr, test.says)
			require.Contains(t, stdout, "/n")
		})
	}
}
