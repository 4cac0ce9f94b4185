package harness

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
)

// Process is a process whose processor time and peak memory are measured.
type Process struct {
	*exec.Cmd
	peak   atomic.Int64    // bytes
	output strings.Builder // complete once the process has ended
	done   chan struct{}   // closed when it has ended
	err    error           // of Wait; read it only after done is closed
}

// Start starts a process. Standard error is kept for error texts, and standard output too unless cmd.Stdout is set.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{Cmd: cmd, done: make(chan struct{})}
	cmd.Stderr = &p.output
	if cmd.Stdout == nil {
		cmd.Stdout = &p.output
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	go p.watchMemory()
	return p, nil
}

// watchMemory updates peak until the process ends.
func (p *Process) watchMemory() {
	for {
		select {
		case <-p.done:
			return
		case <-time.After(20 * time.Millisecond):
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
		if err != nil {
			return
		}
		_, rest, _ := strings.Cut(string(status), "VmHWM:")
		var kilobytes int64
		if _, err := fmt.Sscan(rest, &kilobytes); err == nil { // an ending process has no VmHWM
			p.peak.Store(kilobytes << 10)
		}
	}
}

// PeakMemory returns the maximum of the process's resident memory so far, in bytes.
func (p *Process) PeakMemory() int64 { return p.peak.Load() }

// ProcessorTime returns the user and system time of the process so far. Once the process has ended, the time of its
// children is included.
func (p *Process) ProcessorTime() time.Duration {
	select {
	case <-p.done:
		return p.ProcessState.UserTime() + p.ProcessState.SystemTime()
	default:
	}
	return ProcessorTime(p.Process.Pid)
}

// Settle waits until the process is idle, for half a minute at most.
func (p *Process) Settle() {
	const interval, idle = 500 * time.Millisecond, 25 * time.Millisecond // idle is processor time in an interval
	for range 60 {
		before := p.ProcessorTime()
		time.Sleep(interval)
		if p.ProcessorTime()-before < idle {
			return
		}
	}
}

// Interrupt ends the process as Ctrl-C does.
func (p *Process) Interrupt() error {
	if err := p.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	select {
	case <-p.done:
		return p.err
	case <-time.After(2 * time.Minute):
		return fmt.Errorf("%s did not end within 2 minutes of SIGINT", p.Args[0])
	}
}

// Kill ends the process if it is still running. If earlier is an error, Kill returns an error with the output of the
// process.
func (p *Process) Kill(earlier error) error {
	_ = p.Process.Kill()
	<-p.done
	if earlier == nil || p.output.Len() == 0 {
		return nil
	}
	return fmt.Errorf("output of %s: %s", p.Args[0], p.output.String())
}
