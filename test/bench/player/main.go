// Player measures when the messages of a player are sent and when they arrive. It compares tapedeck's player, ROS 2's
// if it is installed, and a bare loop that sleeps until the same times. It uses the executables in bin/ and prints
// three tables.
//
// Pacing: a recording of an IMU at 1 kHz is played at several rates. The bare loop is a thread of its own that calls
// clock_nanosleep with absolute times and a timer slack of 1 ns. It runs once alone, which measures
// waking, and once publishing. "Sent" is the source time of the DDS sample, which players take when they publish.
// "Arrived" is the time at which the listener, the same process for all, had the message. An error is the distance of a
// message from its place in the schedule, early or late. Only the player knows where its schedule starts, so a
// hundredth of the messages of each run is assumed to be early. Other work on the machine is measured too, so the lower
// quartile of the rounds is printed. CPU is the processor time of the playing process from
// the first message on, without its start.
//
// As fast as possible: messages a second, beside a process that publishes the same messages from memory.
//
// CPU: the IMU and 30 images of 1 MB a second.
package main

import (
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"tapedeck/test/bench/internal/harness"
	"tapedeck/test/bench/internal/ros2"
)

func main() {
	var b bench
	flag.IntVar(&b.rounds, "rounds", 5, "measurements of each player, in turn")
	flag.DurationVar(&b.span, "span", 3*time.Second, "how long to play in each")
	flag.StringVar(&b.bin, "bin", "bin", "folder of the executables")
	only := flag.String("only", "", "only what this regular expression is found in, as 'pacing at 3 tapedeck' or 'cpu'")
	domain := flag.Int("domain", 103, "ROS_DOMAIN_ID to use")
	child := flag.String("be", "", "be a process of the benchmark's own: loop, publishing or probe")
	rate, count := flag.Float64("rate", 1, "of a loop"), flag.Int("count", 0, "messages of a loop or probe")
	size := flag.Int("size", 0, "bytes of the images of a probe; 0 for those of an IMU")
	flag.Parse()
	err := harness.Isolate(*domain)
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
	harness.Exit("bench-player", err)
}

// bench is a run of the benchmark.
type bench struct {
	rounds int
	span   time.Duration
	bin    string
	only   *regexp.Regexp

	folder string // of the recordings
	dds    *listener
	ros2   []ros2.Bag
}

func (b *bench) run() (err error) {
	folder, remove, err := harness.Folder("")
	if err != nil {
		return err
	}
	defer remove()
	b.folder = folder
	b.bin, err = filepath.Abs(b.bin)
	if err != nil {
		return err
	}
	b.ros2, err = ros2.Bags(b.folder)
	if err != nil {
		return err
	}
	b.dds, err = listen()
	if err != nil {
		return err
	}
	defer b.dds.close()
	fmt.Printf("%d processors, Linux %s; %d rounds of %v\n", runtime.NumCPU(), harness.Proc("sys/kernel/osrelease"),
		b.rounds, b.span)
	for _, do := range []func() error{b.pacing, b.fast, b.cpu} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

func loadAverage() string { return strings.Join(strings.Fields(harness.Proc("loadavg"))[:3], " ") }
