package main

import (
	_ "embed"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tapedeck/test/bench/internal/harness"
	"tapedeck/test/bench/internal/ros2"
)

// bagScript writes and counts ROS 1 bags.
//
//go:embed bag.py
var bagScript string

// ros1 returns the C++ recorder of ROS 1, as Debian has it. Its source is rosbag play with a bag that is made before.
func (b *bench) ros1() []contender {
	const rosbag, master = "/usr/lib/rosbag/", "/usr/bin/rosmaster"
	env := append(os.Environ(), "ROS_IP=127.0.0.1", "ROS_LOG_DIR="+filepath.Join(b.folder, "log"), "PYTHONPATH=")
	var address string // of the master of this measurement
	command := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = b.folder, append(env[:len(env):len(env)], "ROS_MASTER_URI=http://"+address)
		return cmd
	}
	script := func(args ...any) (out string, err error) {
		texts := []string{"-c", bagScript}
		for _, arg := range args {
			texts = append(texts, fmt.Sprint(arg))
		}
		data, err := command("/usr/bin/python3", texts...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("bag.py: %w: %s", err, data)
		}
		return string(data), err
	}
	_, err := script("check")
	for _, program := range []string{rosbag + "record", rosbag + "play", master} {
		if _, missing := os.Stat(program); missing != nil {
			err = missing
		}
	}
	if err != nil {
		fmt.Println("no ROS 1: it comes with apt install python3-rosbag python3-rosmaster python3-std-msgs")
		return nil
	}
	in := filepath.Join(b.folder, "source.bag")
	play := func(l load) (*source, error) {
		if _, err := script("write", in, prefix, l.topics, l.rate, l.size-numberAt, l.count(b.span)); err != nil {
			return nil, err
		}
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		address = free.Addr().String()
		_ = free.Close()
		core, err := harness.Start(command(master, "--core", "-p", strings.TrimPrefix(address, "127.0.0.1:")))
		if err != nil {
			return nil, err
		}
		s, err := startSource(command(rosbag+"play", "--quiet", "--pause", "--wait-for-subscribers", "--keep-alive",
			"--queue=1000000", in))
		if err != nil {
			return nil, err
		}
		s.also, s.waiting, s.key, s.end = core, "Finished waiting", " ", func(*source) (int, time.Duration, error) {
			time.Sleep(b.span)
			return l.count(b.span), 0, nil
		}
		return s, nil
	}
	count := func(path string, r *result) error {
		text, err := script("count", path)
		if err != nil {
			return err
		}
		var seconds float64
		_, err = fmt.Sscan(text, &r.recorded, &seconds)
		r.took = time.Duration(seconds * float64(time.Second))
		return err
	}
	record := func(load) *exec.Cmd { return command(rosbag+"record", "-e", prefix+".*", "-O", "ros1.bag") }
	return []contender{{name: "rosbag " + ros2.Version("/usr/share/rosbag/package.xml"), file: "ros1.bag",
		needsRate: true,
		command:   record, source: play, count: count}}
}
