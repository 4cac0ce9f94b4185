package player

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/recordings/all"
	"tapedeck/codec"
	"tapedeck/codec/format/lerobot"
	"tapedeck/codec/format/session"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/graph/rospub"
	"tapedeck/test/samples"
	"tapedeck/test/samples/generate"
)

func everything(*codec.Channel) bool { return true }

// messages returns the number of messages of merged recordings.
func messages(s *mergedRecordings) (n uint64) {
	for _, info := range s.Infos() {
		n += info.MessageCount
	}
	return n
}

// writeRecording writes a recording of empty messages of a topic at the given times. If closed is false, the recording
// looks like one of a killed process.
func writeRecording(t *testing.T, name, topic string, closed bool, times ...int64) string {
	path := filepath.Join(t.TempDir(), name)
	w, err := all.Formats().Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: topic, Type: "std_msgs/msg/Empty", Encoding: codec.EncodingCDR}
	require.NoError(t, w.Declare(c))
	for _, time := range times {
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: time, Data: []byte{0, 1, 0, 0, 0}}))
	}
	require.NoError(t, w.Sync())
	if !closed {
		data, err := os.ReadFile(path + codec.ActiveSuffix)
		require.NoError(t, err)
		defer func() { require.NoError(t, os.WriteFile(path, data, 0o644)) }()
	}
	require.NoError(t, w.Close())
	return path
}

// The first of several files means all of them, also if all are named. A later file is played alone. If two recordings
// have the same messages, a warning says so.
func TestRecordingsOfSeries(t *testing.T) {
	folder := t.TempDir()
	place := func(name string, times ...int64) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.Rename(writeRecording(t, name, "/a", true, times...), path))
		return path
	}
	first, second := place("d.mcap", 1, 2), place("d_1.mcap", 3, 4)
	snapshot := place("snapshot_d.mcap", 2, 3)
	for _, test := range []struct {
		paths    []string
		messages uint64
		warning  string
	}{
		{[]string{first}, 4, ""},
		{[]string{first, second}, 4, ""},
		{[]string{second}, 2, second + " is a part of the recording " + first},
		{[]string{first, second, snapshot}, 6, first + " and " + snapshot + " have messages in common"},
	} {
		s, err := openRecordings(t.Context(), nil, test.paths, nil, false, everything, formats.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, test.messages, messages(s))
		if test.warning == "" {
			require.Empty(t, s.warnings)
		} else {
			require.Len(t, s.warnings, 1)
			require.Contains(t, s.warnings[0], test.warning)
		}
		require.NoError(t, s.Close())
	}
}

func TestRecordingsAreMerged(t *testing.T) {
	wants := everything
	s, err := openRecordings(t.Context(), nil, []string{
		writeRecording(t, "none.record", "/none", true), writeRecording(t, "a.record", "/a", true, 100, 300),
		writeRecording(t, "b.mcap", "/b", true, 0, 200),
	}, nil, false, func(c *codec.Channel) bool { return wants(c) }, formats.ReadOptions{})
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, []int64{0, 300, 4}, []int64{s.start, s.end, int64(messages(s))}, "recorded time may begin at 0")
	require.Empty(t, s.warnings)
	require.Len(t, s.channels, 3)
	read := func(q codec.Query) (times []int64) {
		it, err := s.Read(q)
		require.NoError(t, err)
		defer it.Close()
		for {
			m, err := it.Next()
			if errors.Is(err, io.EOF) {
				return times
			}
			require.NoError(t, err)
			times = append(times, m.LogTime)
		}
	}
	require.Equal(t, []int64{0, 100, 200, 300}, read(codec.Query{}))
	require.Equal(t, []int64{100, 200}, read(codec.Query{Start: 100, End: 300}))
	require.Equal(t, []int64{0, 200}, read(codec.Query{Topics: func(c *codec.Channel) bool { return c.Topic == "/b" }}))
	wants = func(c *codec.Channel) bool { return c.Topic == "/a" }
	require.Equal(t, []int64{100, 300}, read(codec.Query{}))
	require.Empty(t, read(codec.Query{Topics: func(c *codec.Channel) bool { return c.Topic == "/b" }}))
}

