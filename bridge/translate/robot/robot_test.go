package robot

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/session"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/diagnostic_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

var formats = codec.Formats{mcap.Format}

// messageList collects messages of a recording. Times are in ms since the Unix epoch. A message is received 1 ms after
// the stamp.
type messageList struct {
	t        *testing.T
	channels map[string]*codec.Channel
	messages []codec.Message
	metadata map[string]string
}

func newMessageList(t *testing.T) *messageList {
	return &messageList{t: t, channels: map[string]*codec.Channel{}}
}

func (p *messageList) add(topic string, ms int, m msgs.Message) {
	c := p.channels[topic]
	if c == nil {
		var err error
		c, err = codec.NewChannel(msgs.Library(), topic, m.TypeName(), codec.DefaultQoS())
		require.NoError(p.t, err)
		p.channels[topic] = c
	}
	data, err := cdr.Marshal(m)
	require.NoError(p.t, err)
	p.messages = append(p.messages, codec.Message{Channel: c, LogTime: int64(ms+1) * 1e6, Data: data})
}

// write writes the messages into a file, and opens it.
func (p *messageList) write() codec.Reader {
	path := filepath.Join(p.t.TempDir(), "x.mcap")
	w, err := formats.Create(path, codec.CreateOptions{Metadata: p.metadata})
	require.NoError(p.t, err)
	for i := range p.messages {
		require.NoError(p.t, w.Write(&p.messages[i]))
	}
	require.NoError(p.t, w.Close())
	r, err := formats.Open(path)
	require.NoError(p.t, err)
	return r
}

func (p *messageList) episodes(m *Mapping) []*episode.Episode {
	r, err := Episodes(p.write(), m)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { require.NoError(p.t, r.Close()) })
	all, err := r.Episodes()
	require.NoError(p.t, err)
	return all
}

func headerAt(ms int) std_msgs.Header {
	return std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: int32(ms / 1000), Nanosec: uint32(ms%1000) * 1e6}}
}

func jpegImage(ms int) *sensor_msgs.CompressedImage {
	return &sensor_msgs.CompressedImage{Header: headerAt(ms), Format: "rgb8; jpeg compressed bgr8",
		Data: []byte(picture1x1(ms))}
}

// picture1x1 has the markers of a JPEG of 1×1 pixels, but no image data.
func picture1x1(ms int) string {
	return fmt.Sprintf("\xff\xd8\xff\xc0\x00\x08\x08\x00\x01\x00\x01\x01%d\xff\xd9", ms)
}

func rawImage(ms int) *sensor_msgs.Image {
	return &sensor_msgs.Image{Header: headerAt(ms), Width: 2, Height: 1, Step: 6, Encoding: "rgb8",
		Data: []byte{1, 2, 3, 4, 5, byte(ms)}}
}

func jointState(ms int, names []string, positions ...float64) *sensor_msgs.JointState {
	return &sensor_msgs.JointState{Header: headerAt(ms), Name: names, Position: positions}
}

// turnedPose returns a pose that is turned by yaw, in rad.
func turnedPose(ms int, yaw float64) *geometry_msgs.PoseStamped {
	p := &geometry_msgs.PoseStamped{Header: headerAt(ms)}
	p.Pose.Position = geometry_msgs.Point{X: 1, Y: 2, Z: 3}
	p.Pose.Orientation = geometry_msgs.Quaternion{Z: math.Sin(yaw / 2), W: math.Cos(yaw / 2)}
	return p
}

// nanoseconds converts stamps from ms to ns.
func nanoseconds(stamps ...int64) []int64 {
	for i := range stamps {
		stamps[i] *= 1e6
	}
	return stamps
}

// readFrame returns the data of a frame.
func readFrame(t *testing.T, f episode.Frames, i int) string {
	got, err := f.Frame(i)
	require.NoError(t, err)
	return string(got.Data)
}

