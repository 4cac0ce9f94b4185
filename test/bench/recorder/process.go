package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"tapedeck/test/bench/internal/harness"
)

// process is a running process whose use of the processor and of memory is watched.
type process struct {
	cmd  *exec.Cmd
	peak atomic.Int64    // bytes of memory
	said strings.Builder // to be read when it has ended
	done chan struct{}   // closed when it has ended
	err  error           // of its end
}

// start starts a process. What it prints is kept, unless somebody else gets it.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	cmd.Stderr = &p.said
	if cmd.Stdout == nil {
		cmd.Stdout = &p.said
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

func (p *process) watchMemory() {
	for {
		select {
		case <-p.done:
			return
		case <-time.After(20 * time.Millisecond):
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
		if err != nil {
			return
		}
		_, rest, _ := strings.Cut(string(status), "VmHWM:")
		var kilobytes int64
		if _, err := fmt.Sscan(rest, &kilobytes); err == nil { // one that is ending has none
			p.peak.Store(kilobytes << 10)
		}
	}
}

// processorTime returns what a process took so far, user and system; once it has ended with what its children took.
func (p *process) processorTime() time.Duration {
	select {
	case <-p.done:
		return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	default:
	}
	return harness.ProcessorTime(p.cmd.Process.Pid) // 0 when it has ended, which others notice
}

// settle waits, but not forever, until the process has nothing more to do.
func (p *process) settle() {
	const look, idle = 500 * time.Millisecond, 25 * time.Millisecond
	for range 60 {
		before := p.processorTime()
		time.Sleep(look)
		if p.processorTime()-before < idle {
			return
		}
	}
}

// interrupt ends the process as Ctrl-C does.
func (p *process) interrupt() error {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	select {
	case <-p.done:
		return p.err
	case <-time.After(2 * time.Minute):
		return fmt.Errorf("%s does not end", p.cmd.Args[0])
	}
}

// kill ends the process, if it runs still. Where there was an error it returns what the process said.
func (p *process) kill(why error) error {
	_ = p.cmd.Process.Kill()
	<-p.done
	if why == nil || p.said.Len() == 0 {
		return nil
	}
	return fmt.Errorf("%s said: %s", p.cmd.Args[0], p.said.String())
}
