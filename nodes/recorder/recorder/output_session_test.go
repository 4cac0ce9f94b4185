package recorder

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/translate/robot"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	format "tapedeck/codec/format/session"
	"tapedeck/codec/store"
	"tapedeck/codec/training/episode"
	"tapedeck/config"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

func header(i int) std_msgs.Header {
	return std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: 1764000000, Nanosec: uint32(i) * 20_000_000}}
}

// picture returns a JPEG.
func picture(t *testing.T) []byte {
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8)), nil))
	return b.Bytes()
}

// readEpisode returns the only episode of a session.
func readEpisode(t *testing.T, path string) *episode.Episode { return readEpisodeFrom(t, nil, path) }

func readEpisodeFrom(t *testing.T, files *store.Files, path string) *episode.Episode {
	s, err := format.Open(files, path)
	require.NoError(t, err)
	defer s.Close()
	list, err := s.Episodes()
	require.NoError(t, err)
	require.Empty(t, s.Damage)
	require.False(t, s.Incomplete)
	require.Len(t, list, 1)
	return list[0]
}

func stamps(from, until int) (list []int64) {
	for i := from; i < until; i++ {
		list = append(list, 1764000000e9+int64(i)*20e6)
	}
	return list
}

func TestRecordingSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("session")
		o.All, o.MaxBagMessages, o.CustomData = true, 12, []string{"operator=left hand"}
		d := newTestRecorder(t, o)
		d.offer("/speed", "std_msgs/msg/UInt32", codec.DefaultQoS()) // neither camera nor arm
		camera := d.offer("/wrist/image_raw/compressed", "sensor_msgs/msg/CompressedImage", codec.DefaultQoS())
		depth := d.offer("/depth/image_raw", "sensor_msgs/msg/Image", codec.DefaultQoS())
		joints := d.offer("/left/joint_states", "sensor_msgs/msg/JointState", codec.DefaultQoS())
		pose := d.offer("/left/pose", "geometry_msgs/msg/PoseStamped", codec.DefaultQoS())
		require.Eventually(t, func() bool { return len(d.subscribedTopics()) == 4 }, patient, time.Millisecond,
			d.subscribedTopics())
		for i := range 5 {
			d.emit(camera, &sensor_msgs.CompressedImage{Header: header(i), Format: "jpeg", Data: picture(t)})
			d.emit(depth, &sensor_msgs.Image{Header: header(i), Height: 2, Width: 2, Encoding: "16UC1", Step: 4,
				Data: []byte{1, 0, 2, 0, 3, 0, byte(i), 0}})
			d.emit(joints, &sensor_msgs.JointState{Header: header(i), Name: []string{"a", "b"},
				Position: []float64{1, float64(i)}})
			place := geometry_msgs.PoseStamped{Header: header(i)}
			place.Pose.Position.X, place.Pose.Orientation.W = float64(i), 1
			d.emit(pose, &place)
		}
		require.NoError(t, d.end())
		require.Contains(t, d.printed.String(), "20 messages")

		first, second := readEpisode(t, "drive"), readEpisode(t, "drive_1")
		require.Len(t, first.Cameras, 2)
		for _, c := range first.Cameras {
			require.Equal(t, stamps(0, 3), c.Stamps)
		}
		require.Equal(t, stamps(0, 3), first.Arms[0].Streams[episode.Joint].Stamps)
		require.Equal(t, stamps(0, 3), first.Arms[0].Streams[episode.Pose].Stamps)
		require.InDeltaSlice(t, []float64{57.29577951308232, 114.59155902616465},
			first.Arms[0].Streams[episode.Joint].Values[4:], 1e-12)
		require.Equal(t, []float64{2, 0, 0, 0, 0, 0}, first.Arms[0].Streams[episode.Pose].Values[12:])
		require.Contains(t, string(first.Metadata), `"operator": "left hand"`)
		require.Equal(t, stamps(3, 5), second.Cameras[1].Stamps)
		require.Equal(t, stamps(3, 5), second.Arms[0].Streams[episode.Pose].Stamps)
		pngs, err := filepath.Glob("drive*/frames/*/*.png")
		require.NoError(t, err)
		require.Len(t, pngs, 5)
	})
}