// TestEpisodesByNames reads an episode without a mapping.
func TestEpisodesByNames(t *testing.T) {
	p := newMessageList(t)
	both := []string{"a", "b"}
	for i := range 5 {
		now := 1000 + 100*i
		p.add("/wrist/image_raw/compressed", now, jpegImage(now))
		p.add("/wrist/image_raw", now, rawImage(now))
		p.add("/camera_0/image_raw", now+10, rawImage(now+10))
		p.add("/left/joint_states", now+20, jointState(now+20, both, float64(i), 2))
		p.add("/left/tool_pose", now+30, turnedPose(now+30, 0.5*float64(i)))
		p.add("/left/gripper", now+40, jointState(now+40, []string{"position"}, 0.1*float64(i)))
		p.add("/left/command/joint_states", now+50, jointState(now+50, both, float64(i)+1, 3))
		p.add("/arm_0/joint_states", now+60, &sensor_msgs.JointState{Header: headerAt(now + 60), Name: both,
			Position: []float64{1, 2}, Velocity: []float64{3, 4}, Effort: []float64{5, 6}})
		p.add("/odom_pose", now, turnedPose(now, 0))
	}
	all := p.episodes(nil)
	require.Len(t, all, 1)
	e := all[0]
	require.Equal(t, "19700101_000001", e.Name)
	require.Equal(t, int64(1e9), e.Start)
	require.Equal(t, int64(1.46e9), e.End)

	require.Len(t, e.Cameras, 2)
	require.Equal(t, "camera_0", e.Cameras[0].Name)
	require.Equal(t, "/camera_0/image_raw", e.Cameras[0].Topic)
	require.Equal(t, "camera_1", e.Cameras[1].Name)
	require.Equal(t, "/wrist/image_raw/compressed", e.Cameras[1].Topic)
	require.Equal(t, nanoseconds(1000, 1100, 1200, 1300, 1400), e.Cameras[1].Stamps)

	raw, err := e.Cameras[0].Open()
	require.NoError(t, err)
	got, err := raw.Frame(2)
	require.NoError(t, err)
	require.Equal(t, episode.Frame{Encoding: "rgb8", Width: 2, Height: 1, Step: 6,
		Data: []byte{1, 2, 3, 4, 5, 1210 & 0xff}}, got)
	compressed, err := e.Cameras[1].Open()
	require.NoError(t, err)
	for _, i := range []int{0, 1, 4, 4, 2, 3, 0} {
		require.Equal(t, picture1x1(1000+100*i), readFrame(t, compressed, i))
	}
	_, err = compressed.Frame(5)
	require.ErrorContains(t, err, "read frame 5 of /wrist/image_raw/compressed in ")
	require.NoError(t, raw.Close())
	require.NoError(t, compressed.Close())

	require.Len(t, e.Arms, 2)
	first, second := e.Arms[0], e.Arms[1]
	require.Equal(t, "arm_0", first.Name)
	require.Equal(t, "/arm_0/joint_states", first.Streams[episode.Joint].Topic)
	require.Equal(t, []align.Column{{Name: "a", Unit: "rad", Interp: align.Linear},
		{Name: "b", Unit: "rad", Interp: align.Linear}}, first.Streams[episode.Joint].Columns)
	require.Equal(t, []float64{3, 4}, first.Streams[episode.Velocity].Values[:2])
	require.Equal(t, []float64{5, 6}, first.Streams[episode.Effort].Values[:2])
	require.Equal(t, "arm_1", second.Name)
	require.Nil(t, second.Streams[episode.Velocity])
	require.Equal(t, "arm_1/command/joint", second.Streams[episode.CommandJoint].Name)
	require.Equal(t, []float64{1, 3, 2, 3}, second.Streams[episode.CommandJoint].Values[:4])
	require.Equal(t, []float64{0, 0.1}, second.Streams[episode.Gripper].Values[:2])
	require.Equal(t, nanoseconds(1030, 1130, 1230, 1330, 1430), second.Streams[episode.Pose].Stamps)
	require.InDeltaSlice(t, []float64{1, 2, 3, 0, 0, 0.5}, second.Streams[episode.Pose].Values[6:12], 1e-12)
	require.Equal(t, align.Column{Name: "rx", Unit: "rad", Interp: align.Euler},
		second.Streams[episode.Pose].Columns[3])
}

