package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

// typed returns a message with a generated type.
func typed(t *testing.T, topic string, ns int64, m msgs.Message) codec.Message {
	payload, err := cdr.Marshal(m)
	require.NoError(t, err)
	c := &codec.Channel{Topic: topic, Type: m.TypeName(), Encoding: codec.EncodingCDR}
	if topic == "/pose" {
		c = poseChannel
	}
	return codec.Message{Channel: c, LogTime: ns, Data: payload}
}

var poseChannel = &codec.Channel{Topic: "/pose", Type: "geometry_msgs/msg/PoseStamped", Encoding: codec.EncodingCDR}

func poses(t *testing.T) []codec.Message {
	var all []codec.Message
	for i := range int64(3) {
		all = append(all, typed(t, "/pose", (i+1)*1e9, &geometry_msgs.PoseStamped{
			Header: std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: int32(i + 1)}, FrameId: "map"},
			Pose:   geometry_msgs.Pose{Position: geometry_msgs.Point{X: float64(i) + 0.5}},
		}))
	}
	return all
}

func TestEcho(t *testing.T) {
	scan := typed(t, "/scan", 1e9, &sensor_msgs.LaserScan{Ranges: []float32{1, 2.5}})
	strange := typed(t, "/text", 1e9, &std_msgs.String{Data: "yes"})
	path := writeLines(t, "a.lines", append(poses(t), scan, strange), info)
	const first = "header:\n  stamp:\n    sec: 1\n    nanosec: 0\n  frame_id: map\npose:\n  position:\n    x: 0.5\n" +
		"    y: 0.0\n    z: 0.0\n  orientation:\n    x: 0.0\n    y: 0.0\n    z: 0.0\n    w: 0.0\n---\n"
	tests := map[string]struct {
		topic string
		args  []string
		want  string
	}{
		"once":      {"/pose", []string{"--once"}, first},
		"bare name": {"pose", []string{"-n", "1"}, first},
		"times": {"/pose", []string{"--once", "-i", "--field", "header.frame_id"},
			"# received 1970-01-01 00:00:01.000000000 UTC (1.000000000)\nmap\n---\n"},
		"window": {"/pose", []string{"--start", "1", "--until", "1.9", "--field", "pose.position.x"}, "1.5\n---\n"},
		"field":  {"/pose", []string{"--field", "pose.position.x"}, "0.5\n---\n1.5\n---\n2.5\n---\n"},
		"fields": {"/pose", []string{"--once", "--field", "header.frame_id,pose.position"},
			"header.frame_id: map\npose.position:\n  x: 0.5\n  y: 0.0\n  z: 0.0\n---\n"},
		"CSV": {"/pose", []string{"--csv", "-n", "2", "--field", "pose.position", "--field", "header.frame_id"},
			"log_time,publish_time,pose.position.x,pose.position.y,pose.position.z,header.frame_id\n" +
				"1000000000,,0.5,0,0,map\n2000000000,,1.5,0,0,map\n"},
		"JSON": {"/scan", []string{"--json", "--field", "ranges,ranges[1],ranges[2]"},
			`{"topic":"/scan","log_time":1000000000,"ranges":[1,2.5],"ranges[1]":2.5,"ranges[2]":null}` + "\n"},
		"whole JSON": {"/text", []string{"--json"},
			`{"topic":"/text","log_time":1000000000,"message":{"data":"yes"}}` + "\n"},
		"lacking": {"/scan", []string{"--field", "ranges[2]"}, "null\n---\n"},
		"lacking one": {"/scan", []string{"--field", "ranges[1],ranges[2]"},
			"ranges[1]: 2.5\nranges[2]: null\n---\n"},
		"CSV lacking one": {"/scan", []string{"--csv", "--field", "ranges[2],ranges[0]"},
			"log_time,publish_time,ranges[2],ranges[0]\n1000000000,,,1\n"},
		"CSV of an array": {"/scan", []string{"--csv", "--field", "ranges"},
			"log_time,publish_time,ranges\n1000000000,,\"[1,2.5]\"\n"},
		"truncated": {"/scan", []string{"-l", "1", "--field", "ranges"}, "- 1.0\n- '...'\n---\n"},
		"lengths":   {"/scan", []string{"--no-arr", "--field", "ranges"}, "'<array type: float32[2]>'\n---\n"},
		"text":      {"/text", nil, "data: 'yes'\n---\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := run(t, append([]string{"echo", path, test.topic}, test.args...)...)
			require.NoError(t, err)
			require.Empty(t, stderr)
			require.Equal(t, test.want, stdout)
		})
	}
}

func TestEchoRefuses(t *testing.T) {
	unknown := &codec.Channel{Topic: "/mine", Type: "my_msgs/msg/Mine", Encoding: codec.EncodingCDR}
	other := &codec.Channel{Topic: "/json", Type: "x", Encoding: "json"}
	path := writeLines(t, "a.lines", poses(t), info, unknown, other)
	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"near":     {[]string{"/poes"}, 1, "a.lines has no topic /poes; did you mean /pose?"},
		"far":      {[]string{"/camera"}, 1, "has no topic /camera; there are /info, /json, /mine, /pose"},
		"field":    {[]string{"/pose", "--field", "pose.pos"}, 1, `has no field "pos"; it has position, orientation`},
		"no array": {[]string{"/pose", "--field", "header[0]"}, 1, "header is not an array"},
		"type":     {[]string{"/mine"}, 1, "messages of /mine cannot be shown: "},
		"encoding": {[]string{"/json"}, 1, "messages of /json cannot be shown: its messages are json"},
		"nothing":  {[]string{"/info"}, 1, "has no message on /info"},
		"window":   {[]string{"/pose", "--start", "7"}, 1, "--start 7 is after the end of the recording"},
		"time":     {[]string{"/pose", "--start", "noon"}, 2, `--start "noon" is no time`},
		"both":     {[]string{"/pose", "--csv", "--json"}, 2, "--csv and --json do not go together"},
		"no topic": {nil, 2, "got 1 path; the usage is: converter echo IN TOPIC"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := execute(t, append([]string{"echo", path}, test.args...)...)
			require.Equal(t, test.code, code, stderr)
			require.Contains(t, stderr, test.says)
			require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			require.Empty(t, stdout)
		})
	}
}

// Damage is reported, and everything else is printed.
func TestEchoOfDamaged(t *testing.T) {
	all := poses(t)
	all[1].Data = all[1].Data[:20]
	path := writeLines(t, "a.lines", all)
	stdout, stderr, code := execute(t, "echo", path, "/pose", "--field", "pose.position.x")
	require.Equal(t, 1, code)
	require.Equal(t, "0.5\n---\n2.5\n---\n", stdout)
	require.Contains(t, stderr, "damaged: message of /pose at 2.000000000: decode geometry_msgs/msg/PoseStamped: ")
	require.Contains(t, stderr, path+" is damaged at 1 place; what is there is not shown")
}

func TestEchoOfForeignMessages(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.bag")
	_, _, err := run(t, writeLines(t, "a.lines", poses(t)), out)
	require.NoError(t, err)
	require.FileExists(t, out)
	stdout, _, err := run(t, "echo", out, "/pose", "--field", "pose.position.x")
	require.NoError(t, err)
	require.Equal(t, "0.5\n---\n1.5\n---\n2.5\n---\n", stdout)
	require.NoError(t, os.Remove(out))
}
