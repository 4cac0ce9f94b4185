package episode

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/training/align"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/sensor_msgs"
)

// memorySource is a Source of episodes in memory.
type memorySource struct {
	Findings
	episodes []*Episode
	closed   bool
}

func (s *memorySource) Episodes() ([]*Episode, error) { return s.episodes, nil }
func (s *memorySource) Close() error                  { s.closed = true; return nil }

// memoryFrames implements Frames. The data of frame i begins with i.
type memoryFrames struct {
	encoding string
	broken   int  // index of a frame that cannot be read; 0: none
	open     *int // number of open cameras
}

func (p *memoryFrames) Frame(i int) (Frame, error) {
	if p.broken != 0 && i == p.broken {
		return Frame{}, fmt.Errorf("frame %d is broken", i)
	}
	return Frame{Encoding: p.encoding, Data: []byte{byte(i), 1, 2}, Width: 1, Height: 1, Step: 3}, nil
}

func (p *memoryFrames) Close() error { *p.open--; return nil }

// setFrames sets the frames of a camera, and returns the camera.
func setFrames(c *Camera, p memoryFrames) *Camera {
	c.Open = func() (Frames, error) { *p.open++; return &p, nil }
	c.Raw = p.encoding == "rgb8"
	return c
}

// newEpisodes returns an episode with two cameras and all kinds of streams, and an episode with an unsorted pose. open
// counts the open cameras.
func newEpisodes(open *int) []*Episode {
	pose := newVector("arm_0/pose", 4, func(i int) float64 { return 0.25 * float64(i) },
		"x", "y", "z", "rx", "ry", "rz")
	for c := 3; c < 6; c++ {
		pose.Columns[c] = align.Column{Name: pose.Columns[c].Name, Unit: "rad", Interp: align.Euler}
	}
	joint := newVector("arm_0/joint", 4, func(i int) float64 { return 90 * float64(i) }, "joint_0", "joint_1")
	joint.Columns[0].Unit, joint.Columns[1].Unit = "deg", "deg"
	effort := newVector("arm_0/effort", 5, func(i int) float64 { return float64(i) }, "joint_0", "joint_1")
	gripper := newVector("arm_0/gripper", 3, func(i int) float64 { return float64(i) }, "force", "position")
	gripper.Values[2] = align.Missing()
	command := newVector("arm_0/command/joint", 1, func(int) float64 { return 1 }, "joint_0", "joint_1")
	unsorted := newVector("arm_0/pose", 2, func(i int) float64 { return float64(i) }, "a", "b")
	unsorted.Stamps = []int64{2e9 + 10, 2e9 + 5}
	return []*Episode{
		{
			Name: "first",
			Cameras: []*Camera{setFrames(newCamera("camera_0", 3), memoryFrames{"jpeg", 0, open}),
				setFrames(newCamera("camera_1", 2), memoryFrames{"rgb8", 0, open})},
			Arms: []*Arm{{Name: "arm_0", Streams: Streams{Pose: pose, Joint: joint, Effort: effort, Gripper: gripper,
				CommandJoint: command}}},
		},
		{Name: "second", Arms: []*Arm{{Name: "arm_0", Streams: Streams{Pose: unsorted}}}},
	}
}

// read returns the topics and times of all messages, and the last payload on each topic.
func read(t *testing.T, r codec.Reader, q codec.Query) (list []string, payloads map[string][]byte) {
	it, err := r.Read(q)
	require.NoError(t, err)
	defer it.Close()
	payloads = map[string][]byte{}
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return list, payloads
		}
		require.NoError(t, err)
		list = append(list, fmt.Sprintf("%s %d", m.Channel.Topic, m.LogTime-1e9))
		payloads[m.Channel.Topic+" "+m.Channel.Type] = append([]byte(nil), m.Data...)
	}
}