// TestJointsOfOneName checks that joints with equal names are distinguished by position, whether messages or a mapping
// name them.
func TestJointsOfOneName(t *testing.T) {
	for _, m := range []*Mapping{
		nil, {Arms: []Arm{{Name: "arm_0", Streams: Streams{episode.Joint: {Topic: "/arm_0/joint_states",
			Names: []string{"x", "finger", "finger"}}}}}},
		{Arms: []Arm{{Name: "arm_0", Streams: Streams{episode.Joint: {Topic: "/arm_0/joint_states",
			Names: []string{"x", "finger:finger", "finger:finger"}}}}}},
	} {
		p := newMessageList(t)
		for i := range 3 {
			now := 1000 + 100*i
			p.add("/arm_0/joint_states", now, jointState(now, []string{"x", "finger", "finger"}, 1, 2, float64(i)))
		}
		joint := p.episodes(m)[0].Arms[0].Streams[episode.Joint]
		require.Equal(t, []float64{1, 2, 0, 1, 2, 1, 1, 2, 2}, joint.Values)
		for i, name := range []string{"x", "finger", "finger"} {
			require.Equal(t, name, joint.Columns[i].Name)
		}
	}
}

// TestEpisodesByMapping reads an episode by a mapping with names, units, scales and missing values.
func TestEpisodesByMapping(t *testing.T) {
	p := newMessageList(t)
	for i := range 4 {
		now := 1000 + 100*i
		p.add("/joint_states", now, jointState(now, []string{"finger", "elbow", "shoulder"}, 0.04, float64(i), 90))
		p.add("/state", now, &std_msgs.Float64MultiArray{Data: []float64{100, 200, 300, 0, 0, 1}})
		p.add("/open", now, &std_msgs.Bool{Data: i > 1})
		p.add("/eye", now, jpegImage(now))
	}
	// Messages with only one of the joints, with none, and with fewer numbers than names.
	p.add("/joint_states", 1500, jointState(1500, []string{"elbow"}, 7))
	p.add("/joint_states", 1600, jointState(1600, []string{"wheel"}, 7))
	p.add("/joint_states", 1700, jointState(1700, []string{"elbow", "wheel"}, 7))
	m, err := parseMapping([]byte(`
task: stack
cameras: {eye: /eye}
arms:
  right:
    joint: {topic: /joint_states, names: ["shoulder:s", elbow], unit: deg}
    gripper: {topic: /joint_states, names: [finger], range: [0, 0.08]}
    device: {ip: 192.168.1.18, lens: {wide: true}}
    pose: {topic: /state, scale: 0.001}
    command: {gripper: {topic: /open, names: [position]}}
`))
	require.NoError(t, err)
	r, err := Episodes(p.write(), m)
	require.NoError(t, err)
	defer r.Close()
	all, err := r.Episodes()
	require.NoError(t, err)
	require.Equal(t, []string{"cannot be used: 1 of /joint_states [sensor_msgs/msg/JointState]: 2 names and 1 " +
		"number in position"}, r.Notes())
	e := all[0]
	require.Equal(t, "stack", e.Task)
	a := e.Arms[0]
	require.Equal(t, "right", a.Name)
	require.JSONEq(t, `{"topics": ["/state", "/joint_states", "/open"], "ip": "192.168.1.18", "lens": {"wide": true}}`,
		string(a.Device))
	require.Equal(t, []align.Column{{Name: "s", Unit: "deg", Interp: align.Linear},
		{Name: "elbow", Unit: "deg", Interp: align.Linear}}, a.Streams[episode.Joint].Columns)
	require.Equal(t, []float64{90, 0, 90, 1, 90, 2, 90, 3}, a.Streams[episode.Joint].Values[:8])
	require.Len(t, a.Streams[episode.Joint].Stamps, 5)
	require.True(t, align.IsMissing(a.Streams[episode.Joint].Values[8]))
	require.Equal(t, 7.0, a.Streams[episode.Joint].Values[9])
	require.Equal(t, [2]float64{0, 0.08}, a.GripperRange)
	require.Equal(t, []float64{0.04, 0.04, 0.04, 0.04}, a.Streams[episode.Gripper].Values)
	require.Equal(t, []float64{0.1, 0.2, 0.3, 0, 0, 1}, a.Streams[episode.Pose].Values[:6])
	require.Equal(t, 4, a.Streams[episode.Pose].Unstamped)
	require.Equal(t, nanoseconds(1001, 1101, 1201, 1301), a.Streams[episode.Pose].Stamps)
	require.Equal(t, []float64{0, 0, 1, 1}, a.Streams[episode.CommandGripper].Values)
}

