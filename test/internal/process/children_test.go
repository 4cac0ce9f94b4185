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

const role = "PROCESS_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(Main(m, nil))
	}
	// The tests of another process: they start a shell in a session of its own, and that starts another one.
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
		panic("as a test that fails badly")
	}
	select {}
}

// TestChildrenEndWithTheTests shows that nothing that tests have started outlives them, however they end.
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

func TestRunningNamesWhatIsLeft(t *testing.T) {
	t.Setenv(mark, os.Getenv(mark)) // which watch changes
	o, err := watch()
	require.NoError(t, err)
	require.Empty(t, o.running())
	cmd := exec.Command("sleep", "1000")
	require.NoError(t, cmd.Start())
	require.Equal(t, []string{"sleep 1000"}, o.running())
	require.NoError(t, o.stdin.Close())
	require.Error(t, cmd.Wait(), "it was killed")
	require.NoError(t, o.cmd.Wait())
	require.Empty(t, o.running())
}

func TestRoot(t *testing.T) { require.FileExists(t, filepath.Join(Root(), "package.xml")) }
