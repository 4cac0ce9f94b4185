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

// baseline is the name of the process that only receives.
const baseline = "receiving alone"

// contender is a measured recorder, or the baseline.
type contender struct {
	name      string
	ours      bool   // tapedeck's
	keys      string // protection of messages: signed or encrypted; "" for none
	needsRate bool   // must not be measured with loads without a rate
	file      string // name of the recorded file or folder in bench.folder
	command   func(load) *exec.Cmd
	// environment extends the environment of the contender and of the publishers.
	environment []string
	// count sets the numbers of recorded and of repeated messages in the result.
	count func(path string, r *result) error
}

// contenders returns the baseline, tapedeck's recorders and the installed recorders of ROS 2. It prints which recorders
// are missing.
func (b *bench) contenders() ([]contender, error) {
	list := []contender{
		{name: baseline, file: "count", command: b.sink, count: readCount},
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

// sink returns the command of the baseline.
func (b *bench) sink(l load) *exec.Cmd {
	return b.self("sink", l.name, filepath.Join(b.folder, "count"))
}

// tapedeck returns the commands of tapedeck's recorder with a storage.
func (b *bench) tapedeck(storage string) func(load) *exec.Cmd {
	return func(load) *exec.Cmd {
		return exec.Command(filepath.Join(b.bin, "recorder"), "--regex", "^"+prefix, "-o", "bench", "-s", storage,
			"--quiet")
	}
}

// self returns a command that runs this executable in a role: publisher or sink.
func (b *bench) self(role string, args ...string) *exec.Cmd {
	args = append([]string{"-be", role, "-depth", fmt.Sprint(b.depth), "-span", b.span.String(), "-domain",
		os.Getenv("ROS_DOMAIN_ID")}, args...)
	return exec.Command("/proc/self/exe", args...)
}

// measure publishes a load once while a contender records it.
func (b *bench) measure(c contender, l load) (r result, err error) {
	publishers, err := b.startPublishers(l, c.environment)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, publishers.Kill(err)) }()
	cmd := c.command(l)
	cmd.Dir = b.folder
	cmd.Env = append(cmd.Environ(), c.environment...)
	recorder, err := harness.Start(cmd)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, recorder.Kill(err)) }()
	if err := publishers.ready(); err != nil {
		return r, err
	}
	pages, err := harness.HoldPages(b.folder, l.bytes(b.span))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, pages.Close()) }()
	recorder.Settle() // its work after subscribing is not measured
	pages.GiveWay()
	began, machineBefore := time.Now(), busy()
	recorderBefore, publishersBefore := recorder.ProcessorTime(), publishers.ProcessorTime()
	r.due = l.count(b.span)
	r.sent, r.took, err = publishers.publish()
	if err != nil {
		return r, err
	}
	used := recorder.ProcessorTime() - recorderBefore + publishers.ProcessorTime() - publishersBefore
	r.others = (busy() - machineBefore - used).Seconds() / time.Since(began).Seconds()
	recorder.Settle() // messages may still be on their way
	if err := recorder.Interrupt(); err != nil {
		return r, err
	}
	r.cpu, r.peak = recorder.ProcessorTime()-recorderBefore, recorder.PeakMemory()
	path := filepath.Join(b.folder, c.file)
	defer os.RemoveAll(path)
	r.written, err = harness.Size(path)
	if err != nil {
		return r, err
	}
	return r, c.count(path, &r)
}

// readCount reads the count that a sink wrote.
func readCount(path string, r *result) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	r.written = 0 // the sink wrote no messages
	r.recorded, err = strconv.Atoi(string(text))
	return err
}

// readRecording counts the sent messages in an Apollo recording or a ROS 2 bag.
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
			r.recorded, r.repeated = t.distinct, t.repeated
			return nil
		}
		if err != nil {
			return err
		}
		t.add(m.Data)
	}
}
