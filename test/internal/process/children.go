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

// children are the processes that the tests of this process have started.
type children struct {
	mark  string
	stdin io.Closer // the reaper's: the kernel closes it if this process dies
	cmd   *exec.Cmd
}

// watch starts a process that kills all others that are started from now on, once this one has ended.
func watch() (*children, error) {
	o := &children{mark: fmt.Sprintf("%s=%d-%d", mark, os.Getpid(), time.Now().UnixNano())}
	o.cmd = exec.Command("sh", "-c", reaper, "reaper", o.mark)
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not for it
	stdin, err := o.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	o.stdin = stdin
	if err := o.cmd.Start(); err != nil {
		return nil, err
	}
	name, value, _ := strings.Cut(o.mark, "=")
	return o, os.Setenv(name, value)
}

// ended has all processes killed that are still there. It waits for those that are about to end, and returns an error
// that names the others.
func (o *children) ended() error {
	var left []string
	for deadline := time.Now().Add(Patience); ; time.Sleep(20 * time.Millisecond) {
		left = o.running()
		if len(left) == 0 || time.Now().After(deadline) {
			break
		}
	}
	o.stdin.Close()
	err := o.cmd.Wait()
	if len(left) > 0 {
		return fmt.Errorf("the tests have left processes running:\n%s", strings.Join(left, "\n"))
	}
	return err
}

// running returns the command lines of the processes that are there.
func (o *children) running() (list []string) {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		environ, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(environ, []byte(o.mark+"\x00")) {
			continue // it has ended, or is another user's
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		list = append(list, strings.TrimSpace(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))))
	}
	return list
}
