package recorder

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/translate/robot"
	"tapedeck/codec/training/episode"
)

func TestHardwareMapping(t *testing.T) {
	file := filepath.Join(t.TempDir(), "robot.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
/**:
  camera_publisher:
    ros__parameters:
      rate: 30.0
      cameras:
        camera_1: {device: /dev/video4, format: YUYV, width: 640, height: 480, rate: 15}
        camera_0: {serial: "153122070447", model: RealSenseCamera}
  arm_publisher:
    ros__parameters:
      arms:
        arm_0: {host: 192.168.1.18, joints: 6}
`), 0o666))
	m, err := hardwareMapping(file, "/lab")
	require.NoError(t, err)
	require.Equal(t, &robot.Mapping{
		Cameras: []robot.Camera{
			{Name: "camera_0", Topic: "/lab/camera_0/image_raw/compressed",
				Device: map[string]any{"type": "RealSenseCamera", "serial": "153122070447", "fps": 30.0}},
			{Name: "camera_1", Topic: "/lab/camera_1/image_raw",
				Device: map[string]any{"type": "V4L2", "device": "/dev/video4", "width": 640, "height": 480,
					"fps": 15.0}},
		},
		Arms: []robot.Arm{{
			Name: "arm_0", Device: map[string]any{"type": "RealMan", "ip": "192.168.1.18", "port": 8080, "joints": 6},
			Streams: robot.Streams{episode.Joint: {Topic: "/lab/arm_0/joint_states"},
				episode.Pose:    {Topic: "/lab/arm_0/tool_pose"},
				episode.Gripper: {Topic: "/lab/arm_0/gripper", Range: [2]float64{0, 1000}}},
		}},
	}, m)

	require.NoError(t, os.WriteFile(file, []byte("camera_publisher: {ros__parameters: {device: "+
		"/dev/video0}}\narm_publisher: {ros__parameters: {host: left}}"), 0o666))
	m, err = hardwareMapping(file, "")
	require.NoError(t, err)
	require.Equal(t, "/camera_0/image_raw/compressed", m.Cameras[0].Topic)
	require.Equal(t, "/arm_0/joint_states", m.Arms[0].Streams[episode.Joint].Topic)
	require.NoError(t, os.WriteFile(file, []byte("camera_publisher: {ros__parameters: {cameras: {wrist: {device: "+
		"/dev/video0, format: ''}}}}"), 0o666))
	_, err = hardwareMapping(file, "")
	require.EqualError(t, err, file+": camera wrist: the topic depends on the format that the camera chooses; "+
		"set its format")

	require.NoError(t, os.WriteFile(file, []byte("recorder: {ros__parameters: {all: true}}"), 0o666))
	_, err = hardwareMapping(file, "")
	require.ErrorContains(t, err, "robot.yaml: it has neither cameras for camera_publisher nor arms for "+
		"arm_publisher in the namespace /")
	_, err = hardwareMapping(file+"x", "")
	require.ErrorContains(t, err, "no such file")
}