// Poses of an arm whose joints never come are dropped.
func TestPosesWithoutJointsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("session")
		o.All = true
		d := newTestRecorder(t, o)
		pose := d.offer("/left/pose", "geometry_msgs/msg/PoseStamped", codec.DefaultQoS())
		d.awaitSubscribers(pose)
		d.emit(pose, &geometry_msgs.PoseStamped{Header: header(1)})
		require.NoError(t, d.end())
		require.Contains(t, d.printed.String(), "0 messages")
		require.Contains(t, d.printed.String(), "1 dropped")
		metadata, err := os.ReadFile("drive/metadata.json")
		require.NoError(t, err)
		require.Contains(t, string(metadata), "dropped: /left/pose [geometry_msgs/msg/PoseStamped] is not recorded: ")
	})
}

// A mapping selects the topics, and a trigger begins another session.
func TestMappedSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("session")
		o.parameters = map[string]any{
			"robot.task": "fold", "robot.episodes.topic": "/episode", "robot.cameras.camera_0": "/eye",
			"robot.arms.arm_0.joint": "/j", "robot.arms.arm_0.gripper": "/g",
		}
		m, err := o.mapping()
		require.NoError(t, err)
		require.Equal(t, []string{"/episode", "/eye", "/g", "/j"}, m.Topics())
		d := newTestRecorder(t, o, m.Topics()...)
		trigger := d.offer("/episode", "std_msgs/msg/String", codec.DefaultQoS())
		eye := d.offer("/eye", "sensor_msgs/msg/CompressedImage", codec.DefaultQoS())
		grip := d.offer("/g", "sensor_msgs/msg/JointState", codec.DefaultQoS())
		d.awaitSubscribers(eye, grip, trigger)
		for i := range 6 {
			if i == 2 || i == 4 {
				d.emit(trigger, &std_msgs.String{Data: []string{2: "fold it", 4: "unfold it"}[i]})
			}
			d.emit(eye, &sensor_msgs.CompressedImage{Header: header(i), Format: "jpeg", Data: picture(t)})
			d.emit(grip, &sensor_msgs.JointState{Header: header(i), Name: []string{"position"},
				Position: []float64{float64(i)}})
		}
		require.NoError(t, d.end())
		first, second := readEpisode(t, "drive"), readEpisode(t, "drive_1")
		require.Equal(t, []string{"fold it", "unfold it"}, []string{first.Task, second.Task})
		require.Equal(t, stamps(2, 4), first.Cameras[0].Stamps)
		require.Equal(t, stamps(4, 6), second.Cameras[0].Stamps)
		require.Equal(t, []float64{4, 5}, second.Arms[0].Streams[episode.Gripper].Values)
	})
}

// Sessions that a trigger begins count as splits, as sessions that a limit begins do.
func TestSessionsOfATriggerAreSplits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("session")
		o.MaxBagFiles = 2
		o.parameters = map[string]any{"robot.episodes.topic": "/episode", "robot.cameras.camera_0": "/eye"}
		d := newTestRecorder(t, o, "/episode", "/eye")
		var splits []string
		d.onSplit = append(d.onSplit, func(closed, opened string) { splits = append(splits, closed+" "+opened) })
		trigger := d.offer("/episode", "std_msgs/msg/String", codec.DefaultQoS())
		eye := d.offer("/eye", "sensor_msgs/msg/CompressedImage", codec.DefaultQoS())
		d.awaitSubscribers(eye, trigger)
		for i := range 6 {
			if i%2 == 0 {
				d.emit(trigger, &std_msgs.String{Data: fmt.Sprint("fold ", i)})
			}
			d.emit(eye, &sensor_msgs.CompressedImage{Header: header(i), Format: "jpeg", Data: picture(t)})
		}
		require.NoError(t, d.end())
		require.Equal(t, []string{"drive drive_1", "drive_1 drive_2", "drive_2 "}, splits)
		require.NoDirExists(t, "drive")
		require.Equal(t, stamps(2, 4), readEpisode(t, "drive_1").Cameras[0].Stamps)
		require.Equal(t, stamps(4, 6), readEpisode(t, "drive_2").Cameras[0].Stamps)
	})
}

