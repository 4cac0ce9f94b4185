package convert

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"image/color"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/config"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/internal/formats"
	"tapedeck/test/samples/generate"
)

// robotRecording writes a recording of a robot with an arm, a camera with a picture every 0.1 s, and two tasks.
func robotRecording(t *testing.T, name string) string {
	channels := map[string]*codec.Channel{}
	var all []codec.Message
	add := func(topic string, ms int, m msgs.Message) {
		if channels[topic] == nil {
			channels[topic] = channel(t, topic, m.TypeName())
		}
		all = append(all, codec.Message{Channel: channels[topic], LogTime: int64(ms+2) * 1e6, Data: payload(t, m)})
	}
	header := func(ms int) std_msgs.Header {
		return std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: int32(ms / 1000), Nanosec: uint32(ms%1000) * 1e6}}
	}
	for i := range 40 {
		now := 1_000_000 + 50*i
		switch i {
		case 10:
			add("/task", now, &std_msgs.String{Data: "pick"})
		case 20:
			add("/task", now, &std_msgs.String{Data: "place"})
		}
		if i%2 == 0 {
			add("/wrist/image_raw", now+1, &sensor_msgs.Image{Header: header(now + 1), Width: 2, Height: 1, Step: 6,
				Encoding: "rgb8", Data: []byte{1, 2, 3, 4, 5, byte(i)}})
		}
		add("/left/joint_states", now, &sensor_msgs.JointState{Header: header(now), Name: []string{"a", "b"},
			Position: []float64{float64(i), 2}})
		p := &geometry_msgs.PoseStamped{Header: header(now)}
		p.Pose.Position.X, p.Pose.Orientation.W = float64(i), 1
		add("/left/pose", now, p)
		add("/left/gripper", now, &std_msgs.Float64{Data: float64(i) / 40})
	}
	return write(t, name, all...)
}

const robotMapping = `
cameras: {camera_0: /wrist/image_raw}
arms:
  arm_0:
    joint: /left/joint_states
    pose: /left/pose
    gripper: {topic: /left/gripper, names: [position]}
episodes: {topic: /task}
`

