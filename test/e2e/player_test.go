package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/test/samples/generate"
)

// tape writes a recording of messages at these times, in ms after begin, with their index as payload.
func (g *graph) tape(name, topic string, begin int64, ms ...int64) string {
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

func TestPlayerClockNeverRunsBackwards(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	tape := g.tape("tape.record", "/n", epoch, 0, 300, 600)
	node := g.open("listener")
	clock := g.heard(node, "/clock", "rosgraph_msgs/msg/Clock", codec.DefaultQoS())
	numbers := g.heard(node, "/n", "std_msgs/msg/UInt32", codec.DefaultQoS())
	player := g.start("player", tape, "--clock", "200", "--rate", "2", "--loop", "--wait-for-subscribers")
	await(t, func() bool { return len(clock()) > 50 && len(numbers()) > 9 }) // it plays in a loop
	player.Interrupt()
	last := int64(0)
	for _, data := range clock() {
		var c rosgraph_msgs.Clock
		require.NoError(t, cdr.Unmarshal(data, &c))
		now := int64(c.Clock.Sec)*1e9 + int64(c.Clock.Nanosec)
		require.GreaterOrEqual(t, now, last)
		last = now
	}
	require.Greater(t, last-epoch, int64(1e9))
}

// TestSimulatedTimeOfThePlayer records with the time that the player publishes, half a real second for a second.
func TestSimulatedTimeOfThePlayer(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	tape := g.tape("tape.record", "/n", epoch, 0, 2000, 4000, 6000, 8000)
	recorder := g.start("recorder", "-o", "copy", "/n", "--ros-args", "-p", "use_sim_time:=true")
	g.run(0, "player", tape, "--clock", "1000", "--rate", "2", "--wait-for-subscribers")
	recorder.Interrupt()
	require.Contains(t, g.run(0, "converter", "diff", tape, "copy.record.00000"), "identical")
	info := infoOf(t, g.path("copy.record.00000"))
	for _, at := range []int64{info.StartTime, info.EndTime} { // a busy machine may be late
		require.WithinRange(t, time.Unix(0, at), time.Unix(0, epoch-1e9), time.Unix(0, epoch+100e9))
	}
	require.Less(t, info.StartTime, info.EndTime)
}

func TestPlayerMergesRemapsAndCuts(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	a := g.tape("a.record", "/a", epoch, 0, 200, 400, 600)
	b := g.tape("b.mcap", "/b", epoch, 100, 300, 500, 700)
	recorder := g.start("recorder", "-o", "merged", "/c", "/b")
	g.run(0, "player", a, b, "--remap", "/a:=/c", "--start-offset", "150ms", "--duration", "400ms",
		"--wait-for-subscribers")
	recorder.Interrupt()
	all := messages(t, g.path("merged.record.00000"))
	require.Len(t, all["/c"], 2, "at 200 and 400 ms")
	require.Len(t, all["/b"], 2, "at 300 and 500 ms")
}

func TestPlayerRefuses(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	tape := g.tape("tape.record", "/n", epoch, 0, 10)
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
		{2, "rate", []string{tape, "--rate", "0"}},
		{2, "regex", []string{tape, "--regex", "["}},
		{1, "start_offset", []string{tape, "--start-offset", "1h"}},
		{2, "remap", []string{tape, "--remap", "/a"}},
		{1, "nothing to play", []string{tape, "--topics", "/other"}},
	} {
		out := g.run(test.code, "player", test.args...)
		require.Contains(t, out, test.says, test.args)
		require.NotContains(t, out, "goroutine")
	}
}

func TestPlayerNamesWhatHasNoTranslation(t *testing.T) {
	t.Parallel()
	undescribed := generate.Path(t, "apollo/multichunk.record")
	g := isolate(t)
	require.Contains(t, g.run(1, "player", undescribed), "nothing to play")
	require.Equal(t, 1, strings.Count(g.run(1, "player", undescribed, "--topics", "/a"), "not played: /a "))
}