// TestEpisodesOfATrigger checks that texts of a trigger divide a recording, and are the tasks of the episodes.
func TestEpisodesOfATrigger(t *testing.T) {
	p := newMessageList(t)
	record := func(from, to int) {
		for now := from; now < to; now += 100 {
			p.add("/camera_0/image/compressed", now, jpegImage(now))
			p.add("/arm_0/joint_states", now, jointState(now, []string{"a"}, float64(now)))
		}
	}
	record(1000, 1300)
	p.add("/task", 1300, &std_msgs.String{Data: "pick"})
	record(1300, 1500)
	p.add("/task", 1500, &std_msgs.String{Data: "pick"})
	record(1500, 1600)
	p.add("/task", 1600, &std_msgs.String{Data: "place"})
	record(1600, 1800)
	p.add("/task", 1800, &std_msgs.String{})
	record(1800, 1900)
	p.add("/task", 1900, &std_msgs.String{Data: "pick"})
	m := Default(infoOf(t, p.write()))
	m.Episodes.Topic = "/task"
	all := p.episodes(m)
	require.Len(t, all, 2)
	require.Equal(t, "pick", all[0].Task)
	require.Equal(t, nanoseconds(1300, 1400, 1500), all[0].Cameras[0].Stamps)
	require.Equal(t, "place", all[1].Task)
	require.Equal(t, "19700101_000001_1", all[1].Name)
	require.Equal(t, []float64{1600, 1700}, all[1].Arms[0].Streams[episode.Joint].Values)
	f, err := all[1].Cameras[0].Open()
	require.NoError(t, err)
	require.Equal(t, picture1x1(1700), readFrame(t, f, 1))
	require.Equal(t, picture1x1(1600), readFrame(t, f, 0))
	require.NoError(t, f.Close())
}

func infoOf(t *testing.T, r codec.Reader) *codec.Info {
	i, err := r.Info()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return i
}

// TestEpisodesBetweenPauses checks that a pause longer than Boundaries.Pause ends an episode.
func TestEpisodesBetweenPauses(t *testing.T) {
	p := newMessageList(t)
	for _, now := range []int{0, 100, 200, 3000, 3100, 9000} {
		p.add("/arm_0/joint_states", now+1000, jointState(now+1000, []string{"a"}, 1))
		p.add("/other", now+1050, &std_msgs.Bool{})
	}
	m := Default(infoOf(t, p.write()))
	m.Episodes.Pause = 2 * time.Second
	var lengths []int
	for _, e := range p.episodes(m) {
		lengths = append(lengths, len(e.Arms[0].Streams[episode.Joint].Stamps))
	}
	require.Equal(t, []int{3, 2, 1}, lengths)
}

// TestFramesOfTheSameTime reads frames with one LogTime. Some frames are before the episode, and one is no image.
func TestFramesOfTheSameTime(t *testing.T) {
	p := newMessageList(t)
	add := func(i int) {
		m := jpegImage(i)
		p.add("/camera_0/image/compressed", 1000, m)
	}
	add(1)
	add(2)
	p.add("/go", 1000, &std_msgs.Bool{Data: true})
	add(3)
	p.add("/camera_0/image/compressed", 1000, &sensor_msgs.CompressedImage{Header: headerAt(4), Format: "h264",
		Data: []byte("xxxx")})
	add(5)
	add(6)
	m := Default(infoOf(t, p.write()))
	m.Episodes.Topic = "/go"
	all := p.episodes(m)
	require.Equal(t, nanoseconds(3, 5, 6), all[0].Cameras[0].Stamps)
	f, err := all[0].Cameras[0].Open()
	require.NoError(t, err)
	defer f.Close()
	for _, i := range []int{1, 0, 2, 1} {
		require.Equal(t, picture1x1([]int{3, 5, 6}[i]), readFrame(t, f, i))
	}
}

// TestDamagedPictures checks that truncated pictures are skipped.
func TestDamagedPictures(t *testing.T) {
	p := newMessageList(t)
	for i := range 5 {
		m := jpegImage(1000 + i)
		if i == 2 {
			m.Data = m.Data[:len(m.Data)-1]
		}
		p.add("/camera_0/image/compressed", 1000+i, m)
	}
	r, err := Episodes(p.write(), nil)
	require.NoError(t, err)
	defer r.Close()
	all, err := r.Episodes()
	require.NoError(t, err)
	require.Equal(t, nanoseconds(1000, 1001, 1003, 1004), all[0].Cameras[0].Stamps)
	require.Equal(t, []codec.Loss{{Topic: "/camera_0/image/compressed", Messages: 1,
		What: "messages that cannot be used: the JPEG is cut off: its end is missing"}}, r.Lost.Losses())
	f, err := all[0].Cameras[0].Open()
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, picture1x1(1003), readFrame(t, f, 2))
}

