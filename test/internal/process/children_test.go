package process

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// role is the environment variable of a copy of this executable, which names how the copy ends.
const role = "PROCESS_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(Main(m, nil))
	}
	// This copy runs "tests": they start a shell in a new session, and the shell starts sleep.
	_, err := watch()
	if err == nil {
		cmd := exec.Command("setsid", "sh", "-c", "sleep 1000 & echo $!; wait")
		cmd.Stdout = os.Stdout
		err = cmd.Start()
	}
	if err != nil {
		fmt.Println(err)
	}
	if os.Getenv(role) == "panic" {
		time.Sleep(100 * time.Millisecond)
		panic("a test panics")
	}
	select {}
}

// TestChildrenEndWithTheTests checks that no process that tests have started outlives the tests, however they end.
func TestChildrenEndWithTheTests(t *testing.T) {
	for _, end := range []string{"panic", "SIGKILL", "SIGQUIT", "SIGINT"} {
		t.Run(end, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), role+"="+end)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewReader(out)
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			require.NoError(t, err)
			if signal := unix.SignalNum(end); signal != 0 {
				require.NoError(t, cmd.Process.Signal(signal))
			}
			require.Error(t, cmd.Wait())
			require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, Patience, 10*time.Millisecond)
		})
	}
}

// TestRunning checks that running returns the command lines of running children, and no others.
func TestRunning(t *testing.T) {
	t.Setenv(mark, os.Getenv(mark)) // restores the variable, which watch changes
	c, err := watch()
	require.NoError(t, err)
	require.Empty(t, c.running())
	cmd := exec.Command("sleep", "1000")
	require.NoError(t, cmd.Start())
	require.Equal(t, []string{"sleep 1000"}, c.running())
	require.NoError(t, c.stdin.Close())
	require.Error(t, cmd.Wait(), "the child was not killed")
	require.NoError(t, c.cmd.Wait())
	require.Empty(t, c.running())
}

func TestRoot(t *testing.T) { require.FileExists(t, filepath.Join(Root(), "package.xml")) }