// TestReader reads two episodes as messages. Messages, Info and open cameras are checked.
func TestReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "take")
	require.NoError(t, os.WriteFile(path, make([]byte, 1234), 0o600))
	open := 0
	source := &memorySource{episodes: newEpisodes(&open)}
	r := NewReader(nil, "session", path, source)
	list, payloads := read(t, r, codec.Query{})
	require.Equal(t, []string{
		"/camera_0/image/compressed 0", "/camera_1/image_raw 0", "/arm_0/pose 0", "/arm_0/joint_states 0",
		"/arm_0/gripper 0",
		"/arm_0/command/joint_states 0",
		"/arm_0/pose 10000000", "/arm_0/joint_states 10000000", "/arm_0/gripper 10000000",
		"/arm_0/pose 20000000", "/arm_0/joint_states 20000000", "/arm_0/gripper 20000000",
		"/camera_0/image/compressed 30000000", "/camera_1/image_raw 30000000", "/arm_0/pose 30000000",
		"/arm_0/joint_states 30000000",
		"/arm_0/joint_states 40000000",
		"/camera_0/image/compressed 60000000",
		"/arm_0/pose 1000000005", "/arm_0/pose 1000000010",
	}, list)
	require.Zero(t, open, "cameras are closed")

	var joints sensor_msgs.JointState
	require.NoError(t, cdr.Unmarshal(payloads["/arm_0/joint_states sensor_msgs/msg/JointState"], &joints))
	require.Empty(t, joints.Position, "the last message has only an effort")
	require.Equal(t, []float64{4, 4}, joints.Effort)
	var compressed sensor_msgs.CompressedImage
	require.NoError(t, cdr.Unmarshal(payloads["/camera_0/image/compressed sensor_msgs/msg/CompressedImage"],
		&compressed))
	require.Equal(t, "jpeg", compressed.Format)
	require.Equal(t, []byte{2, 1, 2}, compressed.Data)
	require.Equal(t, int32(1), compressed.Header.Stamp.Sec)
	require.Equal(t, uint32(6e7), compressed.Header.Stamp.Nanosec)
	var image sensor_msgs.Image
	require.NoError(t, cdr.Unmarshal(payloads["/camera_1/image_raw sensor_msgs/msg/Image"], &image))
	require.Equal(t, "rgb8", image.Encoding)
	require.Equal(t, []byte{1, 1, 2}, image.Data)
	var pose geometry_msgs.PoseStamped
	require.NoError(t, cdr.Unmarshal(payloads["/arm_0/pose geometry_msgs/msg/PoseStamped"], &pose))
	require.Equal(t, 0.75, pose.Pose.Position.Z)
	q := pose.Pose.Orientation
	roll, pitch, yaw := align.ToEuler(q.X, q.Y, q.Z, q.W)
	require.InDeltaSlice(t, []float64{0.75, 0.75, 0.75}, []float64{roll, pitch, yaw}, 1e-12)
	var other sensor_msgs.JointState
	require.NoError(t, cdr.Unmarshal(payloads["/arm_0/pose sensor_msgs/msg/JointState"], &other))
	require.Equal(t, []string{"a", "b"}, other.Name, "the columns are not those of a pose")
	require.Equal(t, []float64{0, 0}, other.Position)

	info, err := r.Info()
	require.NoError(t, err)
	require.Equal(t, uint64(len(list)), info.MessageCount)
	require.Equal(t, int64(1234), info.Size)
	require.Equal(t, int64(1e9), info.StartTime)
	require.Equal(t, int64(2e9+10), info.EndTime)
	require.Len(t, info.Topics, 7)
	require.NotEmpty(t, info.Topics[0].Channel.Schema.Data)
	details := info.Extra.(Details)
	require.Len(t, details.Episodes, 2)
	require.InDelta(t, 100/3.0, details.Episodes[0].Cameras[0].Rate, 1e-9)
	require.InDelta(t, 0.06, details.Episodes[0].Duration, 1e-9)
	require.Contains(t, info.Metadata[MetadataKey], `"first"`)

	require.NoError(t, r.Close())
	require.True(t, source.closed)
}

// TestReaderQuery reads messages of a time range without a topic, and the last message of each topic.
func TestReaderQuery(t *testing.T) {
	open := 0
	r := NewReader(nil, "session", t.TempDir(), &memorySource{episodes: newEpisodes(&open)})
	list, _ := read(t, r, codec.Query{
		Start: 1e9 + 1e7, End: 1e9 + 3e7, Topics: func(c *codec.Channel) bool { return c.Topic != "/arm_0/pose" },
	})
	require.Equal(t, []string{
		"/arm_0/joint_states 10000000", "/arm_0/gripper 10000000", "/arm_0/joint_states 20000000",
		"/arm_0/gripper 20000000",
	}, list)

	it, err := r.Read(codec.Query{End: 1e9 + 3e7, Last: func(c *codec.Channel) int {
		if c.Topic == "/camera_0/image/compressed" {
			return 0
		}
		return 1
	}})
	require.NoError(t, err)
	defer it.Close()
	var latest []string
	for m, err := it.Next(); err == nil; m, err = it.Next() {
		latest = append(latest, fmt.Sprintf("%s %d", m.Channel.Topic, m.LogTime-1e9))
	}
	require.Equal(t, []string{
		"/camera_1/image_raw 0", "/arm_0/command/joint_states 0", "/arm_0/pose 20000000",
		"/arm_0/joint_states 20000000",
		"/arm_0/gripper 20000000",
	}, latest)
}

