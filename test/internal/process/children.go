package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// mark is the environment variable that marks the processes of a test and all their descendants.
const mark = "TAPEDECK_TEST_RUN"

// reaper is a shell script. When its standard input ends, it kills all processes that have its argument in their
// environment. Bash is not needed: Debian's grep reads text separated by NUL.
//
//nolint:dupword // loops of the shell end in done
const reaper = `cat
for round in 1 2 3 4 5; do
	for found in $(grep -lzxF -e "$1" /proc/[0-9]*/environ 2>/dev/null); do
		pid=${found#/proc/}
		kill -KILL "${pid%/environ}"
	done
done`

// children finds and ends the processes that the tests of this process have started.
type children struct {
	mark  string    // environment variable of all children, as NAME=VALUE
	cmd   *exec.Cmd // runs reaper
	stdin io.Closer // of cmd: the kernel closes it if this process dies
}

// watch starts a reaper. When this process has ended, the reaper kills all children that were started after the call.
func watch() (*children, error) {
	c := &children{mark: fmt.Sprintf("%s=%d-%d", mark, os.Getpid(), time.Now().UnixNano())}
	c.cmd = exec.Command("sh", "-c", reaper, "reaper", c.mark)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that Ctrl-C does not end the reaper
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.stdin = stdin
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	name, value, _ := strings.Cut(c.mark, "=")
	return c, os.Setenv(name, value)
}

// end waits until all children have ended, kills the children that do not end, and returns an error that names them.
func (c *children) end() error {
	var left []string
	for deadline := time.Now().Add(Patience); ; time.Sleep(20 * time.Millisecond) {
		left = c.running()
		if len(left) == 0 || time.Now().After(deadline) {
			break
		}
	}
	c.stdin.Close()
	err := c.cmd.Wait()
	if len(left) > 0 {
		return fmt.Errorf("the tests have left processes running:\n%s", strings.Join(left, "\n"))
	}
	return err
}

// running returns the command lines of the running children.
func (c *children) running() (list []string) {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		environ, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(environ, []byte(c.mark+"\x00")) {
			continue // the process has ended, or belongs to another user
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		list = append(list, strings.TrimSpace(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))))
	}
	return list
}
