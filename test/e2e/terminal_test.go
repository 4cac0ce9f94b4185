package e2e

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/test/internal/process"
)

// terminal runs an executable on a new terminal. It returns the process and the terminal's keyboard.
func (g *graph) terminal(name string, args ...string) (*process.Process, io.Writer) {
	g.t.Helper()
	return g.shell(strings.Join(append([]string{"exec " + filepath.Join(bin, name)}, args...), " "))
}

// shell runs a shell command on a new terminal, by script(1). It returns the process and the terminal's keyboard.
func (g *graph) shell(command string) (*process.Process, io.Writer) {
	g.t.Helper()
	script, err := exec.LookPath("script")
	if err != nil {
		g.t.Skip("script(1) is not there, it is in bsdutils: ", err)
	}
	if out, err := exec.Command(script, "-qec", "true", os.DevNull).CombinedOutput(); err != nil {
		g.t.Skipf("this machine has no pseudo-terminals: %v: %s", err, out)
	}
	cmd := g.command(script, "-qefc", "stty cols 75; "+command, os.DevNull)
	keys, err := cmd.StdinPipe()
	require.NoError(g.t, err)
	return process.Start(g.t, cmd), keys
}

// TestPlayerOnATerminal checks the player's keys and its status line.
func TestPlayerOnATerminal(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	path := g.writeNumbers("numbers.record", "/n", epoch, 0, 20_000, 40_000, 40_100, 43_000)
	recorder := g.start("recorder", "-o", "stepped", "/n")
	player, keys := g.terminal("player", path, "--start-paused", "--wait-for-subscribers")
	press := func(key string) {
		_, err := io.WriteString(keys, key)
		require.NoError(t, err)
	}
	player.Prints("Space pauses")
	player.Prints("[PAUSED ] ")
	press("s")
	player.Prints(" 1 message")
	press(".")
	player.Prints(" 2 messages")
	press("\x1b[A")
	player.Prints("rate 1.10")
	press("\x1b[B")
	press("s") // 20 s on
	player.Prints(" 3 messages")
	require.NotContains(t, player.Output(), " 4 messages")
	press(" ")
	player.Prints("[PLAYING] ")
	require.Contains(t, player.Wait(0), "played 5 messages")
	recorder.Interrupt()
	require.Len(t, messages(t, g.path("stepped.record.00000"))["/n"], 5)
}

// TestPlayerStoppedAndContinued checks that the player can be stopped by Ctrl-Z, and reads keys again after bg and fg.
func TestPlayerStoppedAndContinued(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	path := g.writeNumbers("numbers.record", "/n", epoch, 0, 1, 2, 3)
	shell, keys := g.shell("PS1=ready: HISTFILE= exec bash --norc -i")
	press := func(key string) {
		_, err := io.WriteString(keys, key)
		require.NoError(t, err)
	}
	command := func(line string) {
		await(t, func() bool { return strings.HasSuffix(shell.Output(), "ready:") })
		press(line + "\n")
	}
	command(filepath.Join(bin, "player") + " " + path + " --start-paused --keep-alive --match-patience 0")
	shell.Prints("[PAUSED ] ")
	press("\x1a") // Ctrl-Z
	command("fg")
	press(".")
	shell.Prints(" 1 message")
	press("\x1a")
	command("bg")
	command("fg; echo rc=$?") // reading the terminal has not stopped the job
	press(".")
	shell.Prints(" 2 messages")
	press("\x03")
	shell.Prints("rc=0")
	command("exit")
	require.NotContains(t, shell.Wait(0), "tty input")
}

// TestRecorderOnATerminal checks the recorder's keys and its status line.
func TestRecorderOnATerminal(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	recorder, keys := g.terminal("recorder", "-o", "drive", "/n")
	recorder.Prints("[RECORDING] ")
	p := g.advertise(g.open("publisher"), "/n", "std_msgs/msg/UInt32", keepAll())
	require.NoError(t, p.Publish(g.number(1)))
	recorder.Prints("1 topic, 1 message")
	press := func(key string) {
		_, err := io.WriteString(keys, key)
		require.NoError(t, err)
	}
	press(" ")
	recorder.Prints("[PAUSED] ")
	press(" ")
	await(t, func() bool {
		return strings.LastIndex(recorder.Output(), "[RECORDING] ") > strings.LastIndex(recorder.Output(), "[PAUSED] ")
	})
	require.NoError(t, p.Publish(g.number(2)))
	recorder.Prints("1 topic, 2 messages")
	press("\x03") // Ctrl-C
	out := recorder.Wait(0)
	require.Contains(t, out, "\r\x1b[Krecorded drive.record.00000: ",
		"the final line must replace the status line and ^C")
	require.Contains(t, out, "\r\x1b[K[", "a log line must replace the status line")
	for line := range strings.SplitSeq(out, "\r") {
		if strings.HasPrefix(line, "[RECORDING]") {
			require.LessOrEqual(t, len(line), 75+len("\x1b[K^C"), "the line is longer than the terminal: %q", line)
		}
	}
}
