// Player measures players by when what they play is sent and arrives: ours, ROS 2's where a ROS 2 is found and ROS 1's where that
// is installed, beside a bare loop that sleeps until the same times. It uses the executables in bin/, and prints three tables.
//
// Pacing: a recording of an IMU at 1 kHz is played at several rates. The bare loop is a thread of its own that calls clock_nanosleep
// with absolute times and a timer slack of 1 ns; it runs once alone, its times being when it woke, and once publishing. "Sent" is
// by the clock of who sends, the source time of the DDS sample, which players take when they publish; ROS 1 has none, so there it is
// when the kernel put the TCP segment into the listener's socket, which on loopback the sender does. It has the player's doing in it and
// nothing of the listener's. "Arrived" is when the listener had the message, which is the same process for all. An error is
// how far from its place in the schedule a message was, early or late. Where the schedule begins only the player knows: a hundredth of the
// messages of each run are taken to have been too early. Others who use the machine are measured
// too, so of the rounds the lower quartile is printed. CPU is that of the playing process, from the first message on, without its start.
//
// As fast as possible: what arrives in a second of the same messages, beside a process that publishes them from memory.
//
// CPU: the IMU and 30 images of 1 MB in a second.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	_ "tapedeck/codec/rosbag2"

	"tapedeck/test/bench/internal/ros2"
)

func main() {
	var b bench
	flag.IntVar(&b.rounds, "rounds", 5, "measurements of each player, in turn")
	flag.DurationVar(&b.span, "span", 3*time.Second, "how long to play in each")
	flag.StringVar(&b.bin, "bin", "bin", "folder of the executables")
	only := flag.String("only", "", "only what this regular expression is found in: a name like 'pacing at 3 tapedeck', 'fast 1 MB rosbag', 'cpu'")
	domain := flag.Int("domain", 103, "ROS_DOMAIN_ID to use")
	child := flag.String("be", "", "be a process of the benchmark's own: loop, publishing or probe")
	rate, count := flag.Float64("rate", 1, "of a loop"), flag.Int("count", 0, "messages of a loop or probe")
	size := flag.Int("size", 0, "bytes of the images of a probe; 0 for those of an IMU")
	flag.Parse()
	err := os.Setenv("ROS_DOMAIN_ID", fmt.Sprint(*domain))
	if err == nil {
		err = os.Setenv("ROS_LOCALHOST_ONLY", "1")
	}
	if err == nil {
		b.only, err = regexp.Compile(*only)
	}
	switch {
	case err != nil:
	case *child == "loop":
		err = loop(*rate, *count)
	case *child == "publishing":
		err = publishingLoop(*rate, *count)
	case *child == "probe":
		err = probe(*size, *count)
	default:
		err = b.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-player:", err)
		os.Exit(1)
	}
}

// bench is a run of the benchmark.
type bench struct {
	rounds int
	span   time.Duration
	bin    string
	only   *regexp.Regexp

	folder string // of the recordings
	dds    *listener
	ros1   *ros1 // nil where there is none
	ros2   []ros2.Bag
}

func (b *bench) run() (err error) {
	in := "/dev/shm" // so that no disk is measured
	if _, err := os.Stat(in); err != nil {
		in = ""
	}
	if b.folder, err = os.MkdirTemp(in, "tapedeck-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.folder)
	if b.bin, err = filepath.Abs(b.bin); err != nil {
		return err
	}
	if b.ros2, err = ros2.Bags(b.folder); err != nil {
		return err
	}
	if b.ros1, err = startROS1(b.folder); err != nil {
		return err
	}
	defer b.ros1.stop()
	if b.dds, err = listen(); err != nil {
		return err
	}
	defer b.dds.close()
	fmt.Printf("%d processors, Linux %s; %d rounds of %v\n", runtime.NumCPU(), kernel(), b.rounds, b.span)
	for _, do := range []func() error{b.pacing, b.fast, b.cpu} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

func kernel() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(text))
}

func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
