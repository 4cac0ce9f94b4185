package e2e

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// terminal runs an executable on a terminal of its own, by script(1), and returns its keyboard.
func (g *graph) terminal(name string, args ...string) (*process, io.Writer) {
	g.t.Helper()
	script, err := exec.LookPath("script")
	if err != nil {
		g.t.Skip("script(1) is not there, it is in bsdutils: ", err)
	}
	if out, err := exec.Command(script, "-qec", "true", os.DevNull).CombinedOutput(); err != nil {
		g.t.Skipf("this machine has no pseudo-terminals: %v: %s", err, out)
	}
	p := &process{t: g.t, name: name, done: make(chan struct{})}
	p.cmd = exec.Command(script, "-qefc", strings.Join(append([]string{"stty cols 75; exec " + filepath.Join(bin, name)}, args...), " "), os.DevNull)
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout = g.dir, g.env, &p.out
	keys, err := p.cmd.StdinPipe()
	require.NoError(g.t, err)
	g.launch(p, args)
	return p, keys
}

func TestPlayerOnATerminal(t *testing.T) {
	g := isolate(t)
	tape := g.tape("tape.record", "/n", epoch, 0, 20_000, 40_000, 40_100, 43_000)
	recorder := g.start("recorder", "-o", "stepped", "/n")
	player, keys := g.terminal("player", tape, "--start-paused", "--wait-for-subscribers")
	press := func(key string) {
		_, err := io.WriteString(keys, key)
		require.NoError(t, err)
	}
	player.prints("Space pauses")
	player.prints("[PAUSED ] ")
	press("s")
	player.prints(" 1 messages")
	press(".")
	player.prints(" 2 messages")
	press("\x1b[A")
	player.prints("rate 1.10")
	press("\x1b[B")
	press("s") // 20 s on
	player.prints(" 3 messages")
	require.NotContains(t, player.out.String(), " 4 messages")
	press(" ")
	player.prints("[PLAYING] ")
	require.Contains(t, player.wait(0), "played 5 messages")
	recorder.signal(os.Interrupt)
	require.Len(t, messages(t, g.path("stepped.record.00000"))["/n"], 5)
}

func TestRecorderOnATerminal(t *testing.T) {
	g := isolate(t)
	recorder, keys := g.terminal("recorder", "-o", "drive", "/n")
	recorder.prints("[RECORDING] ")
	p := g.advertise(g.open("source"), "/n", "std_msgs/msg/UInt32", keepAll())
	require.NoError(t, p.Publish(g.number(1)))
	recorder.prints("1 topics, 1 messages")
	_, err := io.WriteString(keys, "\x03") // Ctrl-C
	require.NoError(t, err)
	out := recorder.wait(0)
	require.Contains(t, out, "recorded drive.record.00000: ")
	require.Contains(t, out, "\r\x1b[K[", "a log line takes the place of the status line")
	for line := range strings.SplitSeq(out, "\r") {
		if strings.HasPrefix(line, "[RECORDING]") {
			require.LessOrEqual(t, len(line), 75+len("\x1b[K^C"), "the line fits the terminal: %q", line)
		}
	}
}
