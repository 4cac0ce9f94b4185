package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tapedeck/test/bench/internal/harness"
)

// contender plays recordings.
type contender struct {
	name    string
	command func(r recording, rate float64) (*exec.Cmd, error)
	silent  bool // it is a loop that prints when it woke instead of publishing
}

// fastest is the rate of playing as fast as possible, for players that take any rate.
const fastest = 1e6

// players returns the players that are here.
func (b *bench) players() []contender {
	list := []contender{{name: "tapedeck", command: b.tapedeck}}
	for _, ros2 := range b.ros2 {
		list = append(list, contender{name: ros2.Name, command: func(r recording, rate float64) (*exec.Cmd, error) {
			path, err := b.bag(r)
			// It cannot wait for subscribers, so it waits a while.
			return ros2.Command("play", path, "-r", fmt.Sprint(rate), "--delay", "2", "--disable-keyboard-controls",
				"--wait-for-all-acked", "20000"), err
		}})
	}
	return list
}

func (b *bench) tapedeck(r recording, rate float64) (*exec.Cmd, error) {
	path, err := b.bag(r)
	args := []string{path, "--rate", fmt.Sprint(rate), "--wait-for-subscribers", "--disable-keyboard-controls",
		"--wait-for-all-acked", "60s"}
	if rate == fastest {
		args = append(args, "--immediate")
	}
	return exec.Command(filepath.Join(b.bin, "player"), args...), err
}

// self returns a contender that is a process of the benchmark's own.
func (b *bench) self(name, role string, size int) contender {
	return contender{name: name, silent: role == "loop", command: func(r recording, rate float64) (*exec.Cmd, error) {
		return exec.Command("/proc/self/exe", "-be", role, "-rate", fmt.Sprint(rate), "-count",
			fmt.Sprint(r.imus+r.images),
			"-size", fmt.Sprint(size), "-domain", os.Getenv("ROS_DOMAIN_ID")), nil
	}}
}

// run is the result of one playing process.
type run struct {
	arrivals []arrival
	cpu      float64 // of a core, from the first message to the last
	used     time.Duration
}

// play has c play r to its end.
func (b *bench) play(c contender, r recording, rate float64) (got run, err error) {
	cmd, err := c.command(r, rate)
	if err != nil {
		return got, err
	}
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if cmd.Dir == "" {
		cmd.Dir = b.folder
	}
	count := r.imus + r.images
	b.dds.begin(count)
	if err := cmd.Start(); err != nil {
		return got, err
	}
	overdue := time.AfterFunc(b.span*4+2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer overdue.Stop()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	var first, last usage
	for running := true; running; {
		select {
		case err = <-ended:
			running = false
		case <-look.C:
			if n := len(b.dds.list()); n > 0 && n < count {
				last = usageOf(cmd.Process.Pid)
				if first.at.IsZero() {
					first = last
				}
			}
		}
	}
	if err != nil {
		return got, fmt.Errorf("%s: %w: %s%s", strings.Join(cmd.Args, " "), err, stderr.String(), out.String())
	}
	got.used = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if c.silent {
		woke := make([]int64, count)
		if err := binary.Read(&out, binary.NativeEndian, woke); err != nil {
			return got, err
		}
		for i, t := range woke {
			got.arrivals = append(got.arrivals, arrival{due(i), t, t})
		}
		return got, nil
	}
	for n := -1; n != len(b.dds.list()); time.Sleep(200 * time.Millisecond) {
		n = len(b.dds.list())
	}
	got.arrivals = b.dds.list()
	if span := last.at.Sub(first.at); span > 0 {
		got.cpu = (last.cpu - first.cpu).Seconds() / span.Seconds()
	}
	return got, nil
}

// usage is how much of the processor a process has used at a time.
type usage struct {
	at  time.Time
	cpu time.Duration
}

func usageOf(pid int) usage {
	return usage{time.Now(), harness.ProcessorTime(pid)}
}
