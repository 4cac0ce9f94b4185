package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/carla"
	"tapedeck/config"
	"tapedeck/nodes/internal/describe"
	"tapedeck/test/samples"
	"tapedeck/test/samples/generate"
)

// carlaLog writes a log in which a walker is run over and then nothing moves.
func carlaLog(t *testing.T) string {
	log := []byte("\x01\x00\x0e\x00CARLA_RECORDER\x00\xf1\x53\x65\x00\x00\x00\x00\x06\x00Town03")
	positions := &carla.PositionList{{Actor: 1}, {Actor: 2}}
	for i, bodies := range [][]carla.Body{
		{&carla.EventAddList{{Actor: 1, Type: carla.ActorVehicle, BlueprintID: "vehicle.audi.tt"},
			{Actor: 2, Type: carla.ActorWalker, BlueprintID: "walker.pedestrian.0001"}}, positions},
		{&carla.CollisionList{{Actor1: 1, Actor2: 2, Hero1: true}}, positions}, {positions},
	} {
		start := &carla.FrameStart{Frame: uint64(i + 1), Duration: 20, Elapsed: 20 * float64(i)}
		for _, b := range append(append([]carla.Body{start}, bodies...), &carla.FrameEnd{}) {
			var err error
			log, err = carla.AppendPacket(log, carla.UE4, b)
			require.NoError(t, err)
		}
	}
	path := filepath.Join(t.TempDir(), "a.log")
	require.NoError(t, os.WriteFile(path, log, 0o600))
	return path
}

func TestInfoAsCARLA(t *testing.T) {
	path := carlaLog(t)
	const head, tail = "Version: 1\nMap: Town03\nDate: 11/14/23 22:13:20\n\n", "\nFrames: 3\nDuration: 40 seconds\n"
	const created = "Frame 1 at 0 seconds\n Create 1: vehicle.audi.tt (1) at (0, 0, 0)\n Create 2: " +
		"walker.pedestrian.0001 (2) at (0, 0, 0)\n"
	positions := func(colon string) string {
		row := " Location: (0, 0, 0) Rotation" + colon + " (0, 0, 0)\n"
		return " Positions: 2\n  Id: 1" + row + "  Id: 2" + row
	}
	const hit = "Frame 2 at 20 seconds\n Collision id 0 between 1 (hero)  with 2\n"
	const audi, walker = "vehicle.audi.tt                    ", "walker.pedestrian.0001             "
	collisions := head + "    Time  Types     Id Actor 1                                 Id Actor 2                  " +
		"          \n"
	blocked := head + "    Time     Id Actor                                 Duration\n"
	for args, want := range map[string]string{
		"--carla":                head + created + hit + tail,
		"--carla --style 0.9.13": head + created + hit + tail,
		"--carla --all --style 0.9.13": head + created + positions("") + hit + positions("") +
			"Frame 3 at 40 seconds\n" +
			positions("") + tail,
		"--carla --all": head + created + positions(":") + "\n" + hit + positions(":") +
			"\nFrame 3 at 40 seconds\n" + positions(":") + "\n\n" + tail,
		"--collisions aa":         collisions + "      20   v w       1 " + audi + "      2 " + walker + "\n" + tail,
		"--collisions=h,w":        collisions + "      20   v w       1 " + audi + "      2 " + walker + "\n" + tail,
		"--carla --collisions vv": collisions + tail,
		"--blocked": blocked + "       0      1 " + audi + "         60\n       0      2 " + walker +
			"         60\n" + tail,
		"--blocked 61":   blocked + tail,
		"--blocked=10,0": blocked + tail,
	} {
		t.Run(args, func(t *testing.T) {
			stdout, stderr, err := run(t, append(append([]string{"info"}, strings.Fields(args)...), path)...)
			require.NoError(t, err)
			require.Equal(t, want, stdout)
			require.Empty(t, stderr)
		})
	}
	for args, key := range map[string]string{"--carla": "frames", "--carla --all": "frames",
		"--collisions aa": "collisions", "--blocked": "blocked"} {
		stdout, _, err := run(t, append(append([]string{"info", "--json"}, strings.Fields(args)...), path)...)
		require.NoError(t, err)
		var got map[string]any
		require.NoError(t, json.Unmarshal([]byte(stdout), &got), args)
		require.Equal(t, "Town03", got["map"])
		require.Len(t, got[key], map[string]int{"--carla --all": 3,
			"--collisions aa": 1}[args]+2*map[string]int{"--carla": 1, "--blocked": 1}[args])
	}
	// Several logs.
	stdout, _, err := run(t, "info", "--carla", path, path)
	require.NoError(t, err)
	require.Equal(t, head+created+hit+tail+"\n"+head+created+hit+tail, stdout)
	// A truncated log.
	log, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, log[:len(log)-9], 0o600))
	stdout, stderr, err := run(t, "info", "--carla", path)
	require.NoError(t, err)
	require.Equal(t, head+created+hit+"\nFrames: 2\nDuration: 20 seconds\n", stdout)
	require.Equal(t, "warning: "+path+" is incomplete; this describes everything readable\n", stderr)
}

