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

// contender is a measured program, mostly a player.
type contender struct {
	name    string
	command func(r recording, rate float64) (*exec.Cmd, error) // plays r at a rate
	silent  bool                                               // prints the times at which it woke; publishes nothing
}

// fastest is the rate that means as fast as possible.
const fastest = 1e6

// players returns tapedeck's player and the installed players of ROS 2.
func (b *bench) players() []contender {
	list := []contender{{name: "tapedeck", command: b.tapedeck}}
	for _, ros2 := range b.ros2 {
		list = append(list, contender{name: ros2.Name, command: func(r recording, rate float64) (*exec.Cmd, error) {
			path, err := b.bag(r)
			// ros2 bag play cannot wait for subscribers, so it starts 2 s later.
			return ros2.Command("play", path, "-r", fmt.Sprint(rate), "--delay", "2", "--disable-keyboard-controls",
				"--wait-for-all-acked", "20000"), err
		}})
	}
	return list
}

// tapedeck returns the command of tapedeck's player.
func (b *bench) tapedeck(r recording, rate float64) (*exec.Cmd, error) {
	path, err := b.bag(r)
	args := []string{path, "--rate", fmt.Sprint(rate), "--wait-for-subscribers", "--disable-keyboard-controls",
		"--wait-for-all-acked", "60s"}
	if rate == fastest {
		args = append(args, "--immediate")
	}
	return exec.Command(filepath.Join(b.bin, "player"), args...), err
}

// self returns a contender that runs this executable in a role: loop, publishing or probe.
func (b *bench) self(name, role string, size int) contender {
	return contender{name: name, silent: role == "loop", command: func(r recording, rate float64) (*exec.Cmd, error) {
		return exec.Command("/proc/self/exe", "-be", role, "-rate", fmt.Sprint(rate), "-count",
			fmt.Sprint(r.imus+r.images),
			"-size", fmt.Sprint(size), "-domain", os.Getenv("ROS_DOMAIN_ID")), nil
	}}
}

// run is the result of one playing process.
type run struct {
	arrivals  []arrival
	cores     float64       // cores that the process used from the first message to the last
	processor time.Duration // processor time with start and end
}

// play runs c until it has played r.
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
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	var first, last usage
	for running := true; running; {
		select {
		case err = <-ended:
			running = false
		case <-poll.C:
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
	got.processor = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if c.silent {
		wakeTimes := make([]int64, count)
		if err := binary.Read(&out, binary.NativeEndian, wakeTimes); err != nil {
			return got, err
		}
		for i, t := range wakeTimes {
			got.arrivals = append(got.arrivals, arrival{due(i), t, t})
		}
		return got, nil
	}
	// Wait until no message has arrived for 200 ms.
	for n := -1; n != len(b.dds.list()); time.Sleep(200 * time.Millisecond) {
		n = len(b.dds.list())
	}
	got.arrivals = b.dds.list()
	if span := last.at.Sub(first.at); span > 0 {
		got.cores = (last.cpu - first.cpu).Seconds() / span.Seconds()
	}
	return got, nil
}

// usage is the processor time of a process at a time.
type usage struct {
	at  time.Time
	cpu time.Duration
}

func usageOf(pid int) usage {
	return usage{time.Now(), harness.ProcessorTime(pid)}
}