// Losses of a session are reported with the channels that were recorded.
func TestSessionMisses(t *testing.T) {
	t.Chdir(t.TempDir())
	o := testOptions("session")
	s, err := o.format().Robot("a", codec.CreateOptions{},
		&robot.Mapping{Cameras: []robot.Camera{{Name: "camera_0", Topic: "/eye"}}})
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/eye", Type: "sensor_msgs/msg/Image", Encoding: codec.EncodingCDR}
	write := func(i int) error {
		data, err := cdr.Marshal(&sensor_msgs.Image{Header: header(i), Height: 1, Width: 1, Encoding: "mono8", Step: 1,
			Data: []byte{7}})
		require.NoError(t, err)
		return s.Write(&codec.Message{Channel: c, LogTime: 1, Data: data})
	}
	require.NoError(t, write(0))
	require.NoError(t, s.Sync())
	require.NoError(t, os.Rename("a/frames/camera_0", "a/frames/camera_1"))
	require.NoError(t, os.WriteFile("a/frames/camera_0", nil, 0o666))
	require.NoError(t, write(1))
	failure := s.Sync()
	var missing *codec.MissingError
	require.ErrorAs(t, failure, &missing)
	require.EqualValues(t, 1, missing.Count())
	require.Same(t, c, missing.Topics[0].Channel)
	require.Equal(t, failure, write(2))
	require.NoError(t, s.Split())
	require.NoError(t, write(2))
	require.NoError(t, s.Close())
	require.Equal(t, stamps(2, 3), readEpisode(t, "a_1").Cameras[0].Stamps)
}

func TestSessionOptions(t *testing.T) {
	o := testOptions("session")
	in := &config.Input{
		Extra: map[string]any{"robot.task": "fold", "other": 1},
		Warnings: []string{"parameter robot.task from a is not one that recorder knows",
			"parameter other from a is not one that recorder knows"},
	}
	o.takeParameters(in)
	require.Equal(t, []string{"parameter other from a is not one that recorder knows"}, in.Warnings)
	bag := testOptions("mcap")
	bag.takeParameters(in)
	require.Empty(t, bag.parameters)
	require.Equal(t, "parameters robot.* are for --storage session", in.Warnings[1])
	m, err := o.mapping()
	require.NoError(t, err)
	require.Equal(t, "fold", m.Task)
	o.RobotMapping = "../../../config/robot_mapping.yaml"
	_, err = o.mapping()
	require.EqualError(t, err, "robot_mapping, robot.*: give one of them")
	o.Hardware = "x"
	_, err = o.mapping()
	require.EqualError(t, err, "robot_mapping, hardware: give one of them")
	o.Hardware, o.parameters = "", nil
	m, err = o.mapping()
	require.NoError(t, err)
	require.Contains(t, m.Topics(), "/wrist/color/image_raw/compressed")
	require.True(t, m.Maps("/wrist/color/image_raw/compressed", "sensor_msgs/msg/CompressedImage"))
	require.False(t, m.Maps("/a/image_raw", "sensor_msgs/msg/Image"))
	var none *robot.Mapping
	for topic, typeName := range map[string]string{
		"/a/image_raw": "sensor_msgs/msg/Image", "/joint_states": "sensor_msgs/msg/JointState",
		"/arm_0/pose": "geometry_msgs/msg/PoseStamped", "/arm_0/command/pose": "geometry_msgs/msg/PoseStamped",
	} {
		require.True(t, none.Maps(topic, typeName), topic)
	}
	require.False(t, none.Maps("/imu", "sensor_msgs/msg/Imu"))
}

func TestSessionOfHardware(t *testing.T) {
	o := testOptions("session")
	o.namespace, o.Hardware = "/lab", filepath.Join(t.TempDir(), "hardware.yaml")
	require.NoError(t, os.WriteFile(o.Hardware, []byte(`
/lab:
  camera_publisher: {ros__parameters: {cameras: {camera_0: {device: /dev/video0, rate: 30}}}}
  arm_publisher: {ros__parameters: {arms: {arm_0: {host: 192.168.1.18, joints: 6}}}}
`), 0o666))
	o.parameters = map[string]any{"robot.task": "fold", "robot.episodes.pause": "2s"}
	m, err := o.mapping()
	require.NoError(t, err)
	require.Equal(t, "fold", m.Task)
	require.Equal(t, 2*time.Second, m.Episodes.Pause)
	require.Equal(t, []string{"/lab/arm_0/gripper", "/lab/arm_0/joint_states", "/lab/arm_0/tool_pose",
		"/lab/camera_0/image_raw/compressed"}, m.Topics())
	require.Equal(t, "192.168.1.18", m.Arms[0].Device["ip"])
	o.parameters = map[string]any{"robot.cameras.camera_0": "/eye"}
	_, err = o.mapping()
	require.EqualError(t, err, "hardware, robot.cameras and robot.arms: give one of them")
	o.namespace = "/other"
	_, err = o.mapping()
	require.ErrorContains(t, err, "hardware.yaml: it has neither cameras")
	o.Storage = "mcap"
	require.EqualError(t, o.check([]string{"/imu"}), "robot_mapping, hardware: they are for --storage session")
}
