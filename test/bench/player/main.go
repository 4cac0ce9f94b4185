// Player measures when the messages of a player are sent and when they arrive. It compares tapedeck's player, ROS 2's
// if it is installed, and a bare loop that sleeps until the same times. It uses the executables in bin/ and prints
// three tables.
//
// The first table is for pacing: a recording of an IMU at 1 kHz is played at several rates.
//   - The bare loop is a thread that calls clock_nanosleep with absolute times and a timer slack of 1 ns. One
//     measurement is of the loop alone, another one of the loop with publishing.
//   - "Sent" is the source time of the DDS sample, which players take when they publish.
//   - "Arrived" is the time at which the listener of this benchmark had the message.
//   - A deviation is the distance of a message from its place in the schedule, early or late. Only the player knows
//     when its schedule starts: a hundredth of the messages of each run is assumed to be early.
//   - The lower quartile of the rounds is printed, because other work on the machine disturbs some of them.
//   - CPU is the processor time of the playing process from the first message on.
//
// The second table is for playing as fast as possible: messages per second, compared with a process that publishes
// equal messages from memory.
//
// The third table has the processor time for playing the IMU and 30 images of 1 MB per second.
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
	flag.IntVar(&b.rounds, "rounds", 5, "number of measurements of each player, in turn")
	flag.DurationVar(&b.span, "span", 3*time.Second, "how long to play in each measurement")
	flag.StringVar(&b.bin, "bin", "bin", "folder of the executables")
	only := flag.String("only", "", "regular expression: measure only what matches, as 'pacing at 3 tapedeck' or 'cpu'")
	domain := flag.Int("domain", 103, "ROS_DOMAIN_ID to use")
	child := flag.String("be", "", "role of a child process of the benchmark: loop, publishing or probe")
	rate := flag.Float64("rate", 1, "rate of a loop")
	count := flag.Int("count", 0, "number of messages of a loop or probe")
	size := flag.Int("size", 0, "bytes of the images of a probe; 0 for messages of an IMU")
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
	ros2   []ros2.Bag // the installed players of ROS 2
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
	for _, measure := range []func() error{b.pacing, b.fast, b.cpu} {
		if err := measure(); err != nil {
			return err
		}
	}
	return nil
}

// loadAverage returns the load averages of the last 1, 5 and 15 minutes.
func loadAverage() string { return strings.Join(strings.Fields(harness.Proc("loadavg"))[:3], " ") }