func mappingFile(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "mapping.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// episodesOf returns the episodes at path, which has a format of episodes.
func episodesOf(t *testing.T, path string) []*episode.Episode {
	r, err := formats.All().Open(nil, path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	all, err := r.(*episode.Reader).Episodes()
	require.NoError(t, err)
	return all
}

// do converts to out.
func do(t *testing.T, out string, o Options, inputs ...string) (*Result, []string, error) {
	var warnings []string
	j := Job{Formats: formats.All(), Inputs: inputs, Output: out, Options: o,
		Warn:    func(text string) { warnings = append(warnings, text) },
		Workers: 2}
	done := false
	j.Progress = func(now, total time.Duration) { done = done || now > 0 && now <= total }
	r, err := j.Run(t.Context())
	if err == nil {
		require.True(t, done)
	}
	return r, warnings, err
}

func TestRecordingsBecomeEpisodes(t *testing.T) {
	for _, name := range []string{"x.mcap", "x.record", "x.bag", "folder"} {
		t.Run(name, func(t *testing.T) {
			in := robotRecording(t, "x.mcap")
			o := DefaultOptions()
			if name != "x.mcap" {
				to := filepath.Join(t.TempDir(), name)
				if name == "folder" {
					o.To = "rosbag2"
				}
				_, _, err := do(t, to, o, in)
				require.NoError(t, err)
				in = to
			}
			o.Mapping = mappingFile(t, robotMapping)
			folder := t.TempDir()

			o.To = "session"
			r, warnings, err := do(t, filepath.Join(folder, "sessions"), o, in)
			require.NoError(t, err)
			require.Empty(t, warnings)
			require.Len(t, r.Episodes, 2)
			require.Nil(t, r.Episodes[0].Report)
			all := episodesOf(t, filepath.Join(folder, "sessions"))
			require.Len(t, all, 2)
			require.Equal(t, "19700101_001640", all[0].Name)
			require.Equal(t, "pick", all[0].Task)
			require.Len(t, all[0].Cameras[0].Stamps, 5)
			require.Len(t, all[1].Cameras[0].Stamps, 10)
			require.Equal(t, int64(1_000_501)*1e6, all[0].Cameras[0].Stamps[0])
			require.InDelta(t, 10*57.29577951308232, all[0].Arms[0].Streams[episode.Joint].Values[0], 1e-9)
			if name != "x.mcap" {
				return // for other outputs the format of the input does not matter
			}

			o.To = ""
			r, _, err = do(t, filepath.Join(folder, "all.hdf5"), o, in)
			require.NoError(t, err)
			require.Equal(t, 4, r.Episodes[0].Report.Rows, "the last frame is behind the last sample")
			all = episodesOf(t, filepath.Join(folder, "all.hdf5"))
			require.Len(t, all, 2)
			require.Equal(t, "place", all[1].Task)
			require.InDelta(t, 12.02, all[0].Arms[0].Streams[episode.Joint].Values[0], 1e-5,
				"the gripper, which has no stamps, is later than the first frame")

			o.To = "hdf5"
			r, _, err = do(t, filepath.Join(folder, "each"), o, in)
			require.NoError(t, err)
			require.Equal(t, []string{filepath.Join(folder, "each")}, r.Files)
			require.Len(t, episodesOf(t, filepath.Join(folder, "each", "episode_1.hdf5")), 1)
			_, _, err = do(t, filepath.Join(folder, "each"), o, in)
			require.ErrorContains(t, err, "exists; name another output or use --overwrite")
			o.Overwrite = true
			_, _, err = do(t, filepath.Join(folder, "each"), o, in)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(folder, "each", "notes.txt"), nil, 0o666))
			_, _, err = do(t, filepath.Join(folder, "each"), o, in)
			require.ErrorContains(t, err, "holds more than a recording")

			o.To, o.Overwrite = "lerobot", false
			r, _, err = do(t, filepath.Join(folder, "set"), o, in)
			require.NoError(t, err)
			all = episodesOf(t, filepath.Join(folder, "set"))
			require.Len(t, all, 2)
			for i, task := range []string{"pick", "place"} {
				require.Equal(t, task, all[i].Task)
				camera, joint := all[i].Cameras[0], all[i].Arms[0].Streams[episode.Joint]
				require.Len(t, camera.Stamps, r.Episodes[i].Report.Rows)
				require.Equal(t, int64(1e8), camera.Stamps[1]-camera.Stamps[0], "rows are at the rate of the camera")
				at := float64(joint.Stamps[0]-1_000_000*1e6) / 50e6
				require.InDelta(t, at, joint.Values[0], 1e-4)
			}
		})
	}
}

func TestRecordingBecomesASession(t *testing.T) {
	in := robotRecording(t, "x.mcap")
	o := DefaultOptions()
	o.To, o.Task, o.Begin, o.End, o.Offset = "session", "stack", "0.5", "1.5", 1e9
	out := filepath.Join(t.TempDir(), "take")
	_, warnings, err := do(t, out, o, in)
	require.NoError(t, err)
	require.Equal(t, []string{in + ": mapping derived from topic names and types (see --mapping): camera_0: " +
		"/wrist/image_raw, arm_0/pose: /left/pose, arm_0/joint: /left/joint_states, arm_0/gripper: /left/gripper"},
		warnings)
	require.FileExists(t, filepath.Join(out, "metadata.json"))
	all := episodesOf(t, out)
	require.Len(t, all, 1)
	require.Equal(t, "stack", all[0].Task)
	require.Equal(t, int64(1_000_501)*1e6, all[0].Cameras[0].Stamps[0])
	require.Len(t, all[0].Cameras[0].Stamps, 10)
	f, err := all[0].Cameras[0].Open()
	require.NoError(t, err)
	defer f.Close()
	frame, err := f.Frame(9)
	require.NoError(t, err)
	require.Equal(t, "png", frame.Encoding)

	o = DefaultOptions()
	o.To, o.RobotOptions.Stamps, o.Overwrite = "session", "receive", true
	_, _, err = do(t, out, o, in)
	require.NoError(t, err)
	require.Equal(t, int64(1_000_003)*1e6, episodesOf(t, out)[0].Cameras[0].Stamps[0])
}

