package harness

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
)

// Process is a running process whose use of the processor and of memory is watched.
type Process struct {
	*exec.Cmd
	peak   atomic.Int64    // bytes
	output strings.Builder // complete once the process has ended
	done   chan struct{}   // closed when it has ended
	err    error           // of its end
}

// Start starts a process. Its output is kept for errors, but for standard output that cmd directs elsewhere.
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
		if _, err := fmt.Sscan(rest, &kilobytes); err == nil { // a process that is ending has none
			p.peak.Store(kilobytes << 10)
		}
	}
}

// PeakMemory returns the most memory that the process has held so far, in bytes.
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
	const look, idle = 500 * time.Millisecond, 25 * time.Millisecond
	for range 60 {
		before := p.ProcessorTime()
		time.Sleep(look)
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
		return fmt.Errorf("%s does not end", p.Args[0])
	}
}

// Kill ends the process if it is still running. If there was an error before, it returns the output of the process.
func (p *Process) Kill(why error) error {
	_ = p.Process.Kill()
	<-p.done
	if why == nil || p.output.Len() == 0 {
		return nil
	}
	return fmt.Errorf("output of %s: %s", p.Args[0], p.output.String())
}