// TestCompressedDepth decodes both formats of compressed_depth_image_transport, which stores mm of 16 bits, or the
// quantised inverse of m.
func TestCompressedDepth(t *testing.T) {
	const a, b = 1000, 20
	gray := image.NewGray16(image.Rect(0, 0, 3, 1))
	for x, q := range []uint16{0, 1020, 520} {
		gray.SetGray16(x, 0, color.Gray16{Y: q})
	}
	var file bytes.Buffer
	require.NoError(t, png.Encode(&file, gray))
	header := binary.LittleEndian.AppendUint32(make([]byte, 4), math.Float32bits(a))
	header = binary.LittleEndian.AppendUint32(header, math.Float32bits(b))
	for format, want := range map[string][]uint16{
		"16UC1; compressedDepth": {0, 1020, 520}, "32FC1; compressedDepth png": {0, 1000, 2000},
	} {
		p := newMessageList(t)
		p.add("/camera_0/image/compressed", 1000, &sensor_msgs.CompressedImage{Header: headerAt(1000), Format: format,
			Data: append(header, file.Bytes()...)})
		f, err := p.episodes(nil)[0].Cameras[0].Open()
		require.NoError(t, err)
		got, err := f.Frame(0)
		require.NoError(t, err)
		m, err := got.Decode()
		require.NoError(t, err)
		for x, mm := range want {
			require.Equal(t, color.Gray16{Y: mm}, m.At(x, 0), format)
		}
		require.NoError(t, f.Close())
	}
}

// TestEpisodesErrors reads recordings that do not fit a mapping.
func TestEpisodesErrors(t *testing.T) {
	p := newMessageList(t)
	p.add("/arm_0/joint_states", 1000, jointState(1000, []string{"a"}, 1))
	p.add("/flag", 1000, &std_msgs.Bool{})
	for text, want := range map[string]string{
		"cameras: {eye: /eye}":  "the recording has no topic of the mapping: /eye",
		"cameras: {eye: /flag}": "/flag [std_msgs/msg/Bool]: eye: std_msgs/msg/Bool is not an image",
		"arms: {a: {joint: {topic: /flag, fields: [x]}}}": "/flag [std_msgs/msg/Bool]: a/joint: path \"x\" in " +
			"std_msgs/msg/Bool: std_msgs/msg/Bool has no field \"x\"",
		"arms: {a: {joint: /arm_0/joint_states}}\nepisodes: {topic: /go}": "there is no topic /go, the trigger of " +
			"episodes",
		"arms: {a: {joint: /arm_0/joint_states}}\nepisodes: {topic: /flag}": "there is no episode: /flag never " +
			"begins one",
		"arms: {a: {joint: {topic: /arm_0/joint_states, names: [b]}}}": "there are no messages of cameras " +
			"and arms",
		"arms: {a: {joint: {topic: /arm_0/joint_states, fields: [header.frame_id]}}}": "does not lead to a number",
	} {
		m, err := parseMapping([]byte(text))
		require.NoError(t, err)
		r, err := Episodes(p.write(), m)
		if err == nil {
			_, err = r.Episodes()
		}
		require.ErrorContains(t, err, want)
	}
	_, err := Episodes(newMessageList(t).write(), nil)
	require.ErrorContains(t, err, "no topic has the name and type of a camera or an arm")
}

// record writes the messages into sessions, and returns the episodes of the sessions.
func (p *messageList) record(m *Mapping) []*episode.Episode {
	folder := p.t.TempDir()
	r, err := session.Record(filepath.Join(folder, "take"), session.Options{}, nil)
	require.NoError(p.t, err)
	w := NewWriter(r, m)
	for i := range p.messages {
		require.NoError(p.t, w.Write(&p.messages[i]))
	}
	require.NoError(p.t, w.Close())
	s, err := session.Open(nil, folder)
	require.NoError(p.t, err)
	all, err := s.Episodes()
	require.NoError(p.t, err)
	require.Empty(p.t, s.Damage)
	return all
}