// Episodes do not change when they are moved in time, with or without a recording of messages between.
func TestMovedEpisodes(t *testing.T) {
	first := episodesAs(t, "session", "sessions")
	o := DefaultOptions()
	o.Offset = time.Hour
	moved := filepath.Join(t.TempDir(), "moved.mcap")
	_, err := run(t, o, moved, first)
	require.NoError(t, err)
	o.To = "session"
	want := episodesOf(t, first)
	require.Len(t, want, 2)
	for in, offset := range map[string]time.Duration{first: time.Hour, moved: 0} {
		o.Offset = offset
		out := filepath.Join(t.TempDir(), "sessions")
		result, err := run(t, o, out, in)
		require.NoError(t, err)
		require.Empty(t, result.Losses)
		for i, e := range episodesOf(t, out) {
			require.Len(t, e.Cameras[0].Stamps, len(want[i].Cameras[0].Stamps))
		}
	}
}

// Formats of episodes report data that they do not keep, and refuse it with --strict.
func TestLossesOfEpisodes(t *testing.T) {
	in := robotRecording(t, "x.mcap")
	other := write(t, "other.mcap", numbers(t, channel(t, "/battery", "std_msgs/msg/UInt32"), 3)...)
	merged := filepath.Join(t.TempDir(), "merged.mcap")
	_, err := run(t, DefaultOptions(), merged, in, other)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		format, in, mapping string
		lost                []string
	}{
		"session": {"session", merged, robotMapping, []string{
			"topics that the mapping does not name (3 messages on /battery)",
			"messages outside of episodes (35 messages on /left/gripper, /left/joint_states, /left/pose, " +
				"/wrist/image_raw)"}},
		"hdf5": {"hdf5", merged, robotMapping, []string{
			"topics that the mapping does not name (3 messages on /battery)",
			"messages outside of episodes (35 messages"}},
		"lerobot": {"lerobot", merged, robotMapping, []string{
			"topics that the mapping does not name (3 messages on /battery)",
			"messages outside of episodes (35 messages"}},
		"without a mapping": {"session", merged, "", []string{"(5 messages on /battery, /task)"}},
		"no trigger": {"session", in, strings.ReplaceAll(robotMapping, "{topic: /task}", "{pause: 5s}"), []string{
			"topics that the mapping does not name (2 messages on /task)"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			o.To = c.format
			if c.mapping != "" {
				o.Mapping = mappingFile(t, c.mapping)
			}
			folder := t.TempDir()
			out := filepath.Join(folder, "out")
			result, _, err := do(t, out, o, c.in)
			require.NoError(t, err)
			for _, lost := range c.lost {
				require.Contains(t, texts(result.Losses), lost)
			}
			o.Strict = true
			_, _, err = do(t, filepath.Join(folder, "strict"), o, c.in)
			require.ErrorContains(t, err, "is not written because of --strict: it would lose")
			entries, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Len(t, entries, 1)
		})
	}
}

// All formats of episodes lose attachments and report the loss.
func TestAttachmentsOfEpisodes(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.mcap")
	extras := writeExtras(t, 1, []attachment{{name: "car.urdf"}, {name: "map.bin"}})
	_, err := run(t, DefaultOptions(), in, robotRecording(t, "x.mcap"), extras)
	require.NoError(t, err)
	for _, format := range []string{"session", "hdf5", "lerobot"} {
		o := DefaultOptions()
		o.To, o.Mapping = format, mappingFile(t, robotMapping)
		result, _, err := do(t, filepath.Join(t.TempDir(), "out"), o, in)
		require.NoError(t, err)
		require.Contains(t, texts(result.Losses), "2 attachments of "+in+": car.urdf, map.bin", format)
	}
}

