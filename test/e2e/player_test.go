package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/msgs/std_msgs"
)

// writeNumbers writes a recording of numbered messages. ms are the times of messages, in ms after begin.
func (g *graph) writeNumbers(name, topic string, begin int64, ms ...int64) string {
	g.t.Helper()
	path := g.path(name)
	w, err := formats.Create(path, codec.CreateOptions{})
	require.NoError(g.t, err)
	c := &codec.Channel{Topic: topic, Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
	for i, t := range ms {
		m := codec.Message{Channel: c, LogTime: begin + t*int64(time.Millisecond),
			Data: marshal(g.t, &std_msgs.UInt32{Data: uint32(i)})}
		require.NoError(g.t, w.Write(&m))
	}
	require.NoError(g.t, w.Close())
	return path
}

const epoch = int64(1_700_000_000e9)

// TestSimulatedTimeOfThePlayer records with the time on the player's /clock, and checks the log times.
func TestSimulatedTimeOfThePlayer(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	drive := g.writeNumbers("drive.record", "/n", epoch, 0, 2000, 4000, 6000, 8000)
	recorder := g.start("recorder", "-o", "copy", "/n", "--ros-args", "-p", "use_sim_time:=true")
	g.run(0, "player", drive, "--clock", "1000", "--rate", "2", "--wait-for-subscribers")
	recorder.Interrupt()
	require.Contains(t, g.run(0, "converter", "diff", drive, "copy.record.00000"), "identical")
	info := infoOf(t, g.path("copy.record.00000"))
	for _, at := range []int64{info.StartTime, info.EndTime} { // a busy machine may be late
		require.WithinRange(t, time.Unix(0, at), time.Unix(0, epoch-1e9), time.Unix(0, epoch+100e9))
	}
	require.Less(t, info.StartTime, info.EndTime)
}

// TestPlayerRefuses checks the messages and exit codes for wrong arguments and files.
func TestPlayerRefuses(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	drive := g.writeNumbers("drive.record", "/n", epoch, 0, 10)
	require.NoError(t, os.WriteFile(g.path("empty.record"), nil, 0o644))
	require.NoError(t, os.WriteFile(g.path("pointer.record"),
		[]byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"), 0o644))
	require.NoError(t, os.Mkdir(g.path("folder"), 0o755))
	for _, test := range []struct {
		code int
		says string
		args []string
	}{
		{2, "name a recording", nil},
		{1, "no such file", []string{"nowhere.record"}},
		{1, "empty", []string{"empty.record"}},
		{1, "git lfs pull", []string{"pointer.record"}},
		{1, "metadata.yaml", []string{"folder"}},
		{2, "rate", []string{drive, "--rate", "0"}},
		{2, "regex", []string{drive, "--regex", "["}},
		{1, "--start-offset 1h", []string{drive, "--start-offset", "1h"}},
		{2, "remap", []string{drive, "--remap", "/a"}},
		{1, "no topic matches --topics /other", []string{drive, "--topics", "/other"}},
	} {
		out := g.run(test.code, "player", test.args...)
		require.Contains(t, out, test.says, test.args)
		require.NotContains(t, out, "goroutine")
	}
}