// TestWriter writes sessions without a mapping, and reads them.
func TestWriter(t *testing.T) {
	p := newMessageList(t)
	p.add("/eye/image_raw", 1000, rawImage(1000))
	p.add("/eye/image_raw/compressed", 1010, jpegImage(1010))
	p.add("/camera_0/image/compressed", 1020, jpegImage(1020))
	p.add("/left/joint_states", 1030, jointState(1030, []string{"a"}, math.Pi/2))
	p.add("/left/joint_states", 1040, jointState(1040, []string{"a", "b"}, math.Pi, -math.Pi))
	p.add("/left/pose", 1050, turnedPose(1050, 0))
	all := p.record(nil)
	require.Len(t, all, 1)
	require.Len(t, all[0].Cameras, 2)
	require.Equal(t, nanoseconds(1000), all[0].Cameras[0].Stamps)
	require.Equal(t, nanoseconds(1020), all[0].Cameras[1].Stamps)
	a := all[0].Arms[0]
	require.Equal(t, nanoseconds(1030, 1040), a.Streams[episode.Joint].Stamps)
	require.InDeltaSlice(t, []float64{90, 180, -180},
		[]float64{a.Streams[episode.Joint].Values[0], a.Streams[episode.Joint].Values[2],
			a.Streams[episode.Joint].Values[3]},
		0)
	require.True(t, align.IsMissing(a.Streams[episode.Joint].Values[1]))
	require.Equal(t, []float64{1, 2, 3, 0, 0, 0}, a.Streams[episode.Pose].Values)
}

// TestWriterRefusesTopicsOfNoArm checks that a pose without joints in its namespace is an error.
func TestWriterRefusesTopicsOfNoArm(t *testing.T) {
	p := newMessageList(t)
	p.add("/left/pose", 1000, turnedPose(1000, 0))
	p.add("/left/joint_states", 1010, jointState(1010, []string{"a"}, 1))
	p.add("/left/pose", 1020, turnedPose(1020, 0))
	r, err := session.Record(filepath.Join(t.TempDir(), "take"), session.Options{}, nil)
	require.NoError(t, err)
	w := NewWriter(r, nil)
	require.EqualError(t, w.Write(&p.messages[0]), "/left/pose [geometry_msgs/msg/PoseStamped] is not recorded: it "+
		"belongs to no arm, which needs a sensor_msgs/msg/JointState in the same namespace; robot_mapping can map it")
	require.NoError(t, w.Write(&p.messages[1]))
	require.NoError(t, w.Write(&p.messages[2]))
	require.NoError(t, w.Close())
}

// TestWriterSplits checks that each episode of a trigger becomes a session.
func TestWriterSplits(t *testing.T) {
	p := newMessageList(t)
	for i, on := range []bool{false, true, true, false, true} {
		now := 1000 + 100*i
		p.add("/go", now, &std_msgs.Bool{Data: on})
		p.add("/arm_0/joint_states", now+1, jointState(now+1, []string{"a"}, 1))
	}
	all := p.record(&Mapping{Episodes: Boundaries{Topic: "/go"},
		Arms: []Arm{{Name: "arm_0", Streams: Streams{episode.Joint: {Topic: "/arm_0/joint_states"}}}}})
	require.Len(t, all, 2)
	require.Equal(t, nanoseconds(1101, 1201), all[0].Arms[0].Streams[episode.Joint].Stamps)
	require.Equal(t, nanoseconds(1401), all[1].Arms[0].Streams[episode.Joint].Stamps)
}