func TestMissingInputIsNamed(t *testing.T) {
	folder := t.TempDir()
	for i, n := range []int{0, 2} {
		data, err := os.ReadFile(writeRecording(t, "a.record", "/a", true, int64(100*i)))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("a.record.%05d", n)), data, 0o644))
	}
	s, err := openRecordings(t.Context(), nil, []string{folder}, nil, false, everything, formats.ReadOptions{})
	require.NoError(t, err)
	defer s.Close()
	require.EqualValues(t, 2, messages(s))
	require.Len(t, s.warnings, 1)
	require.Contains(t, s.warnings[0], "a.record.00001 is missing")
}

func TestUnfinishedRecordings(t *testing.T) {
	path := writeRecording(t, "killed.record", "/a", false, 1, 2)
	s, err := openRecordings(t.Context(), nil, []string{path}, nil, false, everything, formats.ReadOptions{})
	require.NoError(t, err)
	defer s.Close()
	require.Len(t, s.warnings, 1)
	require.Contains(t, s.warnings[0], path)
	require.Equal(t, uint64(2), messages(s))
}

func TestOneInputFails(t *testing.T) {
	paths := []string{writeRecording(t, "a.record", "/a", true, 1), "nowhere.record"}
	_, err := openRecordings(t.Context(), nil, paths, nil, false, everything, formats.ReadOptions{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestTopicFilter(t *testing.T) {
	topics := []string{"/imu", "/camera/image", "/camera/info", "/clock"}
	for name, test := range map[string]struct {
		options options
		want    []string
	}{
		"all":             {options{}, topics},
		"own clock":       {options{Clock: 40}, topics[:3]},
		"named":           {options{Topics: []string{"/imu", "camera/info"}}, []string{"/imu", "/camera/info"}},
		"regex":           {options{Regex: "/camera/(image|info)"}, topics[1:3]},
		"part of a name":  {options{Regex: "amera/i"}, nil},
		"named and regex": {options{Topics: []string{"/imu"}, Regex: ".*info"}, []string{"/imu", "/camera/info"}},
		"excluded": {options{ExcludeTopics: []string{"/imu"}, ExcludeRegex: ".*o"},
			[]string{"/camera/image", "/clock"}},
		"exclusion wins": {options{Topics: topics, ExcludeTopics: []string{"imu"}, ExcludeRegex: ".*camera.*"},
			topics[3:]},
		"nothing is named": {options{Topics: []string{"/other"}}, nil},
		"clock with all":   {options{ClockTopicsAll: true}, topics[:3]},
		"services alone":   {options{Services: []string{"/imu"}}, topics},
	} {
		t.Run(name, func(t *testing.T) {
			wants, err := topicFilter(&test.options)
			require.NoError(t, err)
			var got []string
			for _, topic := range topics {
				if wants(&codec.Channel{Topic: topic}) {
					got = append(got, topic)
				}
			}
			require.Equal(t, test.want, got)
			events, err := codec.EventMessage(codec.Event{})
			require.NoError(t, err)
			require.False(t, wants(events.Channel), "events are played only if they are named")
		})
	}
	wants, err := topicFilter(&options{Topics: []string{"/imu"}})
	require.NoError(t, err)
	require.True(t, wants(&codec.Channel{Topic: "imu"}), "other programs record names without a slash")
	event := func(service string) *codec.Channel {
		return &codec.Channel{Topic: service + "/_service_event", Type: "a/srv/B_Event"}
	}
	status := func(action string) *codec.Channel { return &codec.Channel{Topic: action + "/_action/status"} }
	for _, test := range []struct {
		options         options
		played, omitted []*codec.Channel
	}{
		{options{Services: []string{"/a", "b"}, ExcludeServices: []string{"/b"}},
			[]*codec.Channel{event("/a"), status("/d")}, []*codec.Channel{event("/b"), event("/c")}},
		{options{Actions: []string{"/d*"}, ExcludeActions: []string{"/dd"}},
			[]*codec.Channel{status("/d"), event("/d/_action/send_goal"), event("/a")},
			[]*codec.Channel{status("/dd"), status("/e"), event("/e/_action/send_goal")}},
		{options{Topics: []string{"/imu"}, Services: []string{"/a"}}, []*codec.Channel{event("/a"), {Topic: "/imu"}},
			[]*codec.Channel{event("/b"), status("/d"), {Topic: "/clock"}}},
	} {
		wants, err := topicFilter(&test.options)
		require.NoError(t, err)
		for _, c := range test.played {
			require.True(t, wants(c), c.Topic)
		}
		for _, c := range test.omitted {
			require.False(t, wants(c), c.Topic)
		}
	}
	for _, o := range []options{{Regex: "("}, {ExcludeRegex: "("}} {
		_, err := topicFilter(&o)
		require.ErrorIs(t, err, config.ErrUsage)
	}
}

// Options that name missing topics are an error.
func TestUnmatched(t *testing.T) {
	channels := []*codec.Channel{{Topic: "/imu", Type: "sensor_msgs/msg/Imu"}, {Topic: "front", Type: "a/msg/Image"}}
	for name, test := range map[string]struct {
		options options
		error   string // "": no error
		played  int
	}{
		"all":      {options{}, "", 2},
		"topics":   {options{Topics: []string{"imu", "/front"}}, "", 2},
		"wildcard": {options{Topics: []string{"/f*"}}, "", 1},
		"types":    {options{TopicTypes: []string{"*/Image"}}, "", 1},
		"no types": {options{ExcludeTopicTypes: []string{"a/msg/Image"}}, "", 1},
		"missing topic": {options{Topics: []string{"/imu", "/imo"}},
			"no topic matches --topics /imo; there are /imu, front", 1},
		"missing type":    {options{ExcludeTopicTypes: []string{"Image"}}, "--exclude-topic-types Image;", 2},
		"missing regex":   {options{ExcludeRegex: "face"}, "--exclude-regex face (as a whole; ", 2},
		"missing remap":   {options{Remap: []string{"/a:=/b"}}, "--remap /a:=/b;", 2},
		"own names":       {options{Remap: []string{"/clock:=/b", "~/pause:=/c", "clock:=/d"}}, "", 2},
		"pause and clock": {options{PauseTopics: []string{"imu"}, ClockTopics: []string{"/front"}}, "", 2},
		"missing pause":   {options{PauseTopics: []string{"/imu", "imo"}}, "--pause-topics imo;", 2},
		"missing clock":   {options{ClockTopics: []string{"/imo"}}, "--clock-topics /imo;", 2},
		"missing others":  {options{ExcludeServices: []string{"/imu"}}, "--exclude-services /imu;", 2},
	} {
		t.Run(name, func(t *testing.T) {
			wants, err := topicFilter(&test.options)
			require.NoError(t, err)
			played := 0
			for _, c := range channels {
				if wants(c) {
					played++
				}
			}
			require.Equal(t, test.played, played)
			if err := test.options.unmatched(channels); test.error == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.error)
			}
		})
	}
}

// Recordings that are far apart cause a warning. --align-starts plays them at the same time.
func TestAlignStarts(t *testing.T) {
	const day = int64(24 * time.Hour)
	a := writeRecording(t, "a.record", "/a", true, 800*day, 800*day+5)
	b := writeRecording(t, "b.record", "/b", true, 10, 20)
	empty := writeRecording(t, "c.record", "/c", true)
	open := func(align bool) *mergedRecordings {
		s, err := openRecordings(t.Context(), nil, []string{a, b, empty}, map[string]int64{b: 3}, align, everything,
			formats.ReadOptions{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	s := open(false)
	require.Equal(t, []string{a + " begins 800.0 days after the end of " + b + "; --align-starts lets all recordings " +
		"begin at the same time, --skip-empty skips the time between"}, s.warnings)
	require.Equal(t, [2]int64{13, 800*day + 5}, [2]int64{s.start, s.end})

	s = open(true)
	require.Empty(t, s.warnings)
	require.Equal(t, [2]int64{10, 23}, [2]int64{s.start, s.end}, "input_offset counts from the earliest start")
	require.EqualValues(t, 4, messages(s))
}

// Missing files are named in a warning. With --stop-at-damage, missing files that would be played are an error.
func TestMissingFiles(t *testing.T) {
	sample := samples.Path(t, "session/easyteleop_reference/temp/20261121_082214")
	for name, c := range map[string]struct {
		make     func(t *testing.T, folder string)
		what, at string
	}{
		"session": {func(t *testing.T, folder string) {
			require.NoError(t, os.CopyFS(folder, os.DirFS(sample)))
			require.NoError(t, os.RemoveAll(filepath.Join(folder, "frames", "camera_0")))
		}, "images of camera_0 are missing", "frames/"},
		"lerobot": {func(t *testing.T, folder string) { withoutVideo(t, sample, folder) },
			"10 images of camera_0 are missing", "videos/observation.images.camera_0/0.mp4"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "take")
			c.make(t, folder)
			open := func(wants func(*codec.Channel) bool) *mergedRecordings {
				s, err := openRecordings(t.Context(), nil, []string{folder}, nil, false, wants, formats.ReadOptions{})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, s.Close()) })
				require.Contains(t, strings.Join(s.warnings, "\n"), c.what)
				return s
			}
			require.ErrorContains(t, open(everything).checkMissing(),
				folder+": "+c.what+": "+filepath.Join(folder, c.at))
			others := func(c *codec.Channel) bool { return !strings.Contains(c.Topic, "camera_0") }
			require.NoError(t, open(others).checkMissing())
		})
	}
}

