package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/internal/fleet/contract"
	"tapedeck/test/samples"
)

// imuDrive writes a recording of 10 s with an IMU at rate Hz in a frame.
func imuDrive(t *testing.T, name string, rate int64, frame string) string {
	var all []codec.Message
	for i := range 10 * rate {
		now := 1000e9 + i*1e9/rate
		m := typed(t, "/imu", now, &sensor_msgs.Imu{Header: std_msgs.Header{FrameId: frame,
			Stamp: builtin_interfaces.Time{Sec: int32(now / 1e9), Nanosec: uint32(now % 1e9)}}})
		m.Channel = imu
		all = append(all, m)
	}
	return writeLines(t, name, all)
}

func TestExpectAndCheck(t *testing.T) {
	good, slow := imuDrive(t, "good.lines", 50, "imu"), imuDrive(t, "slow.lines", 25, "body")
	folder := t.TempDir()
	file, junit := filepath.Join(folder, "drive.expect.yaml"), filepath.Join(folder, "junit.xml")
	stdout, stderr, code := execute(t, "expect", good, "-o", file, "--field", "/imu.linear_acceleration.z")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, file+": 1 topic, learnt from 1 recording\n", stdout)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "rate: {min: 40, max: 60}")
	require.Contains(t, string(text), "linear_acceleration.z: {min: 0, max: 0}")

	stdout, stderr, code = execute(t, "check", good, "--expect", file)
	require.Equal(t, 0, code, stderr)
	require.Equal(t, good+": as expected\n", stdout)
	stdout, stderr, code = execute(t, "check", good, slow, "--expect", file, "--junit", junit)
	require.Equal(t, notMet, code)
	require.Equal(t, "converter: not as expected: 1 of 2 recordings\n", stderr)
	_, stdout, _ = strings.Cut(stdout, "\n\n")
	require.Equal(t, slow+`: 2 findings
     Time  Topic  Finding  Expected             Seen
  0.000 s  /imu   frame    imu                  body
  0.000 s  /imu   rate     40 to 60 messages/s  25
`, stdout)
	var suites junitSuites
	text, err = os.ReadFile(junit)
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(text, &suites))
	require.Len(t, suites.Suites, 2)
	require.Equal(t, junitSuite{Name: slow, Tests: 2, Failures: 1, Cases: []junitCase{{Name: "recording", Class: slow},
		{Name: "/imu", Class: slow, Failures: []junitProblem{
			{"frame", "frame: expected imu, seen body, at 0.000 s"},
			{"rate", "rate: expected 40 to 60 messages/s, seen 25, at 0.000 s"}}}}}, suites.Suites[1])

	stdout, _, code = execute(t, "check", slow, "--expect", file, "--json")
	require.Equal(t, notMet, code)
	var got struct {
		OK       bool
		Findings []map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.False(t, got.OK)
	require.Equal(t, map[string]any{"topic": "/imu", "time": 1000e9, "kind": "frame", "expected": "imu",
		"seen": "body"}, got.Findings[0])

	stdout, stderr, code = execute(t, "check", slow)
	require.Equal(t, 0, code, stderr)
	require.Equal(t, slow+": nothing suspicious\n", stdout)
}

func TestExpectAndCheckErrors(t *testing.T) {
	good := imuDrive(t, "good.lines", 50, "imu")
	empty := writeLines(t, "empty.lines", nil)
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	require.NoError(t, os.WriteFile(broken, []byte("topics:\n  /imu: {hz: 3}\n"), 0o644))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"check", good, "--expect", broken}, 1, broken + ": line 2: hz is not an expectation"},
		{[]string{"check", "nowhere.mcap"}, 1, "nowhere.mcap"},
		{[]string{"check", good, "nowhere.mcap"}, 1, "1 of 2 recordings cannot be read"},
		{[]string{"expect", good, "-o", broken}, 1, broken + " exists; --overwrite replaces it"},
		{[]string{"expect", empty}, 1, "has no messages to learn from, or all of one time"},
		{[]string{"expect", good, "--field", "imu"}, 2, "want a topic, a dot and a field"},
		{[]string{"expect", good, "--field", "/imu.header"}, 1, "header is not a number"},
		{[]string{"expect", good, "--field", "/odom.a"}, 1, "there is no topic /odom"},
	} {
		_, stderr, code := execute(t, c.args...)
		require.Equal(t, c.code, code, stderr)
		require.Contains(t, stderr, c.want)
	}
}

