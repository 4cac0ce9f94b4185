// Package process runs programs for tests.
package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Patience is how long anything may take on a machine of one's own.
const Patience = 90 * time.Second

// grace is what a program has to end by itself when it is interrupted at the end of its test.
const grace = 5 * time.Second

// Process is a running program. It does not outlive its test, which shows what it printed when it fails.
type Process struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  output        // on both streams
	std  output        // on standard output
	done chan struct{} // closed when it has ended
}

// output is what a program prints.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// Start starts cmd.
func Start(t *testing.T, cmd *exec.Cmd) *Process {
	t.Helper()
	LookAtSources()
	p := &Process{t: t, cmd: cmd, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&p.std, &p.out), &p.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its own children end with it
	require.NoError(t, cmd.Start())
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.end()
		if t.Failed() {
			t.Logf("%s printed:\n%s", strings.Join(cmd.Args, " "), p.out.String())
		}
	})
	return p
}

// end ends the process, and those that it has started.
func (p *Process) end() {
	// One that is killed leaves things behind, such as the shared memory of Fast DDS.
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		select {
		case <-p.done:
			return
		default:
			_ = syscall.Kill(-p.cmd.Process.Pid, signal)
		}
		select {
		case <-p.done:
		case <-time.After(grace):
		}
	}
	<-p.done
}

// Output returns what the process has printed on both streams.
func (p *Process) Output() string { return p.out.String() }

// Stdout returns what the process has printed on standard output.
func (p *Process) Stdout() string { return p.std.String() }

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// Kill ends the process as it does not expect.
func (p *Process) Kill() {
	p.t.Helper()
	p.Signal(os.Kill)
	p.Ended()
}

// Ended waits for the end, whatever the exit code.
func (p *Process) Ended() {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(Patience):
		require.FailNow(p.t, p.cmd.Args[0]+" does not end", p.Output())
	}
}

// Wait waits for the end, requires that exit code and returns what was printed on both streams.
func (p *Process) Wait(code int) string {
	p.t.Helper()
	p.Ended()
	require.Equal(p.t, code, p.cmd.ProcessState.ExitCode(), p.Output())
	return p.Output()
}

// Interrupt sends SIGINT, waits for a clean end and returns what was printed on both streams.
func (p *Process) Interrupt() string {
	p.t.Helper()
	p.Stop()
	return p.Wait(0)
}

// Stop sends SIGINT, waits for the end, whatever the exit code, and returns what was printed on both streams.
func (p *Process) Stop() string {
	p.t.Helper()
	p.Signal(os.Interrupt)
	p.Ended()
	return p.Output()
}

// Delayed returns how long one of the program's threads has waited for a processor so far, at most: what the machine's
// other work has held it up.
func (p *Process) Delayed() (most time.Duration) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	for _, path := range threads {
		text, _ := os.ReadFile(path) // the thread may have ended
		var ran, waited time.Duration
		_, _ = fmt.Sscan(string(text), &ran, &waited)
		most = max(most, waited)
	}
	return most
}

// Memory returns how many bytes of memory the program has now.
func (p *Process) Memory() int {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	require.NoError(p.t, err)
	var total, resident int // pages
	_, err = fmt.Sscan(string(text), &total, &resident)
	require.NoError(p.t, err)
	return resident * os.Getpagesize()
}

// Prints waits until the process has printed text.
func (p *Process) Prints(text string) {
	p.t.Helper()
	deadline := time.After(Patience)
	for !strings.Contains(p.Output(), text) {
		select {
		case <-p.done:
		case <-deadline:
		case <-time.After(10 * time.Millisecond):
			continue
		}
		require.Contains(p.t, p.Output(), text, p.cmd.Args[0])
		return
	}
}