// withoutVideo makes a LeRobot dataset of ten rows of a session. The video of camera_0 is missing.
func withoutVideo(t *testing.T, sample, folder string) {
	s, err := session.Open(nil, sample)
	require.NoError(t, err)
	episodes, err := s.Episodes()
	require.NoError(t, err)
	e := episodes[0]
	e.Cameras = e.Cameras[:1]
	rows, err := episode.Align(e, align.Options{Timeline: "fixed:10", MissingImage: align.MissingHold})
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(rows.Stamps), 10)
	w, err := lerobot.Create(folder, lerobot.Options{})
	require.NoError(t, err)
	require.NoError(t, w.Write(rows))
	require.NoError(t, w.Close())
	// v2.1 has equal tables.
	name := filepath.Join(folder, "meta/info.json")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	changed := strings.NewReplacer(`"v3.0"`, `"v2.1"`, `"dtype": "image"`, `"dtype": "video"`,
		"data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet", "data/chunk-000/file-000.parquet",
		`"video_path": null`, `"video_path": "videos/{video_key}/{episode_index:d}.mp4"`).Replace(string(text))
	require.NoError(t, os.WriteFile(name, []byte(changed), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "meta/episodes.jsonl"),
		[]byte(`{"episode_index": 0, "length": 10}`+"\n"), 0o666))
}