// Real recordings have no false findings, and each meets the contract learnt from it.
func TestCheckSamples(t *testing.T) {
	// Samples that are similar to others.
	like := []string{"bag/cruise_example-lz4.bag", "rosbag2/rosbags_rs/test_bag_sqlite3",
		"carla/scenario_runner_DistanceToLaneCenter.log", "apollo/example.record.00000"}
	for name, want := range map[string][]string{
		"apollo/example.record.00000": nil,
		// The pictures of this sample are equal and truncated, and its transforms have two roots.
		"apollo/apollo_cpp_sensors.record":               {"/tf ", "/image/compressed", "/image/compressed", "/image "},
		"apollo/multichunk.record":                       nil,
		"bag/cruise_example.bag":                         nil,
		"bag/cruise_example-lz4.bag":                     nil,
		"bag/py_none.bag":                                nil,
		"carla/scenario_runner_DistanceToLaneCenter.log": nil,
		"carla/sr2020_DistanceToLaneCenter.log":          nil,
		"faults/carla_destroyed_actor.log":               nil,
		"faults/carla_no_kinematics.log":                 nil,
		"faults/carla_order_of_actors.log":               nil,
		"faults/check_payload/badlong.mcap":              {"32 bytes left behind the last field"},
		"faults/check_payload/badstr.mcap":               {"string length 2147483647 does not fit: bytes left: 3"},
		"mavlink/synthetic_px4_v2.tlog":                  nil,
		"rosbag2/humble_py/talker":                       nil,
		"rosbag2/rolling_py/mcap/wbag":                   nil,
		"rosbag2/rosbags_rs/test_bag_mcap":               nil,
		"rosbag2/rosbags_rs/test_bag_sqlite3":            nil,
		"session/easyteleop_reference/temp":              nil,
	} {
		if testing.Short() && slices.Contains(like, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			path := samples.Path(t, name)
			stdout, _, err := run(t, "check", path)
			lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
			if want == nil {
				require.NoError(t, err, stdout)
			} else {
				require.Len(t, lines, 2+len(want), stdout)
			}
			for i, text := range want {
				require.Contains(t, lines[2+i], text)
			}
			file := filepath.Join(t.TempDir(), "expect.yaml")
			_, _, err = run(t, "expect", path, "-o", file)
			if err != nil {
				require.ErrorContains(t, err, "no messages to learn from")
				return
			}
			stdout, _, err = run(t, "check", path, "--expect", file)
			require.NoError(t, err, stdout)
		})
	}
}

func TestInfoShowsLatency(t *testing.T) {
	path := imuDrive(t, "good.lines", 50, "imu")
	late := typed(t, "/imu", 2000e9, &sensor_msgs.Imu{Header: std_msgs.Header{
		Stamp: builtin_interfaces.Time{Sec: 1998}}})
	late.Channel = imu
	late2 := late
	late2.LogTime += 1e9
	path2 := writeLines(t, "late.lines", []codec.Message{late, late2})
	stdout, _, err := run(t, "info", "-v", path)
	require.NoError(t, err)
	require.Contains(t, stdout, "0.000 s, 99 % 0.000 s")
	stdout, _, err = run(t, "info", "-v", "--json", path2)
	require.NoError(t, err)
	var got struct {
		Topics []struct{ Latency struct{ Median, P99 float64 } }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.InEpsilon(t, 3, got.Topics[0].Latency.Median, 0.04)
}

// beginning returns a copy of the first size bytes of a file.
func beginning(t *testing.T, path string, size int) string {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), filepath.Base(path))
	require.NoError(t, os.WriteFile(path, data[:size], 0o666))
	return path
}

// The telemetry of a real flight came over a slow radio link, with gaps and up to a second late. That is not a clock
// that was set.
func TestCheckFlight(t *testing.T) {
	path := samples.Path(t, "mavlink/dronekit_flight.tlog")
	if testing.Short() {
		path = beginning(t, path, 750_000)
	}
	stdout, _, err := run(t, "check", path)
	require.ErrorContains(t, err, "suspicious: 1 of 1 recording")
	require.Regexp(t, `/mavros/imu/data_raw +gap +a message every 0.4\d* s +nothing for 18.79 s`, stdout)
	require.NotRegexp(t, ` (clock|nan|stamp|frozen|end|tf|payload) `, stdout)
}

// A recording that cannot be read is an error in JUnit. Findings about topics without messages are failures.
func TestCheckJUnit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "junit.xml")
	for range 2 {
		_, _, err := run(t, "check", "nowhere.mcap", "--junit", file)
		require.ErrorContains(t, err, "nowhere.mcap")
	}
	var suites junitSuites
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(text, &suites))
	require.Equal(t, 1, suites.Suites[0].Errors)

	suite := newSuite("a", contract.New(nil, &codec.Info{Complete: true}), []contract.Finding{
		{Topic: "/unseen", Kind: contract.Lost, Expected: "all messages", Seen: "7"}})
	require.Equal(t, 1, suite.Failures)
	require.Equal(t, []string{"recording", "/unseen"}, []string{suite.Cases[0].Name, suite.Cases[1].Name})
}