// Features of LeRobot that are not read are reported.
func TestFeaturesOfOthers(t *testing.T) {
	in := episodesAs(t, "lerobot", "set")
	name := filepath.Join(in, "meta/info.json")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	changed := strings.Replace(string(text), `"features": {`, `"features": {
		"next.reward": {"dtype": "float32", "shape": [1]}, "language_events": {"dtype": "language", "shape": [1]},`, 1)
	require.NoError(t, os.WriteFile(name, []byte(changed), 0o666))
	o := DefaultOptions()
	o.To = "session"
	result, _, err := do(t, filepath.Join(t.TempDir(), "out"), o, in)
	require.NoError(t, err)
	require.Equal(t, "features that are not read (language_events, next.reward)",
		strings.TrimSpace(texts(result.Losses)))
	result, err = run(t, DefaultOptions(), filepath.Join(t.TempDir(), "out.mcap"), in)
	require.NoError(t, err)
	require.Equal(t, "features that are not read (language_events, next.reward)",
		strings.TrimSpace(texts(result.Losses)))
}

// depths returns depths in mm: unknown at first, then up to 10 m, and one of more than 10 m.
func depths(i int) []uint16 {
	list := make([]uint16, 64*48)
	for k := range list {
		list[k] = uint16(3*k + 10*i)
	}
	list[0], list[63] = 0, 10_500
	return list
}

// depthRecording writes a recording of a depth camera in an encoding, and of an arm.
func depthRecording(t *testing.T, encoding string) string {
	image, joints := channel(t, "/camera_0/image_raw", "sensor_msgs/msg/Image"),
		channel(t, "/arm_0/joint_states", "sensor_msgs/msg/JointState")
	var all []codec.Message
	for i := range 10 {
		now := int64(1_000_000_000_000 + 100_000_000*i)
		m := &sensor_msgs.Image{Width: 64, Height: 48, Step: 128, Encoding: encoding}
		for _, mm := range depths(i) {
			if encoding == "32FC1" {
				m.Step = 256
				m.Data = binary.LittleEndian.AppendUint32(m.Data, math.Float32bits(float32(mm)/1000))
			} else {
				m.Data = binary.LittleEndian.AppendUint16(m.Data, mm)
			}
		}
		all = append(all, codec.Message{Channel: image, LogTime: now, Data: payload(t, m)},
			codec.Message{Channel: joints, LogTime: now, Data: payload(t, &sensor_msgs.JointState{
				Name: []string{"a"}, Position: []float64{float64(i)}})})
	}
	return write(t, "depth.mcap", all...)
}

// Depths go through every format of episodes and come back in mm, from videos within a step of LeRobot's codes.
func TestDepthCameras(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector; other tests convert episodes with it")
	}
	for name, c := range map[string]struct {
		encoding string
		to       []string
	}{
		"session":          {"16UC1", []string{"session"}},
		"meters":           {"32FC1", []string{"session", "lerobot"}},
		"hdf5":             {"16UC1", []string{"session", "hdf5", "session"}},
		"tables":           {"16UC1", []string{"lerobot", "session", "hdf5"}},
		"messages":         {"16UC1", []string{"lerobot", "mcap", "session"}},
		"video to session": {"16UC1", []string{"session", "video", "session"}},
		"video to hdf5":    {"32FC1", []string{"video", "hdf5"}},
	} {
		t.Run(name, func(t *testing.T) {
			video := slices.Contains(c.to, "video")
			if _, err := exec.LookPath("ffmpeg"); err != nil && video {
				t.Skip("ffmpeg is not installed (Debian: ffmpeg); videos are not tested")
			}
			in := depthRecording(t, c.encoding)
			for _, to := range c.to {
				o := DefaultOptions()
				o.To, o.Video = to, to == "video"
				if o.Video {
					o.To, o.VideoCodec = "lerobot", "libx264"
				}
				out := filepath.Join(t.TempDir(), to)
				if to == "hdf5" {
					out += ".hdf5" // one file
				}
				r, _, err := do(t, out, o, in)
				require.NoError(t, err)
				if o.Video {
					require.Contains(t, texts(r.Losses), "unknown depths, which are 10 mm in videos of LeRobot")
					require.Contains(t, texts(r.Losses), "depths beyond 10 m, which are 10 m in videos of LeRobot")
					o.Strict = true
					_, _, err = do(t, out+"_strict", o, in)
					require.ErrorContains(t, err, "it would lose depths beyond 10 m")
				}
				in = out
			}
			e := episodesOf(t, in)[0]
			frames, err := e.Cameras[0].Open()
			require.NoError(t, err)
			defer frames.Close()
			require.Len(t, e.Cameras[0].Stamps, 10)
			for i := range 10 {
				f, err := frames.Frame(i)
				require.NoError(t, err)
				m, err := f.Decode()
				require.NoError(t, err)
				for k, want := range depths(i) {
					got := m.At(k%64, k/64).(color.Gray16).Y
					switch {
					case !video || want == 0:
						require.Equal(t, want, got)
					case want > 10:
						require.InDelta(t, min(want, 10_000), got, 3)
					}
				}
			}
		})
	}
}