// A recorder that is killed while it begins a file leaves an empty file. The other files are played.
func TestUnwrittenFilesAreSkipped(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "drive.mcap"+codec.ActiveSuffix)
	require.NoError(t, os.WriteFile(empty, nil, 0o666))
	wants := func(*codec.Channel) bool { return true }
	_, err := openRecordings(t.Context(), nil, []string{empty}, nil, false, wants, formats.ReadOptions{})
	require.ErrorIs(t, err, codec.ErrUnwritten)
	_, err = openRecordings(t.Context(), nil, []string{empty, empty}, nil, false, wants, formats.ReadOptions{})
	require.ErrorIs(t, err, codec.ErrUnwritten)
}

// Reading ends with the context, even if no message that is read is played.
func TestReadingEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	log := generate.Path(t, "mavlink/synthetic_px4_v2.tlog")
	s, err := openRecordings(ctx, nil, []string{log}, nil, false, everything, formats.ReadOptions{})
	require.NoError(t, err)
	defer s.Close()
	r := &recordingInput{recordings: s, publishers: publishers{}}
	for _, c := range s.channels {
		r.publishers[c] = &publisher{Offer: rospub.Offer{QoS: codec.QoS{Durability: codec.TransientLocal}}}
	}
	it, err := s.Read(codec.Query{Topics: func(c *codec.Channel) bool { return c.Topic == "/mavros/rc/out" }})
	require.NoError(t, err)
	defer it.Close()
	cancel()
	require.ErrorIs(t, r.latched(s.end, func(*codec.Message) error { return nil }), context.Canceled)
	_, err = it.Next()
	require.ErrorIs(t, err, context.Canceled)
}

// The player warns at once that it will wait because of outlying times.
func TestOutlyingTimes(t *testing.T) {
	for _, name := range []string{"clock_set.tlog", "first_message_at_0s.mcap"} {
		path := samples.Path(t, "faults/"+name)
		s, err := openRecordings(t.Context(), nil, []string{path}, nil, false, everything, formats.ReadOptions{})
		require.NoError(t, err)
		require.Len(t, s.warnings, 1)
		require.Regexp(t, `: the times of \d+ messages are 19676 days before .*; the player waits as long as times `+
			`are `+
			`apart, --skip-empty skips that$`, s.warnings[0])
		require.NoError(t, s.Close())
	}
}