// TestTriggerDiscards checks that the trigger discards the current episode, or else the episode that ended last, both
// in a recording of messages and in sessions.
func TestTriggerDiscards(t *testing.T) {
	type text = std_msgs.String
	key := func(value, discard string) msgs.Message { return &diagnostic_msgs.KeyValue{Key: value, Value: discard} }
	number := func(n int32) msgs.Message { return &std_msgs.Int32{Data: n} }
	for name, c := range map[string]struct {
		b        Boundaries
		triggers []msgs.Message // each is followed by a message of the arm
		silent   []int          // indices of triggers that no message of the arm follows
		want     string         // samples of the episodes, and whether they are discarded
	}{
		"text": {triggers: []msgs.Message{&text{Data: "a"}, &text{Data: "discard"}, &text{Data: "a"}}, want: "0! 2"},
		"ended": {triggers: []msgs.Message{&text{Data: "a"}, &text{}, &text{Data: "discard"},
			&text{Data: "b"}}, want: "0! 3"},
		"before": {triggers: []msgs.Message{&text{Data: "discard"}, &text{Data: "a"}, &text{Data: "b"}}, want: "1 2"},
		"nothing was recorded": {triggers: []msgs.Message{&text{Data: "a"}, &text{Data: "b"}, &text{Data: "discard"},
			&text{Data: "c"}}, silent: []int{1}, want: "0 3"},
		"nothing was recorded of the last": {triggers: []msgs.Message{&text{Data: "a"}, &text{Data: "b"}, &text{},
			&text{Data: "discard"}, &text{Data: "c"}}, silent: []int{1}, want: "0 4"},
		"other text": {b: Boundaries{Discard: "bad"}, triggers: []msgs.Message{&text{Data: "discard"},
			&text{Data: "bad"}, &text{Data: "bad"}, &text{Data: "c"}}, want: "0! 3"},
		"number": {b: Boundaries{Discard: "-1"}, triggers: []msgs.Message{number(1), number(2), number(-1), number(-1),
			number(3)}, want: "0 1! 4"},
		"number that begins": {triggers: []msgs.Message{number(1), number(-1), number(0)}, want: "0 1"},
		"field": {b: Boundaries{Field: "key", Discard: "value"}, triggers: []msgs.Message{key("a", ""), key("a", "1"),
			key("a", "1"), key("b", ""), key("", "0"), key("", "1"), key("c", "1"), key("d", "1")},
			want: "0,1,2! 3! 6! 7"},
		"field before messages": {b: Boundaries{Field: "key", Discard: "value"}, triggers: []msgs.Message{key("a", ""),
			key("a", "1"), key("b", "")}, silent: []int{0}, want: "1! 2"},
		"no value is left": {triggers: []msgs.Message{&std_msgs.Bool{Data: true}, &std_msgs.Bool{},
			&std_msgs.Bool{Data: true}}, want: "0 2"},
		"empty": {triggers: []msgs.Message{&std_msgs.Empty{}, &std_msgs.Empty{}}, want: "0 1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newMessageList(t)
			for i, trigger := range c.triggers {
				p.add("/task", 1000+10*i, trigger)
				if !slices.Contains(c.silent, i) {
					p.add("/arm_0/joint_states", 1005+10*i, jointState(1005+10*i, []string{"a"}, float64(i)))
				}
			}
			m := &Mapping{Episodes: c.b, Arms: []Arm{{Name: "arm_0",
				Streams: Streams{episode.Joint: {Topic: "/arm_0/joint_states"}}}}}
			m.Episodes.Topic = "/task"
			show := func(all []*episode.Episode) string {
				var list []string
				for _, e := range all {
					var samples []string
					for _, stamp := range e.Arms[0].Streams[episode.Joint].Stamps {
						samples = append(samples, fmt.Sprint((stamp/1e6-1005)/10))
					}
					one := strings.Join(samples, ",")
					if e.Discarded {
						one += "!"
					}
					list = append(list, one)
				}
				return strings.Join(list, " ")
			}
			require.Equal(t, c.want, show(p.episodes(m)))
			require.Equal(t, c.want, show(p.record(m)))
		})
	}
	for name, c := range map[string]struct {
		b       Boundaries
		message msgs.Message
		want    string
	}{
		"bool": {Boundaries{Discard: "x"}, &std_msgs.Bool{},
			`"x" is no field of std_msgs/msg/Bool, and no value is left`},
		"zero": {Boundaries{Discard: "0"}, number(1),
			`"0" is no field of std_msgs/msg/Int32, and no number that discards`},
		"number": {Boundaries{Discard: "x"}, number(1),
			`"x" is no field of std_msgs/msg/Int32, and no number that discards`},
		"empty": {Boundaries{Discard: "x"}, &std_msgs.Empty{},
			`"x" is no field of std_msgs/msg/Empty, and no value is left`},
		"nested": {Boundaries{Field: "frame_id", Discard: "stamp"}, &std_msgs.Header{}, ""}, // frame_id is a text
	} {
		t.Run(name, func(t *testing.T) {
			p := newMessageList(t)
			p.add("/task", 1000, c.message)
			p.add("/arm_0/joint_states", 1000, jointState(1000, []string{"a"}, 1))
			m := &Mapping{Episodes: c.b, Arms: []Arm{{Name: "arm_0",
				Streams: Streams{episode.Joint: {Topic: "/arm_0/joint_states"}}}}}
			m.Episodes.Topic = "/task"
			r, err := Episodes(p.write(), m)
			if c.want == "" {
				require.NoError(t, err)
				require.NoError(t, r.Close())
				return
			}
			require.ErrorContains(t, err, "/task")
			require.ErrorContains(t, err, "trigger of episodes: discard: "+c.want)
		})
	}
}