// Images that are too small for the usual video encoder use another one. A warning says so.
func TestSmallVideo(t *testing.T) {
	encoders, err := exec.Command("ffmpeg", "-v", "error", "-encoders").Output()
	if err != nil || !strings.Contains(string(encoders), "libsvtav1") {
		t.Skip("ffmpeg with libsvtav1 is not installed (Debian: ffmpeg); small videos are not tested")
	}
	small, joints := channel(t, "/camera_0/image_raw", "sensor_msgs/msg/Image"),
		channel(t, "/arm_0/joint_states", "sensor_msgs/msg/JointState")
	var all []codec.Message
	for i := range 5 {
		now := int64(1_000_000_000_000 + 100_000_000*i)
		all = append(all, codec.Message{Channel: small, LogTime: now, Data: payload(t, &sensor_msgs.Image{
			Width: 32, Height: 24, Step: 96, Encoding: "rgb8", Data: make([]byte, 96*24)})},
			codec.Message{Channel: joints, LogTime: now, Data: payload(t, &sensor_msgs.JointState{
				Name: []string{"a"}, Position: []float64{float64(i)}})})
	}
	o := DefaultOptions()
	o.To, o.Video = "lerobot", true
	_, warnings, err := do(t, filepath.Join(t.TempDir(), "set"), o, write(t, "small.mcap", all...))
	require.NoError(t, err)
	require.Contains(t, warnings, "camera_0: 32×24 pixels are too small for libsvtav1, libx264 makes the video")
}

// A fixed rate skips frames, which is a loss.
func TestFramesWithoutRows(t *testing.T) {
	in := robotRecording(t, "x.mcap")
	o := DefaultOptions()
	o.To, o.Timeline, o.Exclude = "hdf5", "fixed:5", []string{"/task"}
	result, _, err := do(t, filepath.Join(t.TempDir(), "out"), o, in)
	require.NoError(t, err)
	require.Regexp(t, `^frames that no row has \(\d+ messages on /wrist/image_raw\)\n`+
		`pixels of images that become JPEGs, which --images raw keeps \(\d+ messages on /wrist/image_raw\)\n$`,
		texts(result.Losses))
}

// A mapping with topics that the recording lacks is an error without --partial.
func TestMappingOfMissingTopics(t *testing.T) {
	in := robotRecording(t, "x.mcap")
	o := DefaultOptions()
	o.To = "session"
	o.Mapping = mappingFile(t, strings.Replace(robotMapping, "cameras: {", "cameras: {camera_1: /overhead/image_raw, ",
		1))
	out := filepath.Join(t.TempDir(), "out")
	_, _, err := do(t, out, o, in)
	require.ErrorContains(t, err, in+" lacks topics of --mapping: camera_1: /overhead/image_raw; correct the "+
		"mapping, or use --partial")
	require.NoDirExists(t, out)
	o.Partial = true
	_, warnings, err := do(t, out, o, in)
	require.NoError(t, err)
	require.Contains(t, strings.Join(warnings, "\n"), "camera_1: /overhead/image_raw is not there")
}

