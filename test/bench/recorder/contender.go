package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/test/bench/internal/harness"
	"tapedeck/test/bench/internal/ros2"
)

var formats = codec.Formats{record.Format, rosbag2.Format}

// alone is the name of the process that only receives.
const alone = "receiving alone"

// contender is a recorder to be measured.
type contender struct {
	name      string
	ours      bool
	keys      string // how messages are protected, "" if they are not
	needsRate bool   // it cannot publish as fast as recorders take
	file      string // name of its output in the folder of the bench: a file or a folder
	command   func(load) *exec.Cmd
	// variables of the contender and of the source, beside the environment of the benchmark
	environment []string
	// sets the numbers of recorded and of repeated messages in the result
	count func(path string, r *result) error
}

// contenders returns the recorders that are here, after the process that only receives, and says which are not.
func (b *bench) contenders() ([]contender, error) {
	list := []contender{
		{name: alone, file: "count", command: b.sink, count: readCount},
		{name: "tapedeck record", ours: true, file: "bench.record.00000", command: b.tapedeck("record"),
			count: readRecording},
		{name: "tapedeck mcap", ours: true, file: "bench", command: b.tapedeck("mcap"),
			count: readRecording},
		b.uploading(),
	}
	secured, err := b.secured([]contender{list[0], list[2]})
	if err != nil {
		return nil, err
	}
	list = append(list, secured...)
	bags, err := ros2.Bags(b.folder)
	if err != nil {
		return nil, err
	}
	for _, bag := range bags {
		list = append(list, contender{
			name: bag.Name + " " + bag.Middleware, file: "rosbag2", count: readRecording,
			command: func(load) *exec.Cmd {
				return bag.Command("record", "-s", "mcap", "-o", "rosbag2", "-e",
					"^"+prefix)
			},
		})
	}
	return list, nil
}

// sink returns the process that receives and does nothing.
func (b *bench) sink(l load) *exec.Cmd {
	return b.self("sink", l.name, filepath.Join(b.folder, "count"))
}

// tapedeck returns the command of our own recorder.
func (b *bench) tapedeck(storage string) func(load) *exec.Cmd {
	return func(load) *exec.Cmd {
		return exec.Command(filepath.Join(b.bin, "recorder"), "--regex", "^"+prefix, "-o", "bench", "-s", storage,
			"--quiet")
	}
}

// self returns a process of the benchmark's own.
func (b *bench) self(role string, args ...string) *exec.Cmd {
	args = append([]string{"-be", role, "-depth", fmt.Sprint(b.depth), "-span", b.span.String(), "-domain",
		os.Getenv("ROS_DOMAIN_ID")}, args...)
	return exec.Command("/proc/self/exe", args...)
}

// measure has a contender record a load.
func (b *bench) measure(c contender, l load) (r result, err error) {
	from, err := b.source(l, c.environment)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, from.Kill(err)) }()
	cmd := c.command(l)
	cmd.Dir = b.folder
	cmd.Env = append(cmd.Environ(), c.environment...)
	recorder, err := harness.Start(cmd)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, recorder.Kill(err)) }()
	if err := from.ready(); err != nil {
		return r, err
	}
	pages, err := harness.HoldPages(b.folder, l.bytes(b.span))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, pages.Close()) }()
	recorder.Settle() // there is more to be done after subscribing
	pages.GiveWay()
	before, sent, began, all := recorder.ProcessorTime(), from.ProcessorTime(), time.Now(), busy()
	r.asked = l.count(b.span)
	r.sent, r.took, err = from.publish()
	if err != nil {
		return r, err
	}
	used := recorder.ProcessorTime() - before + from.ProcessorTime() - sent
	r.others = (busy() - all - used).Seconds() / time.Since(began).Seconds()
	recorder.Settle() // what was sent may be on its way still
	if err := recorder.Interrupt(); err != nil {
		return r, err
	}
	r.cpu, r.peak = recorder.ProcessorTime()-before, recorder.PeakMemory()
	path := filepath.Join(b.folder, c.file)
	defer os.RemoveAll(path)
	r.written, err = harness.Size(path)
	if err != nil {
		return r, err
	}
	return r, c.count(path, &r)
}

// readCount reads the count that a sink printed.
func readCount(path string, r *result) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	r.written = 0 // of messages
	r.recorded, err = strconv.Atoi(string(text))
	return err
}

// readRecording looks for all messages that were sent in an Apollo recording or a ROS 2 bag.
func readRecording(path string, r *result) error {
	reader, err := formats.Open(path)
	if err != nil {
		return err
	}
	defer reader.Close()
	it, err := reader.Read(codec.Query{Topics: func(c *codec.Channel) bool {
		return strings.HasPrefix(c.Topic, prefix)
	}})
	if err != nil {
		return err
	}
	defer it.Close()
	t := tally{seen: make([]bool, r.sent)}
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			r.recorded, r.again = t.distinct, t.again
			return nil
		}
		if err != nil {
			return err
		}
		t.add(m.Data)
	}
}
