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

// job is something that several programs can do.
type job struct {
	name     string
	input    string
	programs []program // ours first
	goal     float64   // of the time of ours beside the others; 0: none
}

// program is a program that does a job.
type program struct {
	name    string
	command *exec.Cmd // is not started itself
	prepare func() error
	output  string // path of the written file, which is removed before and after a run
	want    uint64 // messages in the output; 0 is any number
	failed  error  // why it is not measured further
}

// errFailed is wrapped by the errors of programs that cannot do a job.
var errFailed = errors.New("it failed")

// measure runs a program once, which may write that many bytes.
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
	if err := p.count(); err != nil {
		return r, fmt.Errorf("%w: %w", errFailed, err)
	}
	return r, os.RemoveAll(p.output)
}

// count checks that the output of a program holds all messages.
func (p *program) count() error {
	if n, ok, err := rows(p.output); err != nil || ok && n != p.want {
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

// sizeOf returns the size in bytes of a file, or of all files in a folder.
func sizeOf(path string) (size int64) {
	size, _ = harness.Size(path)
	return size
}

// version returns the version that a program prints, or "" if it is not installed.
func version(name string, args ...string) string {
	output, err := exec.Command(name, args...).Output()
	if errors.Is(err, exec.ErrNotFound) || err != nil {
		return ""
	}
	return string(output)
}