// TestReaderValues checks the contents of messages: joints become rad, and missing values are omitted.
func TestReaderValues(t *testing.T) {
	open := 0
	r := NewReader(nil, "session", t.TempDir(), &memorySource{episodes: newEpisodes(&open)})
	_, payloads := read(t, r, codec.Query{End: 1e9 + 2e7})
	var joints, gripper sensor_msgs.JointState
	require.NoError(t, cdr.Unmarshal(payloads["/arm_0/joint_states sensor_msgs/msg/JointState"], &joints))
	require.Equal(t, []string{"joint_0", "joint_1"}, joints.Name)
	require.InDeltaSlice(t, []float64{math.Pi / 2, math.Pi / 2}, joints.Position, 1e-15)
	require.Equal(t, []float64{1, 1}, joints.Effort)
	require.NoError(t, cdr.Unmarshal(payloads["/arm_0/gripper sensor_msgs/msg/JointState"], &gripper))
	require.Equal(t, []string{"position"}, gripper.Name, "the force is missing")
	require.Equal(t, []float64{1}, gripper.Position)
}

// TestReaderDamage reads a broken frame and a source with damage. With Query.Damaged, all damage must be reported and
// all other messages read. Without, the broken frame must end the iteration.
func TestReaderDamage(t *testing.T) {
	open := 0
	broken := &Episode{Name: "broken", Cameras: []*Camera{setFrames(newCamera("camera_0", 4),
		memoryFrames{"jpeg", 2, &open})}}
	source := &memorySource{episodes: []*Episode{broken},
		Findings: Findings{Damage: []error{errors.New("a table is broken")}}}
	r := NewReader(nil, "session", t.TempDir(), source)

	var reported []string
	list, _ := read(t, r, codec.Query{Damaged: func(err error) { reported = append(reported, err.Error()) }})
	require.Len(t, list, 3)
	require.Len(t, reported, 2)
	require.Equal(t, "a table is broken", reported[0])
	require.ErrorContains(t, errors.New(reported[1]), "/camera_0/image/compressed")

	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	for range 2 {
		_, err = it.Next()
		require.NoError(t, err)
	}
	for range 2 {
		_, err = it.Next()
		require.ErrorContains(t, err, "frame 2 is broken")
	}
	require.NoError(t, it.Close())
	require.Zero(t, open)

	broken.Cameras = broken.Cameras[:0]
	it, err = NewReader(nil, "session", t.TempDir(), source).Read(codec.Query{})
	require.NoError(t, err)
	_, err = it.Next()
	require.ErrorContains(t, err, "a table is broken")

	info, err := r.Info()
	require.NoError(t, err)
	require.Equal(t, codec.EventDamage, info.Events[0].Kind)
}

// TestReaderPoses reads poses with quaternions and with angles in degrees, missing values and stamps beyond a header.
func TestReaderPoses(t *testing.T) {
	turned := newVector("tool/pose", 3, func(i int) float64 { return float64(i) },
		"x", "y", "z", "qx", "qy", "qz", "qw")
	for i := range 3 {
		copy(turned.Values[i*7+3:], []float64{0, 0, 0.6, 0.8})
	}
	turned.Values[7] = align.Missing()
	turned.Stamps = []int64{-5, 3e9, 4e18} // in 1969, and later than a header can hold
	degrees := newVector("tool/command/pose", 1, func(int) float64 { return 0 }, "x", "y", "z", "rx", "ry", "rz")
	degrees.Columns[5].Unit = "deg"
	degrees.Values[5] = 90
	e := &Episode{Name: "one", Arms: []*Arm{{Name: "left tool", Streams: Streams{Pose: turned, CommandPose: degrees}}}}
	r := NewReader(nil, "session", t.TempDir(), &memorySource{episodes: []*Episode{e}})
	list, payloads := read(t, r, codec.Query{Start: math.MinInt64})
	require.Equal(t, []string{"/left_tool/pose -1000000005", "/left_tool/command/pose 0", "/left_tool/pose 2000000000",
		"/left_tool/pose 3999999999000000000"}, list)
	var m geometry_msgs.PoseStamped
	require.NoError(t, cdr.Unmarshal(payloads["/left_tool/pose geometry_msgs/msg/PoseStamped"], &m))
	require.Equal(t, int32(math.MaxInt32), m.Header.Stamp.Sec)
	require.Equal(t, geometry_msgs.Quaternion{Z: 0.6, W: 0.8}, m.Pose.Orientation)
	require.NoError(t, cdr.Unmarshal(payloads["/left_tool/command/pose geometry_msgs/msg/PoseStamped"], &m))
	require.InDelta(t, math.Sqrt2/2, m.Pose.Orientation.Z, 1e-15)
	_, payloads = read(t, r, codec.Query{End: 4e9})
	require.NoError(t, cdr.Unmarshal(payloads["/left_tool/pose geometry_msgs/msg/PoseStamped"], &m))
	require.Equal(t, geometry_msgs.Point{X: 0, Y: 1, Z: 1}, m.Pose.Position, "x must come from the previous sample")

	turned.Values = turned.Values[:20]
	_, err := NewReader(nil, "session", "take", &memorySource{episodes: []*Episode{e}}).Info()
	require.EqualError(t, err, "read take: one: stream tool/pose has 20 numbers for 3 samples of 7 columns, want 21")
}

