package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/test/bench/internal/harness"
)

var formats = codec.Formats{mcap.Format, record.Format, rosbag.Format, rosbag2.Format}

// task is a conversion that several programs can do.
type task struct {
	name     string
	input    string    // path
	programs []program // tapedeck's converter first
	goal     float64   // most time of tapedeck's converter, as a multiple of a peer's; 0: none
}

// program is a program that does a task.
type program struct {
	name    string
	command *exec.Cmd    // each run starts a copy
	prepare func() error // runs before each command; may be nil
	output  string       // path of the written file or folder, which is removed before and after a run
	want    uint64       // expected messages in the output; 0: any number
	failed  error        // why the program is not run any more
}

// errFailed is wrapped by the errors of programs that cannot do a task.
var errFailed = errors.New("the program failed")

// measure runs a program once. HoldPages prepares memory for size bytes of output.
func (b *bench) measure(p *program, size int64) (r result, err error) {
	if err := os.RemoveAll(p.output); err != nil {
		return r, err
	}
	if p.prepare != nil {
		if err := p.prepare(); err != nil {
			return r, err
		}
	}
	pages, err := harness.HoldPages(b.folder, size)
	if err != nil {
		return r, err
	}
	pages.GiveWay()
	cmd := *p.command
	began := time.Now()
	output, err := cmd.CombinedOutput()
	r.took = time.Since(began)
	if err := errors.Join(err, pages.Close()); err != nil {
		return r, fmt.Errorf("%w: %w: %s", errFailed, err, bytes.TrimSpace(output))
	}
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.peak = usage.Maxrss << 10
	}
	r.written = sizeOf(p.output)
	if err := p.checkOutput(); err != nil {
		return r, fmt.Errorf("%w: %w", errFailed, err)
	}
	return r, os.RemoveAll(p.output)
}

// checkOutput checks that the output of a program has all messages.
func (p *program) checkOutput() error {
	if n, ok, err := countRows(p.output); err != nil || ok && n != p.want {
		return errors.Join(err, fmt.Errorf("%s has %d messages, not %d", p.output, n, p.want))
	} else if ok {
		return nil
	}
	r, err := formats.Open(p.output)
	if err != nil {
		return err
	}
	defer r.Close()
	info, err := r.Info()
	if err != nil {
		return err
	}
	if p.want > 0 && info.MessageCount != p.want {
		return fmt.Errorf("%s has %d messages, not %d", p.output, info.MessageCount, p.want)
	}
	return nil
}

// sizeOf returns the size in bytes of a file, or of all files in a folder. It is 0 if there is none.
func sizeOf(path string) (size int64) {
	size, _ = harness.Size(path)
	return size
}

// version returns the output of a program that prints its version. It returns "" if the program is not installed or
// fails.
func version(name string, args ...string) string {
	output, err := exec.Command(name, args...).Output()
	if err != nil {
		return ""
	}
	return string(output)
}