func TestInterruptedEpisodes(t *testing.T) {
	in := robotRecording(t, "x.mcap")
	for _, to := range []string{"session", "hdf5", "lerobot"} {
		ctx, cancel := context.WithCancel(t.Context())
		folder := t.TempDir()
		o := DefaultOptions()
		o.To = to
		j := Job{Formats: formats.All(), Inputs: []string{in}, Output: filepath.Join(folder, "x"), Options: o}
		calls := 0
		j.Progress = func(_, _ time.Duration) {
			calls++
			if calls == 100 { // when frames are written
				cancel()
			}
		}
		_, err := j.Run(ctx)
		require.ErrorIs(t, err, context.Canceled, to)
		left, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.Empty(t, left)
		cancel()
	}
}

func TestGripperRange(t *testing.T) {
	in := robotRecording(t, "x.mcap")
	o := DefaultOptions()
	o.To, o.GripperRange = "session", []string{"0:2", "arm_0=0:0.5,arm_1=0:3"}
	out := filepath.Join(t.TempDir(), "take")
	_, _, err := do(t, out, o, in)
	require.NoError(t, err)
	require.Equal(t, [2]float64{0, 0.5}, episodesOf(t, out)[0].Arms[0].GripperRange)
}

func TestEpisodesAreRefused(t *testing.T) {
	in := robotRecording(t, "x.mcap")
	for name, test := range map[string]struct {
		set   func(*Options)
		want  string
		usage bool
	}{
		"throttle": {func(o *Options) { o.Throttle = []string{"/x=1/2"} },
			"--throttle does not apply to hdf5", true},
		"encoding":  {func(o *Options) { o.Encoding = "ros1" }, "--encoding does not apply to hdf5", true},
		"unmatched": {func(o *Options) { o.Unmatched = "fail" }, "--unmatched does not apply to hdf5", true},
		"repeat":    {func(o *Options) { o.Repeat = []string{"/x"} }, "--repeat does not apply to hdf5", true},
		"holes":     {func(o *Options) { o.Holes = "split" }, "--holes does not apply to hdf5", true},
		"images": {func(o *Options) { o.To, o.Images = "lerobot", "raw" }, "--images does not apply to lerobot",
			true},
		"rows": {func(o *Options) { o.To, o.Timeline = "session", "fixed:30" },
			"--timeline does not apply to session, which has no rows", true},
		"timeline": {func(o *Options) { o.Timeline = "clock" }, `--timeline "clock": want camera`, true},
		"links": {func(o *Options) { o.CameraLinks = []string{"cam_high"} },
			`--camera-links "cam_high": want LINK=CAMERA`, true},
		"names": {func(o *Options) { o.To, o.CameraNames = "lerobot", []string{"=x"} },
			`--camera-names "=x": want CAMERA=NAME`, true},
		"no rate": {func(o *Options) { o.To, o.Exclude = "lerobot", []string{"/wrist.*"} },
			"has rows at a fixed rate, which no camera tells", false},
		"range": {func(o *Options) { o.GripperRange = []string{"arm_0=1:1"} },
			`--gripper-range "arm_0=1:1": want CLOSED:OPEN`, true},
		"mapping": {func(o *Options) { o.Mapping = "none.yaml" }, "--mapping: open robot mapping: open none.yaml",
			false},
		"no topic": {func(o *Options) { o.Topics = []string{"/task"} },
			"no topic has the name and type of a camera or an arm", false},
		"frames": {func(o *Options) { o.To, o.Timeline, o.MaxImageSkew = "lerobot", "fixed:30", time.Millisecond },
			"x.hdf5: 19700101_001640: rows are missing", false},
		"no rows":   {func(o *Options) { o.Timeline = "topic:/none" }, "align 19700101_001640: ", false},
		"no camera": {func(o *Options) { o.Exclude = []string{"/wrist.*"} }, "align 19700101_001640: ", false},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			o := DefaultOptions()
			test.set(&o)
			_, _, err := do(t, filepath.Join(folder, "x.hdf5"), o, in)
			require.ErrorContains(t, err, test.want)
			require.Equal(t, test.usage, errors.Is(err, config.ErrUsage))
			require.NotContains(t, err.Error(), ".part")
			left, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// An existing file with links that must not be replaced is an error before anything is converted.
func TestLinkFileExists(t *testing.T) {
	o := DefaultOptions()
	o.To, o.LinkFile = "hdf5", withoutEpisode(t)
	for _, c := range []struct {
		in, want string
	}{{robotRecording(t, "x.mcap"), " exists; name another file"}, {o.LinkFile, " is an input; name another file"}} {
		folder := t.TempDir()
		o.Overwrite = c.in == o.LinkFile
		_, err := run(t, o, filepath.Join(folder, "each"), c.in)
		require.ErrorContains(t, err, "--link-file "+o.LinkFile+c.want)
		left, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// If links cannot be written, there is no output.
func TestLinkFileFails(t *testing.T) {
	in, folder := robotRecording(t, "x.mcap"), t.TempDir()
	o, out := DefaultOptions(), filepath.Join(folder, "each")
	o.To, o.LinkFile = "hdf5", filepath.Join(folder, "none/all.hdf5")
	_, err := run(t, o, out, in)
	require.EqualError(t, err, "--link-file "+o.LinkFile+": no such file or directory")
	require.NoDirExists(t, out)
	o.LinkFile = filepath.Join(folder, "all.hdf5")
	require.NoError(t, os.MkdirAll(filepath.Join(o.LinkFile+".part", "x"), 0o777))
	_, err = run(t, o, out, in)
	require.Error(t, err)
	require.NoDirExists(t, out)
	require.NoFileExists(t, o.LinkFile)
	o.LinkFile = filepath.Join(out, "all.hdf5")
	_, err = run(t, o, out, in)
	require.NoError(t, err)
	require.FileExists(t, o.LinkFile)
}

// The reference session is converted to all formats and back.
func TestReferenceSession(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector; other tests convert episodes with it")
	}
	in := generate.Path(t, "session/easyteleop_reference/temp/20261121_082214")
	want := episodesOf(t, in)[0]
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	for _, name := range []string{"x.mcap", "x.record", "x.bag"} {
		o := DefaultOptions()
		_, _, err := do(t, path(name), o, in)
		require.NoError(t, err)
		o.To = "session"
		_, warnings, err := do(t, path(name+".session"), o, path(name))
		require.NoError(t, err)
		got := episodesOf(t, path(name+".session"))[0]
		if name == "x.mcap" { // other formats have no place for the other data
			require.Empty(t, warnings)
			require.Equal(t, "x.mcap.session", got.Name, "EasyTeleop names folders alone")
			require.JSONEq(t, string(want.Metadata), string(got.Metadata))
		}
		require.Len(t, got.Cameras, len(want.Cameras))
		for i, c := range want.Cameras {
			require.Equal(t, c.Stamps, got.Cameras[i].Stamps)
			a, err := c.Open()
			require.NoError(t, err)
			b, err := got.Cameras[i].Open()
			require.NoError(t, err)
			for k := range c.Stamps {
				x, err := a.Frame(k)
				require.NoError(t, err)
				y, err := b.Frame(k)
				require.NoError(t, err)
				require.Equal(t, x, y)
			}
			require.NoError(t, a.Close())
			require.NoError(t, b.Close())
		}
		require.Len(t, got.Arms, len(want.Arms))
		for i, a := range want.Arms {
			for _, v := range [][2]*align.Vector{{a.Streams[episode.Pose], got.Arms[i].Streams[episode.Pose]},
				{a.Streams[episode.Joint], got.Arms[i].Streams[episode.Joint]},
				{a.Streams[episode.Gripper], got.Arms[i].Streams[episode.Gripper]}} {
				require.Equal(t, v[0].Columns, v[1].Columns)
				require.Equal(t, v[0].Stamps, v[1].Stamps)
				for k, x := range v[0].Values {
					difference := v[1].Values[k] - x
					if v[0].Columns[k%len(v[0].Columns)].Interp == align.Euler { // -π comes back as π
						difference = math.Remainder(difference, 2*math.Pi)
					}
					require.InDelta(t, 0, difference, 1e-12)
				}
			}
		}
	}
	// Rows are equal with and without a recording of messages between.
	o := DefaultOptions()
	a, _, err := do(t, path("a.hdf5"), o, in)
	require.NoError(t, err)
	b, _, err := do(t, path("b.hdf5"), o, path("x.mcap"))
	require.NoError(t, err)
	require.Equal(t, 27, a.Episodes[0].Report.Rows)
	require.Equal(t, a.Episodes[0].Report, b.Episodes[0].Report)
	o.To = "session"
	_, _, err = do(t, path("back"), o, path("a.hdf5"))
	require.NoError(t, err)
	require.Len(t, episodesOf(t, path("back"))[0].Cameras[2].Stamps, 27)
	o = DefaultOptions()
	o.To = "lerobot"
	_, _, err = do(t, path("refused"), o, in)
	require.ErrorContains(t, err, "rows are missing after row ")
	o.MissingImage = "hold"
	a, _, err = do(t, path("a"), o, in, in)
	require.NoError(t, err)
	b, _, err = do(t, path("b"), o, path("x.mcap"))
	require.NoError(t, err)
	require.Len(t, a.Episodes, 2)
	require.Equal(t, 30, a.Episodes[0].Report.Rows)
	require.Equal(t, a.Episodes[0].Report, b.Episodes[0].Report)
	o = DefaultOptions()
	_, _, err = do(t, path("c.hdf5"), o, path("b"))
	require.NoError(t, err)
	require.Len(t, episodesOf(t, path("c.hdf5"))[0].Arms, 2)
	o.To, o.LinkFile = "hdf5", path("all.hdf5")
	_, _, err = do(t, path("each"), o, in, in)
	require.NoError(t, err)
	require.Len(t, episodesOf(t, path("all.hdf5")), 2)
	_, _, err = do(t, path("one.hdf5"), o, in)
	require.ErrorContains(t, err, "--link-file needs a folder of HDF5 files")
	// Joints of sessions are in degrees, joints of recordings in radians.
	o = DefaultOptions()
	_, _, err = do(t, path("mixed.hdf5"), o, path("x.mcap"), in)
	require.NoError(t, err)
	all := episodesOf(t, path("mixed.hdf5"))
	require.Len(t, all, 2)
	require.InDeltaSlice(t, all[0].Arms[0].Streams[episode.Joint].Values, all[1].Arms[0].Streams[episode.Joint].Values,
		1e-6)
	// Two inputs give two episodes.
	o = DefaultOptions()
	o.To = "session"
	_, _, err = do(t, path("two"), o, in, in)
	require.NoError(t, err)
	require.Len(t, episodesOf(t, path("two")), 2)
}

// TestPublishTimes reads frames of several cameras and episodes at once. These concurrent readings must not count
// losses.
func TestPublishTimes(t *testing.T) {
	var all []codec.Message
	for _, topic := range []string{"/left/image_raw", "/right/image_raw"} {
		c := channel(t, topic, "sensor_msgs/msg/Image")
		for i := range int64(200) {
			at := 1000*second + i*second/50
			m := &sensor_msgs.Image{Width: 2, Height: 1, Step: 6, Encoding: "rgb8",
				Data: []byte{1, 2, 3, 4, 5, byte(i)}}
			m.Header.Stamp.Sec, m.Header.Stamp.Nanosec = int32(at/second), uint32(at%second)
			all = append(all, codec.Message{Channel: c, LogTime: at, PublishTime: at - 1, Data: payload(t, m)})
		}
	}
	slices.SortStableFunc(all, func(a, b codec.Message) int { return cmp.Compare(a.LogTime, b.LogTime) })
	in := writeWith(t, "in.mcap", codec.CreateOptions{ChunkSize: 1000, Compression: "none"}, all...)
	data, err := os.ReadFile(in)
	require.NoError(t, err)
	at := bytes.Index(data, all[200].Data)
	require.Positive(t, at)
	data[at+len(all[200].Data)-1]++
	require.NoError(t, os.WriteFile(in, data, 0o666))
	o := DefaultOptions()
	o.To, o.Partial = "hdf5", true
	var damaged atomic.Int32
	j := Job{Formats: formats.All(), Inputs: []string{in}, Output: filepath.Join(t.TempDir(), "out.hdf5"),
		Options: o, Damaged: func(error) { damaged.Add(1) }}
	_, err = j.Run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, damaged.Load(), "frames are read several times, but their damage is reported once")
}
