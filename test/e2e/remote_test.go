package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/test/internal/process"
)

// remote runs a command that controls a running node.
func (g *graph) remote(code int, name string, args ...string) string {
	g.t.Helper()
	args = append(args, "--timeout", "90s")
	return process.Start(g.t, g.command(filepath.Join(g.bin, name), args...)).Wait(code)
}

// TestPlayerCommands controls a player with the player's commands.
func TestPlayerCommands(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	path := g.writeNumbers("numbers.record", "/n", epoch, 0, 1000, 2000, 3000, 600_000)
	player := g.start("player", path, "--start-paused")
	for _, step := range []struct {
		want string
		args []string
	}{
		{"/player: rate 1\n", []string{"rate"}},
		{"/player: rate 2\n", []string{"rate", "2"}},
		{"/player: rate 2\n", []string{"rate"}},
		{"/player: played 1 message\n", []string{"play-next"}},
		{"/player: played up to ", []string{"step"}},
		{"/player: played 2 messages\n", []string{"burst", "2"}},
		{"/player: at ", []string{"seek", "--offset", "1s"}},
		{"/player: played 3 messages\n", []string{"burst", "3"}},
		{"/player: at ", []string{"seek", "--by", "-2.5s", "--node", "player"}},
		{"/player: played 4 messages\n", []string{"burst", "0"}},
		{"/player: at ", []string{"seek", "--offset", "0"}},
		{"/player: resumed\n", []string{"toggle-paused"}},
		{"/player: paused\n", []string{"pause"}},
		{"/player: resumed\n", []string{"resume"}},
	} {
		require.Contains(t, g.remote(0, "player", step.args...), step.want, step.args)
	}
	for _, wrong := range []struct {
		code int
		want string
		args []string
	}{
		{1, "/player refused: it is not paused, or nothing is left to play", []string{"burst", "1"}},
		{1, "/player refused: the rate must be 0.001 to 1000000, or inf", []string{"rate", "0"}},
		{1, "is outside of what /player plays", []string{"seek", "2020-01-01T00:00:00Z"}},
		{2, `"fast" is not a number`, []string{"rate", "fast"}},
		{2, "give a TIME, --offset or --by", []string{"seek"}},
		{2, "got 1 argument; the usage is: player pause", []string{"pause", "now"}},
	} {
		require.Contains(t, g.remote(wrong.code, "player", wrong.args...), wrong.want, wrong.args)
	}
	require.Contains(t, g.run(1, "recorder", "pause", "--timeout", "1s"), "no recorder was found within 1s")

	other := g.start("player", path, "--start-paused", "--ros-args", "-r", "__ns:=/robot")
	await(t, func() bool { // until the commands find the second player
		command := process.Start(t, g.command(filepath.Join(g.bin, "player"), "pause"))
		command.Ended()
		return strings.Contains(command.Output(),
			"several nodes are running: /player, /robot/player; name one with --node")
	})
	require.Contains(t, g.remote(0, "player", "stop", "--node", "/robot/player"), "/robot/player: stopped")
	other.Wait(0)
	require.Contains(t, g.remote(0, "player", "stop"), "/player: stopped")
	player.Wait(0)
}

// TestFileNamedLikeACommand checks that a file with the name of a command is played if its path has a folder.
func TestFileNamedLikeACommand(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	require.NoError(t, os.Rename(g.writeNumbers("pause.mcap", "/n", epoch, 0), g.path("pause")))
	require.Contains(t, process.Start(t, g.command(filepath.Join(g.bin, "player"), "pause", "--timeout", "1s")).Wait(1),
		"no player was found within 1s; is one running with the same ROS_DOMAIN_ID")
	require.Contains(t, process.Start(t, g.command(filepath.Join(g.bin, "player"), "pause", "--timeout", "1s")).Wait(1),
		"to name the file pause, write ./pause")
	require.Contains(t, g.run(0, "player", "./pause"), "played 1 message")
}

// TestRecorderCommands controls a recorder with the recorder's commands.
func TestRecorderCommands(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	recorder := g.start("recorder", "-o", "drive", "/n", "--allow-unmatched", "--snapshot")
	for _, step := range []struct {
		want string
		args []string
	}{
		{"/recorder: paused\n", []string{"pause"}},
		{"/recorder: resumed\n", []string{"resume"}},
		{"/recorder: split\n", []string{"split"}},
		{"/recorder: continues in " + g.path("mission.record.00000") + "\n", []string{"split", "--output", "mission"}},
		{"snapshot_mission_", []string{"snapshot"}},
		{"crash.record.00000\n", []string{"trigger", "--output", "crash", "--node", "/recorder"}},
		{"/recorder: stopped\n", []string{"stop"}},
		{"/recorder: recording\n", []string{"record", "second"}},
	} {
		require.Contains(t, g.remote(0, "recorder", step.args...), step.want, step.args)
	}
	require.Contains(t, g.remote(1, "recorder", "record", g.path("third")), "unless service_root is /")
	require.Contains(t, g.remote(1, "recorder", "snapshot", "-o", "../third"), "unless service_root is /")
	require.Contains(t, g.remote(1, "recorder", "record", "third"),
		"/recorder refused: second.record.00000 is being recorded")
	recorder.Interrupt()
	for _, name := range []string{"drive.record.00000", "drive.record.00001", "mission.record.00000",
		"second.record.00000"} {
		require.FileExists(t, g.path(name))
	}
}

