// Convert measures bin/converter beside the installed programs of others that convert, filter, compress and repair
// recordings: ROS 1's rosbag, the mcap command line tool in Go, rosbags-convert, and ros2 bag convert. The programs run
// one after another on equal files and on one disk.
//
// Printed times and processor times are of whole processes, and medians of several rounds. The processor time is user
// and system time of all cores. The printed memory is the maximum of all rounds. A program fails if its output does not
// have all messages.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"tapedeck/test/bench/internal/harness"
	"tapedeck/test/samples"
)

func main() {
	var b bench
	flag.IntVar(&b.rounds, "rounds", 5, "number of measurements of each program with each task, in turn")
	flag.StringVar(&b.root, "folder", "", "folder for all files; by default a temporary folder, in memory if there is "+
		"/dev/shm")
	flag.StringVar(&b.bin, "bin", "bin", "folder of the executables")
	flag.StringVar(&b.mcap, "mcap", "mcap", "the mcap tool, or its source code: go/cli/mcap of a checkout of "+
		"github.com/foxglove/mcap at "+mcapCommit+", the last commit with the tool in Go")
	carla, _ := samples.Find("carla/scenario_runner_DistanceToLaneCenter.log")
	flag.StringVar(&b.carla, "carla", carla, "a log of CARLA's recorder")
	only := flag.String("only", "", "regular expression: measure only tasks whose names match")
	drive := flag.String("drive", "", "only write drive.bag, the input of most tasks, to this path")
	readings := flag.String("readings", "", "only write readings.bag, the input of tables, to this path")
	flag.Parse()
	var err error
	b.only, err = regexp.Compile(*only)
	if err == nil {
		switch {
		case *drive != "":
			err = writeDrive(*drive)
		case *readings != "":
			err = writeReadings(*readings)
		default:
			err = b.run()
		}
	}
	harness.Exit("bench-convert", err)
}

// bench is a run of the benchmark.
type bench struct {
	rounds int
	root   string         // folder in which folder is created; "" for /dev/shm
	folder string         // temporary folder of all files
	bin    string         // folder of tapedeck's executables
	mcap   string         // path of the mcap tool; "" if it is not installed
	ros2   []string       // command that runs ros2 bag convert; nil if ROS 2 is not installed
	carla  string         // path of a log of CARLA's recorder
	only   *regexp.Regexp // matches the names of the measured tasks
}

func (b *bench) run() (err error) {
	folder, remove, err := harness.Folder(b.root)
	if err != nil {
		return err
	}
	defer remove()
	b.folder = folder
	b.bin, err = filepath.Abs(b.bin)
	if err != nil {
		return err
	}
	if err := b.findPeers(); err != nil {
		return err
	}
	if err := b.prepare(); err != nil {
		return err
	}
	fmt.Printf("%s; medians of %d rounds, files in %s\n", harness.Machine(), b.rounds, filepath.Dir(b.folder))
	fmt.Printf("drive.bag: %d images of %.2f MB and %d messages of an IMU, %.0f MB; other inputs are made of it\n",
		images, imageSize/1e6, imus, float64(sizeOf(b.path("drive.bag")))/1e6)
	for _, t := range b.tasks() {
		if b.only.MatchString(t.name) {
			if err := b.compare(t); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
	}
	return nil
}

func (b *bench) path(name string) string { return filepath.Join(b.folder, name) }

// prepare writes the inputs of all tasks. Child processes write the bags: memory of this process would count in the
// peak memory of the programs that it starts.
func (b *bench) prepare() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	commands := []*exec.Cmd{
		exec.Command(self, "-drive", b.path("drive.bag")),
		exec.Command(self, "-readings", b.path("readings.bag")),
		b.converter("readings.bag", "readings.mcap"),
		b.converter("drive.bag", "drive.record"),
		b.converter("drive.bag", "drive.mcap"),
		b.converter("drive.bag", "drive.rosbag2", "--to", "rosbag2"),
		exec.Command("cp", b.path("drive.bag"), b.path("unindexed.bag")),
	}
	for _, cmd := range commands {
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", cmd, err, output)
		}
	}
	return dropIndex(b.path("unindexed.bag"))
}

// converter returns a command of tapedeck's converter.
func (b *bench) converter(from, to string, args ...string) *exec.Cmd {
	args = append([]string{b.path(from), b.path(to)}, args...)
	return exec.Command(filepath.Join(b.bin, "converter"), args...)
}

// compare measures all programs with one task, and prints their results.
func (b *bench) compare(t task) error {
	before, results := harness.LoadAverage(), make([][]result, len(t.programs))
	for range b.rounds {
		for i := range t.programs {
			p := &t.programs[i]
			if p.failed != nil {
				continue
			}
			r, err := b.measure(p, sizeOf(t.input))
			if errors.Is(err, errFailed) {
				p.failed = err
			} else if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			results[i] = append(results[i], r)
		}
	}
	fmt.Printf("\n%s; load average %s before, %s after\n", t.name, before, harness.LoadAverage())
	return printTable(t, sizeOf(t.input), results)
}
