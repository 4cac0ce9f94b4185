// Recorder lets several recorders record equal messages in turn. It prints each recorder's lost messages, processor
// time and memory. The recorders are tapedeck's in bin/, in both formats, also with messages that SROS 2 signs or
// encrypts, and the installed recorders of ROS 2. The baseline is a process that only receives the messages.
//
// Messages are numbered. The benchmark looks for the numbers in the recordings. The processor time is user and system
// time of the recording process, from the first message to the end of the process. All recorders have default options,
// the default QoS of ROS 2 and one disk.
package main

import (
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"tapedeck/test/bench/internal/harness"
)

func main() {
	var b bench
	flag.IntVar(&b.rounds, "rounds", 3, "number of measurements of each recorder with each load, in turn; the quieter "+
		"half counts")
	flag.DurationVar(&b.span, "span", 6*time.Second, "how long to publish in each measurement")
	flag.StringVar(&b.folder, "folder", "", "where to record; by default a temporary folder, in memory if there is "+
		"/dev/shm")
	flag.StringVar(&b.bin, "bin", "bin", "folder of the executables")
	only := flag.String("only", "", "regular expression: measure only matching loads and recorders, as '50k.*mcap'")
	domain := flag.Int("domain", 101, "ROS_DOMAIN_ID to use")
	flag.IntVar(&b.depth, "depth", 1000, "messages that the reliable publishers keep; 0: all")
	child := flag.String("be", "", "role of a child process of the benchmark: publisher or sink")
	flag.Parse()
	var err error
	b.only, err = regexp.Compile(*only)
	if err == nil {
		err = harness.Isolate(*domain)
	}
	switch {
	case err != nil:
	case *child == "publisher":
		err = publish(flag.Arg(0), b.depth, b.span)
	case *child == "sink":
		err = receive(flag.Arg(0), flag.Arg(1))
	default:
		err = b.run()
	}
	harness.Exit("bench-recorder", err)
}

// bench is a run of the benchmark.
type bench struct {
	rounds int
	span   time.Duration
	folder string         // of recordings
	bin    string         // folder of tapedeck's executables
	depth  int            // history depth of publishers
	only   *regexp.Regexp // matches load and recorder
}

func (b *bench) run() (err error) {
	folder, remove, err := harness.Folder(b.folder)
	if err != nil {
		return err
	}
	defer remove()
	b.folder = folder
	b.bin, err = filepath.Abs(b.bin)
	if err != nil {
		return err
	}
	fmt.Printf("%s; medians of the quieter half of %d rounds of %v; sums of messages; recordings in %s\n",
		machine(), b.rounds, b.span, filepath.Dir(b.folder))
	contenders, err := b.contenders()
	if err != nil {
		return err
	}
	for _, l := range loads {
		if err := b.compare(l, contenders); err != nil {
			return err
		}
	}
	return nil
}

// compare measures all contenders with one load.
func (b *bench) compare(l load, contenders []contender) error {
	before, results := harness.LoadAverage(), map[string][]result{}
	for range b.rounds {
		for _, c := range contenders {
			if !b.only.MatchString(l.name+" "+c.name) || l.rate == 0 && c.needsRate ||
				c.keys != "" && !l.secured {
				continue
			}
			r, err := b.measure(c, l)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, l.name, err)
			}
			results[c.name] = append(results[c.name], r)
		}
	}
	var rows []row
	for _, c := range contenders {
		if list := results[c.name]; list != nil {
			rows = append(rows, row{c.name, summary(list), c.ours, c.keys})
		}
	}
	if rows == nil {
		return nil
	}
	fmt.Printf("\n%s on each of %d topics; load average %s before, %s after\n", l.name, l.topics, before,
		harness.LoadAverage())
	return print(l, rows)
}