func TestInfoAsCARLAErrors(t *testing.T) {
	path := carlaLog(t)
	for _, args := range []string{
		"--collisions vw --blocked", "--all", "--collisions x", "--collisions vwt", "--blocked=x", "--blocked=30,10,5",
		"--carla --style 0.9.12", "--carla --apollo", "--carla --ros2", "--apollo --json", "--apollo --ros2",
	} {
		_, _, err := run(t, append(append([]string{"info"}, strings.Fields(args)...), path)...)
		require.ErrorIs(t, err, config.ErrUsage, args)
	}
	lines := writeLines(t, "a.lines", nil, imu)
	_, _, err := run(t, "info", "--carla", lines)
	require.EqualError(t, err, lines+" is not a log of CARLA's recorder")
	_, _, err = run(t, "info", "--blocked", path+"x")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestInfoOfCARLASample(t *testing.T) {
	path := samples.Path(t, "carla/scenario_runner_DistanceToLaneCenter.log")
	stdout, _, err := run(t, "info", path)
	require.NoError(t, err)
	require.Equal(t, `
Files:      `+path+`
Bag size:   1.6 MiB (1712229 bytes)
Format:     carla
CARLA:      ue4-0.9.15, version 1
Map:        Town01
Frames:     432 in 12.528 s of simulation
Actors:     119 others, 36 traffic lights, 21 traffic signs, 6 sensors, 1 vehicle
Duration:   12.528204977 s
Start:      2021-11-23 12:39:25.000000000 UTC (1637671165.000000000)
End:        2021-11-23 12:39:37.528204977 UTC (1637671177.528204977)
Messages:   432
Complete:   yes
Topics:     1
  Topic       Type         Count     Hz  Encoding
  /carla/log  carla.Frame    432  34.48  carla
`, "\n"+stdout)
}

// A recording of another world is described by its ROS 2 messages.
func TestInfoAsROS2(t *testing.T) {
	stdout, _, err := run(t, "info", "--ros2", carlaLog(t))
	require.NoError(t, err)
	require.Contains(t, stdout, "Format:     carla\n")
	require.Contains(t, stdout, "Frames:     3 in 40.000 s of simulation\n")
	require.Regexp(t, `\n  /carla/actor1/odometry +nav_msgs/msg/Odometry +\d`, stdout)
	require.Regexp(t, `\n  /clock +rosgraph_msgs/msg/Clock +3 `, stdout)
	require.NotContains(t, stdout, "/carla/log")
	stdout, _, err = run(t, "info", "--ros2", "--json", carlaLog(t))
	require.NoError(t, err)
	var got describe.Recording
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.NotEmpty(t, got.Topics)
	for _, topic := range got.Topics {
		require.Equal(t, "cdr", topic.Encoding)
		require.NotEmpty(t, topic.QoS)
	}

	path := generate.Path(t, "apollo/apollo_cpp_sensors.record")
	stdout, _, err = run(t, "info", "--ros2", path)
	require.NoError(t, err)
	require.Regexp(t, `\n  /apollo/sensor/gnss/imu +sensor_msgs/msg/Imu +200 `, stdout)
	stdout, _, err = run(t, "info", "--ros2", generate.Path(t, "bag/cruise_example.bag"))
	require.NoError(t, err)
	require.Regexp(t, `\n  /turtle1/cmd_vel +geometry_msgs/msg/Twist +357 .* cdr `, stdout)
}
