package robot

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/training/episode"
)

func TestLoadMapping(t *testing.T) {
	got, err := LoadMapping("../../../config/robot_mapping.yaml")
	require.NoError(t, err)
	require.Equal(t, &Mapping{
		Task:     "put the red cube into the box",
		Episodes: Boundaries{Topic: "/episode", Field: "data", Discard: "discard"},
		Cameras: []Camera{
			{Name: "camera_0", Topic: "/wrist/color/image_raw/compressed"},
			{Name: "camera_1", Topic: "/overhead/image_raw",
				Device: map[string]any{"type": "RealSenseCamera", "serial": "427622270438", "fps": 30}},
		},
		Arms: []Arm{{
			Name:   "arm_0",
			Device: map[string]any{"type": "RealMan", "ip": "192.168.1.18", "port": 8080, "joints": 6},
			Streams: Streams{episode.Joint: {Topic: "/joint_states", Names: []string{"shoulder", "elbow",
				"wrist_3_joint:wrist"},
				Unit: "rad"},
				episode.Pose: {Topic: "/tool_pose"},
				episode.Gripper: {Topic: "/gripper/state", Fields: []string{"position", "current_force"},
					Names: []string{"position", "force"}, Range: [2]float64{0, 0.085}, Scale: 1},
				episode.CommandJoint: {Topic: "/joint_commands", Fields: []string{"data"},
					Names: []string{"shoulder", "elbow", "wrist"}}},
		}},
	}, got)
}

func TestParseMapping(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"cameras:", ""},
		{"stamps: receive", ""},
		{"stamps: sent", `stamps: "sent" is neither header nor receive`},
		{"camera: {}", "line 1: field camera not found"},
		{"cameras: [a]", "cameras: line 1: want a mapping of names"},
		{"cameras: {a: }", "cameras: a: the topic is missing"},
		{"cameras: {a/b: /x}", `cameras: invalid name "a/b"`},
		{"cameras: {a: /x}\narms: {a: {joint: /y}}", "arms: a is there twice"},
		{"cameras: {a: {topics: /x}}", "cameras: a: line 1: yaml: unmarshal errors"},
		{"episodes: {pause: -1s}", "episodes: pause: -1s is negative"},
		{"episodes: {field: x}", "episodes: field x has no topic"},
		{"episodes: {discard: x}", "episodes: discard x has no topic"},
		{"episodes: {topic: /x, discard: -1}", ""},
		{"cameras: {a: {topic: /x, device: {1: {2: 3}}}}", "cameras: a: device: json: unsupported type"},
		{"arms: {a: {device: 1}}", "arms: a: device: line 1: yaml: unmarshal errors"},
		{"arms: {a: {device: {lens: {2: 3}}}}", "arms: a: device: json: unsupported type"},
		{"arms: {a: {elbow: /x}}", "arms: a: elbow: line 1: field elbow not found"},
		{"arms: {a: {command: {effort: /x}}}", "arms: a: command: effort: line 1: field effort not found"},
		{"arms: {a: {joint: {names: [x]}}}", "arms: a: joint: the topic is missing"},
		{"arms: {a: {joint: {topic: /x, range: [0, 1]}}}", "arms: a: joint: range: only grippers have one"},
		{"arms: {a: {gripper: {topic: /x, range: [1, 1]}}}",
			"arms: a: gripper: range: the gripper is closed and open at 1"},
		{"arms: {a: {joint: {topic: /x, unit: mrad}}}",
			`arms: a: joint: unit: joints are in rad or deg, not in "mrad"`},
		{"arms: {a: {pose: {topic: /x, unit: mm}}}", "arms: a: pose: unit: poses are in m and rad"},
		{"arms: {a: {command: {joint: {topic: /x, quaternions: true}}}}",
			"arms: a: command/joint: quaternions: only poses have them"},
		{"arms: {a: {joint: /x, pose: /p, joint: /y}}", "arms: a: line 1: joint is there twice"},
		{"arms: {a: {joint: {topic: /x, scale: .nan}}}", "arms: a: joint: scale: NaN is not a factor"},
	} {
		_, err := parseMapping([]byte(test.text))
		if test.want == "" {
			require.NoError(t, err, test.text)
		} else {
			require.ErrorContains(t, err, test.want)
		}
	}
}

func TestMappingOfParameters(t *testing.T) {
	m, err := MappingOf(map[string]any{
		"storage": "session", "robot.task": "stack", "robot.cameras.eye": "/eye", "robot.episodes.pause": "2s",
		"robot.arms.left.joint.topic": "/joint_states", "robot.arms.left.joint.names": []string{"a", "b"},
		"robot.arms.left.gripper": "/gripper",
	}, "robot.")
	require.NoError(t, err)
	require.Equal(t, &Mapping{
		Task: "stack", Episodes: Boundaries{Pause: 2 * time.Second}, Cameras: []Camera{{Name: "eye", Topic: "/eye"}},
		Arms: []Arm{{Name: "left", Streams: Streams{episode.Joint: {Topic: "/joint_states", Names: []string{"a", "b"}},
			episode.Gripper: {Topic: "/gripper"}}}},
	}, m)
	m, err = MappingOf(map[string]any{"storage": "session"}, "robot.")
	require.NoError(t, err)
	require.Nil(t, m)
	for range 20 { // maps have no order
		_, err = MappingOf(map[string]any{"robot.arms.a.joint": "/x", "robot.arms.a.joint.topic": "/y"}, "robot.")
		require.EqualError(t, err, "parameter robot.arms.a.joint.topic: joint also has a value")
	}
}
