// Convert measures bin/converter beside the installed programs of others that convert, filter, compress and repair
// recordings: ROS 1's rosbag, the mcap command line tool in Go, rosbags-convert, and ros2 bag convert. The programs run
// one after another on equal files and on one disk.
//
// Times and processor times are of whole processes, medians of several rounds. The processor time is user and system
// time of all cores. The memory is the largest that a process held in any round. The messages in each output are
// counted.
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
	flag.IntVar(&b.rounds, "rounds", 5, "measurements of each program with each job, in turn")
	flag.StringVar(&b.root, "folder", "", "where to read and write; by default a temporary folder, in memory if there "+
		"is /dev/shm")
	flag.StringVar(&b.bin, "bin", "bin", "folder of the executables")
	flag.StringVar(&b.mcap, "mcap", "mcap", "the mcap tool, or its source: go/cli/mcap of a checkout of "+
		"github.com/foxglove/mcap at "+mcapCommit+", the last commit with the tool in Go")
	carla, _ := samples.Find("carla/scenario_runner_DistanceToLaneCenter.log")
	flag.StringVar(&b.carla, "carla", carla, "a log of CARLA's recorder")
	only := flag.String("only", "", "only jobs in whose names this regular expression is found")
	source := flag.String("source", "", "write the bag that is converted to this path, and nothing else")
	readings := flag.String("readings", "", "write the bag that becomes tables to this path, and nothing else")
	flag.Parse()
	var err error
	b.only, err = regexp.Compile(*only)
	if err == nil {
		switch {
		case *source != "":
			err = writeBag(*source)
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
	root   string // of folder
	folder string // of all files
	bin    string
	mcap   string // "" without
	ros2   []string
	carla  string
	only   *regexp.Regexp
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
	fmt.Printf("drive.bag: %d images of %.2f MB and %d messages of an IMU, %.0f MB; the others are what it becomes\n",
		images, imageSize/1e6, imus, float64(sizeOf(b.path("drive.bag")))/1e6)
	for _, j := range b.jobs() {
		if b.only.MatchString(j.name) {
			if err := b.compare(j); err != nil {
				return fmt.Errorf("%s: %w", j.name, err)
			}
		}
	}
	return nil
}

func (b *bench) path(name string) string { return filepath.Join(b.folder, name) }

// prepare writes the files that are converted. The bag comes from a process of its own: what this one holds would count
// as what those hold that it starts.
func (b *bench) prepare() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	commands := []*exec.Cmd{
		exec.Command(self, "-source", b.path("drive.bag")),
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

// converter returns a command of ours.
func (b *bench) converter(from, to string, args ...string) *exec.Cmd {
	args = append([]string{b.path(from), b.path(to)}, args...)
	return exec.Command(filepath.Join(b.bin, "converter"), args...)
}

// compare measures all programs with one job.
func (b *bench) compare(j job) error {
	before, results := harness.LoadAverage(), make([][]result, len(j.programs))
	for range b.rounds {
		for i := range j.programs {
			p := &j.programs[i]
			if p.failed != nil {
				continue
			}
			r, err := b.measure(p, sizeOf(j.input))
			if errors.Is(err, errFailed) {
				p.failed = err
			} else if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			results[i] = append(results[i], r)
		}
	}
	fmt.Printf("\n%s; load average %s before, %s after\n", j.name, before, harness.LoadAverage())
	return printTable(j, sizeOf(j.input), results)
}