// TestConverterRequest checks that 'converter request' lets a running node convert.
func TestConverterRequest(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	g.writeNumbers("in.record", "/n", epoch, 0, 1000, 2000)
	converter := g.start("converter_node")
	said := g.remote(0, "converter_node", "request", "in.record", "out.mcap", "--option", "throttle=/n=1/3")
	require.Contains(t, said,
		"/converter: converted 1 message on 1 topic to out.mcap")
	require.Len(t, messages(t, g.path("out.mcap"))["/n"], 1)
	require.Contains(t, g.remote(1, "converter_node", "request", "missing.record", "other.mcap"),
		"/converter refused: convert to other.mcap")
	for _, paths := range [][]string{
		{g.path("in.record"), "a.mcap"}, {"in.record", "../a.mcap"}, {"../in.record", "a.mcap"},
	} {
		require.Contains(t, g.remote(1, "converter_node", append([]string{"request"}, paths...)...),
			"is not below .: services take relative paths without .., unless service_root is /")
	}
	require.Contains(t, g.remote(2, "converter_node", "request", "in.record"), "got 1 path")
	converter.Interrupt()
}

// status is the state that a node reports.
type status struct {
	Node, State, Format string
	Paths               []string
	FreeBytes           int64 `json:"free_bytes"`
	Duration            float64
	Messages            uint64
	Snapshots           struct {
		Taken int
		Last  string
	}
	Topics []struct {
		Topic, Type string
		Received    uint64
		Subscribers *int
	}
}

// TestStatus checks the printed status of nodes, and that the command fails soon if there is no node.
func TestStatus(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	for _, name := range []string{"recorder", "player"} {
		none := process.Start(t, g.command(filepath.Join(g.bin, name), "status")).Wait(1)
		require.Regexp(t, "no "+name+` was found within \d`, none)
	}
	player := g.start("player", g.writeNumbers("numbers.mcap", "/n", epoch, 0, 1000), "--start-paused")
	recorder := g.start("recorder", "-o", "drive.mcap", "/n", "--snapshot")
	decode := func(name string) (s status) {
		stdout := g.remote(0, name, "status", "--json")
		_, object, _ := strings.Cut(stdout, "{") // skips the log
		require.NoError(t, json.Unmarshal([]byte("{"+object), &s), stdout)
		return s
	}
	await(t, func() bool { return len(decode("recorder").Topics) == 1 })
	await(t, func() bool { return *decode("player").Topics[0].Subscribers == 1 })
	require.Contains(t, g.remote(0, "player", "play-next"), "played 1 message")
	await(t, func() bool { return decode("recorder").Topics[0].Received == 1 })
	require.Contains(t, g.remote(0, "recorder", "trigger"), "snapshot_drive_")

	s := decode("recorder")
	require.Equal(t, []any{"/recorder", "RECORDING", "mcap", []string{g.path("drive.mcap")}, "/n",
		"std_msgs/msg/UInt32"}, []any{s.Node, s.State, s.Format, s.Paths, s.Topics[0].Topic, s.Topics[0].Type})
	require.Equal(t, 1, s.Snapshots.Taken)
	require.Positive(t, s.FreeBytes)
	text := g.remote(0, "recorder", "status")
	for _, line := range []string{"node:      /recorder\n", "state:     RECORDING\n", "recording: " +
		g.path("drive.mcap") + "\n", "snapshots: 1 taken, the last one is " + s.Snapshots.Last + "\n",
		"topic:     /n, 1 message, "} {
		require.Contains(t, text, line)
	}

	s = decode("player")
	require.Equal(t, []any{"/player", "PAUSED", uint64(1), "/n"},
		[]any{s.Node, s.State, s.Messages, s.Topics[0].Topic})
	require.InDelta(t, 1, s.Duration, 1e-6)
	text = g.remote(0, "player", "status")
	for _, line := range []string{"node:      /player\n", "state:     PAUSED\n", "topic:     /n, 1 subscriber\n"} {
		require.Contains(t, text, line)
	}
	player.Interrupt()
	recorder.Interrupt()
}
