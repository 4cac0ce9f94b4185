// Package process runs programs for tests, and isolates them from other processes.
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

// Patience is the longest time that tests wait for an event.
const Patience = 90 * time.Second

// grace is the time in which a program must end after an interrupt at the end of its test, before it is killed.
const grace = 5 * time.Second

// Process is a running program. It ends with its test at the latest. If the test fails, it logs the program's output.
type Process struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    lockedBuffer  // standard output and standard error
	stdout lockedBuffer  // standard output
	done   chan struct{} // closed when the program has ended
}

// lockedBuffer keeps printed text. Its methods may be called from several goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Start starts cmd. The test fails if cmd cannot start.
func Start(t *testing.T, cmd *exec.Cmd) *Process {
	t.Helper()
	LookAtSources()
	p := &Process{t: t, cmd: cmd, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&p.stdout, &p.out), &p.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that end also signals its children
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

// end ends the process and its children.
func (p *Process) end() {
	// First an interrupt: killed processes leave files behind, such as the shared memory of Fast DDS.
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

// Output returns the printed text so far, of standard output and standard error.
func (p *Process) Output() string { return p.out.String() }

// Stdout returns the text on standard output so far.
func (p *Process) Stdout() string { return p.stdout.String() }

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// Kill ends the process with SIGKILL.
func (p *Process) Kill() {
	p.t.Helper()
	p.Signal(os.Kill)
	p.Ended()
}

// Ended waits for the end of the process, whatever the exit code.
func (p *Process) Ended() {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(Patience):
		require.FailNow(p.t, p.cmd.Args[0]+" does not end", p.Output())
	}
}

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// ExitCode returns the exit code of a process that has ended.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// Wait waits for the end of the process, requires the exit code and returns the printed text.
func (p *Process) Wait(code int) string {
	p.t.Helper()
	p.Ended()
	require.Equal(p.t, code, p.cmd.ProcessState.ExitCode(), p.Output())
	return p.Output()
}

// Interrupt sends SIGINT, waits for the end of the process, requires the exit code 0 and returns the printed text.
func (p *Process) Interrupt() string {
	p.t.Helper()
	p.Stop()
	return p.Wait(0)
}

// Stop sends SIGINT, waits for the end of the process, whatever the exit code, and returns the printed text.
func (p *Process) Stop() string {
	p.t.Helper()
	p.Signal(os.Interrupt)
	p.Ended()
	return p.Output()
}

// Delayed returns how long other work on the machine has delayed the program: the longest time that one of its threads
// has waited for a processor.
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

// Memory returns the program's resident memory in bytes.
func (p *Process) Memory() int {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	require.NoError(p.t, err)
	var total, resident int // pages
	_, err = fmt.Sscan(string(text), &total, &resident)
	require.NoError(p.t, err)
	return resident * os.Getpagesize()
}

// Prints waits until the process has printed text. The test fails if the process ends before.
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
