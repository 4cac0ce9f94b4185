package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/test/samples"
	"tapedeck/test/samples/generate"
)

// TestTlog converts and compares a telemetry log.
func TestTlog(t *testing.T) {
	log := generate.Path(t, "mavlink/synthetic_px4_v2.tlog")
	for _, test := range []struct {
		options []string
		want    string
		topics  []string
	}{
		{nil, "4710 messages, 25 topics", []string{"/mavros/imu/data "}},
		{[]string{"--raw"}, "6370 messages, 37 topics", []string{"/mavros/imu/data ", "/mavlink/uas1/comp1/ODOMETRY "}},
	} {
		copied := filepath.Join(t.TempDir(), "flight.mcap")
		stdout, stderr, err := run(t, append(test.options, log, copied)...)
		require.NoError(t, err, stderr)
		require.Contains(t, stdout, test.want)
		stdout, _, err = run(t, "info", copied)
		require.NoError(t, err)
		for _, topic := range test.topics {
			require.Contains(t, stdout, topic)
		}
		if test.options == nil {
			stdout, _, err = run(t, "diff", log, copied)
			require.NoError(t, err, stdout)
		}
	}
	stdout, _, err := run(t, "info", log)
	require.NoError(t, err)
	require.Contains(t, stdout, "0 of MAVLink 1, 1660 of MAVLink 2, 0 signed")
	stdout, _, err = run(t, "recover", log, filepath.Join(t.TempDir(), "saved.mcap"))
	require.NoError(t, err)
	require.Contains(t, stdout, "nothing was damaged")
}

// TestULog converts, compares and recovers a log of PX4.
func TestULog(t *testing.T) {
	log := filepath.Join(t.TempDir(), "flight.ulg")
	require.NoError(t, os.WriteFile(log, generate.Flight(), 0o666))
	copied := filepath.Join(t.TempDir(), "flight.mcap")
	stdout, stderr, err := run(t, log, copied)
	require.NoError(t, err, stderr)
	require.Contains(t, stdout, "71 messages, 8 topics")
	stdout, _, err = run(t, "diff", log, copied)
	require.NoError(t, err, stdout)
	for _, path := range []string{log, copied} {
		stdout, _, err = run(t, "info", path)
		require.NoError(t, err)
		require.Contains(t, stdout, "ulog.info/sys_name = PX4")
		require.Contains(t, stdout, "PX4's logger dropped messages")
	}

	standard := filepath.Join(t.TempDir(), "standard.mcap")
	stdout, stderr, err = run(t, log, standard, "--standard-messages")
	require.NoError(t, err, stderr)
	require.Contains(t, stdout, "132 messages, 12 topics")

	stdout, stderr, err = run(t, log, filepath.Join(t.TempDir(), "track.gpx"))
	require.NoError(t, err, "tracks need standard messages")
	require.Contains(t, stderr, "converting them as with --standard-messages")
	require.Contains(t, stdout, "track.gpx: 2 messages")

	broken := log + ".broken.ulg"
	require.NoError(t, os.WriteFile(broken, append(generate.Flight(), "noise"...), 0o666))
	stdout, _, err = run(t, "recover", broken)
	require.NoError(t, err)
	require.Contains(t, stdout, "1 damaged place")
	_, _, err = run(t, "diff", copied, broken+".recover.mcap")
	require.NoError(t, err, "recover writes MCAP for a read-only format")
	_, _, err = run(t, log, "x.ulg")
	require.ErrorContains(t, err, "does not say in which format to write")
}

// Outlying times are an event and a finding, in every format.
func TestOutlyingTimes(t *testing.T) {
	for name, want := range map[string]string{
		"clock_set.tlog":           "the times of 10 messages are 19676 days before",
		"one_bad_time.tlog":        "the times of 1 message are 19676 days before",
		"first_message_at_0s.mcap": "the times of 2 messages are 19676 days before",
	} {
		path := samples.Path(t, "faults/"+name)
		stdout, _, err := run(t, "info", path)
		require.NoError(t, err)
		require.Contains(t, stdout, want)
		stdout, _, err = run(t, "check", path)
		require.Error(t, err)
		require.Contains(t, stdout, want)
		require.Contains(t, stdout, "1 finding\n")
	}
	beyond := samples.Path(t, "faults/time_beyond_int64.mcap")
	folder := t.TempDir() // a ROS 2 bag
	text, err := os.ReadFile(beyond)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a.mcap"), text, 0o666))
	for _, path := range []string{beyond, folder} {
		stdout, _, err := run(t, path, filepath.Join(t.TempDir(), "a.mcap"))
		require.NoError(t, err)
		require.Contains(t, stdout, "lost: messages beyond 2262 (2 messages on /a)")
		stdout, _, _ = run(t, "info", path)
		require.Contains(t, stdout, "Start:      beyond 2262 (9223372036.854775808)\n")
		require.Contains(t, stdout, "the times of 1 message are beyond 2262")
		require.NotContains(t, stdout, "1677")
		require.NotContains(t, stdout, "1969")
	}
}