// TestWriterDiscards checks that Discard names the episode that it marks, and marks all sessions of the episode.
func TestWriterDiscards(t *testing.T) {
	folder := t.TempDir()
	path := func(n int) string {
		if n == 0 {
			return filepath.Join(folder, "take")
		}
		return filepath.Join(folder, fmt.Sprint("take_", n))
	}
	create := func(m *Mapping) *Writer {
		r, err := session.Record(path(0), session.Options{Overwrite: true}, nil)
		require.NoError(t, err)
		return NewWriter(r, m)
	}
	m := &Mapping{Episodes: Boundaries{Topic: "/task"},
		Arms: []Arm{{Name: "arm_0", Streams: Streams{episode.Joint: {Topic: "/arm_0/joint_states"}}}}}
	p, now := newMessageList(t), 1000
	w := create(m)
	write := func(topic string, message msgs.Message) {
		now++
		p.add(topic, now, message)
		require.NoError(t, w.Write(&p.messages[len(p.messages)-1]))
	}
	sample := func() { write("/arm_0/joint_states", jointState(now+1, []string{"a"}, 1)) }
	task := func(name string) { write("/task", &std_msgs.String{Data: name}) }
	requireDiscard := func(want string, paths ...int) {
		t.Helper()
		description, got, err := w.Discard()
		require.NoError(t, err)
		var all []string
		for _, n := range paths {
			all = append(all, path(n))
		}
		require.Equal(t, want, description)
		require.Equal(t, all, got)
	}
	isDiscarded := func(n int) bool {
		s, err := session.Open(nil, path(n))
		require.NoError(t, err)
		all, err := s.Episodes()
		require.NoError(t, err)
		require.Len(t, all, 1)
		return all[0].Discarded
	}
	sample()
	_, _, err := w.Discard()
	require.EqualError(t, err, "no episode has begun; a message on /task begins one")
	task("a")
	requireDiscard("the episode that has begun; nothing of it is recorded yet")
	require.False(t, isDiscarded(0))
	sample()
	require.True(t, isDiscarded(0)) // before the recorder ends
	task("")
	task("b")
	sample()
	require.NoError(t, w.Split()) // as for a size limit
	sample()
	requireDiscard("the episode that is being recorded", 1, 2)
	require.NoError(t, w.Split())
	sample()
	for n := 1; n <= 3; n++ {
		require.True(t, isDiscarded(n))
	}
	task("")
	task("c")
	sample()
	require.Equal(t, path(4), w.File())
	require.False(t, isDiscarded(4))
	task("")
	requireDiscard("the episode that ended last", 4)
	requireDiscard("the episode that ended last", 4)
	require.True(t, isDiscarded(4))
	require.Equal(t, 3, w.Discarded())
	task("d")
	sample()
	require.NoError(t, w.Close())
	require.False(t, isDiscarded(5))
	requireDiscard("the episode that ended last", 5)
	require.True(t, isDiscarded(5))
	require.NoError(t, os.RemoveAll(path(5)))
	_, _, err = w.Discard()
	require.ErrorContains(t, err, "discard "+path(5)+": file does not exist")

	// Without boundaries, each session is an episode.
	m.Episodes = Boundaries{}
	w = create(m)
	sample()
	require.NoError(t, w.Split())
	sample()
	requireDiscard("the episode that is being recorded", 5) // after the existing episodes
	require.NoError(t, w.Close())
	require.False(t, isDiscarded(0))
}
