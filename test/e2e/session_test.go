package e2e

import (
	"bytes"
	"image"
	"image/jpeg"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/session"
	"tapedeck/codec/training/episode"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

// TestSessionOverDDS checks that a recorded session has the data of a camera and an arm with their stamps.
func TestSessionOverDDS(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	require.NoError(t, os.WriteFile(g.path("robot.yaml"), []byte(`recorder:
  ros__parameters:
    robot:
      task: pick up the cube
      cameras: {camera_0: /wrist/image/compressed, camera_1: /overhead}
      arms: {arm_0: {joint: /joint_states, gripper: {topic: /gripper, range: [0, 1000]}}}
`), 0o666))
	recorder := g.start("recorder", "-s", "session", "-o", "take", "--ros-args", "--params-file", "robot.yaml")
	node := g.open("robot")
	camera := g.advertise(node, "/wrist/image/compressed", "sensor_msgs/msg/CompressedImage", keepAll())
	raw := g.advertise(node, "/overhead", "sensor_msgs/msg/Image", keepAll())
	joints := g.advertise(node, "/joint_states", "sensor_msgs/msg/JointState", keepAll())
	grip := g.advertise(node, "/gripper", "sensor_msgs/msg/JointState", keepAll())

	var picture bytes.Buffer
	require.NoError(t, jpeg.Encode(&picture, image.NewGray(image.Rect(0, 0, 16, 16)), nil))
	const frames, perFrame = 20, 5
	var frameStamps, jointStamps []int64
	header := func(ms int) std_msgs.Header {
		at := time.Unix(1764000000, int64(ms)*1e6+123)
		return std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: int32(at.Unix()), Nanosec: uint32(at.Nanosecond())}}
	}
	ns := func(h std_msgs.Header) int64 { return int64(h.Stamp.Sec)*1e9 + int64(h.Stamp.Nanosec) }
	for i := range frames * perFrame {
		h := header(10 * i)
		jointStamps = append(jointStamps, ns(h))
		require.NoError(t, joints.Publish(marshal(t,
			&sensor_msgs.JointState{Header: h, Name: []string{"a", "b"}, Position: []float64{0.1 * float64(i), -1}})))
		if i%perFrame > 0 {
			continue
		}
		frameStamps = append(frameStamps, ns(h))
		require.NoError(t, grip.Publish(marshal(t,
			&sensor_msgs.JointState{Header: h, Name: []string{"position"}, Position: []float64{float64(10 * i)}})))
		require.NoError(t, camera.Publish(marshal(t,
			&sensor_msgs.CompressedImage{Header: h, Format: "jpeg", Data: picture.Bytes()})))
		require.NoError(t, raw.Publish(marshal(t,
			&sensor_msgs.Image{Header: h, Width: 4, Height: 2, Step: 12, Encoding: "bgr8",
				Data: bytes.Repeat([]byte{byte(i), 1, 2}, 8)})))
	}
	// The session can be read while it is being recorded.
	await(t, func() bool {
		s, err := session.Open(nil, g.path("take"))
		if err != nil {
			return false
		}
		defer s.Close()
		list, err := s.Episodes()
		require.NoError(t, err)
		require.True(t, s.Incomplete)
		return len(list[0].Arms) == 1 && list[0].Arms[0].Streams[episode.Joint] != nil &&
			len(list[0].Arms[0].Streams[episode.Joint].Stamps) == len(jointStamps) &&
			list[0].Arms[0].Streams[episode.Gripper] != nil &&
			len(list[0].Arms[0].Streams[episode.Gripper].Stamps) == frames &&
			len(list[0].Cameras) == 2 && len(list[0].Cameras[0].Stamps) == frames &&
			len(list[0].Cameras[1].Stamps) == frames
	})
	recorder.Interrupt()

	s, err := session.Open(nil, g.path("take"))
	require.NoError(t, err)
	defer s.Close()
	list, err := s.Episodes()
	require.NoError(t, err)
	require.Empty(t, s.Damage)
	require.False(t, s.Incomplete)
	e := list[0]
	require.Equal(t, "pick up the cube", e.Task)
	require.Equal(t, frameStamps, e.Cameras[0].Stamps)
	require.Equal(t, frameStamps, e.Cameras[1].Stamps)
	require.Equal(t, jointStamps, e.Arms[0].Streams[episode.Joint].Stamps)
	require.Equal(t, frameStamps, e.Arms[0].Streams[episode.Gripper].Stamps)
	require.Equal(t, [2]float64{0, 1000}, e.Arms[0].GripperRange)
	pictures, err := e.Cameras[0].Open()
	require.NoError(t, err)
	defer pictures.Close()
	f, err := pictures.Frame(frames - 1)
	require.NoError(t, err)
	require.Equal(t, picture.Bytes(), f.Data)

	// Other commands read the session as a recording of ROS 2 messages.
	r, err := formats.Open(g.path("take"))
	require.NoError(t, err)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err)
	require.True(t, info.Complete)
	require.EqualValues(t, 3*frames+frames*perFrame, info.MessageCount)
	require.Contains(t, g.run(0, "converter", "info", "take"), "session")
}

// TestDiscardedEpisode checks that a discarded episode stays discarded if the recorder is killed, and that a conversion
// can select it.
func TestDiscardedEpisode(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	recorder := g.start("recorder", "-s", "session", "-o", "take", "/arm_0/joint_states")
	node := g.open("robot")
	joints := g.advertise(node, "/arm_0/joint_states", "sensor_msgs/msg/JointState", keepAll())
	require.NoError(t, joints.Publish(marshal(t, &sensor_msgs.JointState{Header: std_msgs.Header{
		Stamp: builtin_interfaces.Time{Sec: 1764000000}}, Name: []string{"a"}, Position: []float64{1}})))
	await(t, func() bool {
		s, err := session.Open(nil, g.path("take"))
		if err != nil {
			return false
		}
		defer s.Close()
		list, err := s.Episodes()
		require.NoError(t, err)
		return len(list[0].Arms) == 1
	})
	require.Contains(t, g.remote(0, "recorder", "discard"),
		"/recorder: discarded the episode that is being recorded, "+g.path("take")+"\n")
	require.Contains(t, g.remote(0, "recorder", "status"), ", 1 episode discarded\n")
	recorder.Kill()
	require.Contains(t, g.run(1, "converter", "info", "take"), ", discarded\n")
	require.Contains(t, g.run(1, "converter", "take", "take.mcap"),
		"no episode is left, as all were discarded while they were recorded; --episodes 0")
	g.run(0, "converter", "recover", "take")
	require.Contains(t, g.run(0, "converter", "info", "take.recover"), ", discarded\n")
	g.run(0, "converter", "take.recover", "take.mcap", "--episodes", "0")
	require.NotContains(t, g.run(0, "converter", "info", "take.mcap"), "discarded")

	recorder = g.start("recorder", "-o", "drive", "/n", "--allow-unmatched")
	require.Contains(t, g.remote(1, "recorder", "discard"), "have no episodes; record with --storage session")
	recorder.Interrupt()
}