// truncatedFrames implements Frames of a file that ends too early.
type truncatedFrames struct{}

func (f truncatedFrames) Frame(int) (Frame, error) { return Frame{}, fmt.Errorf("a video: %w", io.EOF) }
func (f truncatedFrames) Close() error             { return nil }

// TestReaderEndOfImages reads a camera whose file ends early or is missing. All other messages must be read, and a
// missing file must be opened and reported once.
func TestReaderEndOfImages(t *testing.T) {
	open := 0
	e := newEpisodes(&open)[0]
	e.Cameras[0].Open = func() (Frames, error) { return truncatedFrames{}, nil }
	r := NewReader(nil, "session", t.TempDir(), &memorySource{episodes: []*Episode{e}})
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	_, err = it.Next()
	require.ErrorContains(t, err, "/camera_0/image/compressed at 1000000000")
	require.NotErrorIs(t, err, io.EOF)
	require.NoError(t, it.Close())

	opened := 0
	e.Cameras[0].Open = func() (Frames, error) { opened++; return nil, errors.New("no ffmpeg") }
	damaged := 0
	list, _ := read(t, r, codec.Query{Damaged: func(error) { damaged++ }})
	require.Len(t, list, 20-3-2, "messages without camera_0 and without the second episode")
	require.Equal(t, 1, opened)
	require.Equal(t, 1, damaged)
}

// TestReaderMissing checks that Info opens no camera, that it has an event for a missing file, and that it lists the
// channel of the missing images.
func TestReaderMissing(t *testing.T) {
	open := 0
	episodes := newEpisodes(&open)
	for _, c := range episodes[0].Cameras {
		c.Open = func() (Frames, error) { t.Error(c.Name + " is opened"); return nil, io.EOF }
	}
	missing := &MissingFileError{Path: "videos/top.mp4", Camera: "top", Raw: true, Images: 7, Err: os.ErrNotExist}
	r := NewReader(nil, "lerobot", t.TempDir(), &memorySource{episodes: episodes,
		Findings: Findings{Damage: []error{missing}}})
	info, err := r.Info()
	require.NoError(t, err)
	last := info.Topics[len(info.Topics)-1]
	require.Equal(t, "/top/image_raw", last.Channel.Topic)
	require.Zero(t, last.MessageCount)
	require.Equal(t, []codec.Event{{Kind: codec.EventMissing, Topic: "/top/image_raw",
		Text: "7 images of top are missing: videos/top.mp4: file does not exist"}}, info.Events[:1])
	require.Equal(t, []*MissingFileError{missing}, r.Missing())
	require.Same(t, last.Channel, missing.Channel)
}

// TestReaderNames reads cameras whose names are invalid in topics or become equal. Each camera must have a topic of its
// own.
func TestReaderNames(t *testing.T) {
	open := 0
	first, second := &Episode{Name: "first"}, &Episode{Name: "second"}
	for _, name := range []string{"左", "left-cam", "left_cam", "右", "2nd"} {
		first.Cameras = append(first.Cameras, setFrames(newCamera(name, 1), memoryFrames{"jpeg", 0, &open}))
	}
	second.Cameras = []*Camera{first.Cameras[3], first.Cameras[2]}
	r := NewReader(nil, "x", "", &memorySource{episodes: []*Episode{first, second}})
	list, _ := read(t, r, codec.Query{})
	require.Equal(t, []string{
		"/device__/image/compressed 0", "/left_cam/image/compressed 0", "/left_cam_2/image/compressed 0",
		"/device___2/image/compressed 0", "/device_2nd/image/compressed 0",
		"/device___2/image/compressed 0", "/left_cam_2/image/compressed 0",
	}, list)
}
