package main

import (
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"tapedeck/test/bench/internal/ros2"
)

// bagScript writes ROS 1 bags.
//
//go:embed bag.py
var bagScript string

// ros1 is the player of ROS 1, as Debian has it, and what hears it.
type ros1 struct {
	arrivals
	name   string
	folder string
	master string // its address
	env    []string
	core   *exec.Cmd
}

const (
	rosbagPlay = "/usr/lib/rosbag/play"
	rosMaster  = "/usr/bin/rosmaster"
)

// startROS1 starts a master and subscribes. Without ROS 1 it says so and returns nil.
func startROS1(folder string) (*ros1, error) {
	r := &ros1{name: "rosbag " + ros2.Version("/usr/share/rosbag/package.xml"), folder: folder}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(free.Addr().String())
	if err := errors.Join(err, free.Close()); err != nil {
		return nil, err
	}
	r.master = "http://127.0.0.1:" + port
	r.env = append(os.Environ(), "ROS_MASTER_URI="+r.master, "ROS_IP=127.0.0.1", "ROS_LOG_DIR="+filepath.Join(folder, "log"), "PYTHONPATH=")
	err = r.script("check")
	for _, program := range []string{rosbagPlay, rosMaster} {
		if _, missing := os.Stat(program); missing != nil {
			err = missing
		}
	}
	if err != nil {
		fmt.Println("no ROS 1: it comes with apt install rosbag python3-rosbag python3-rosmaster python3-sensor-msgs")
		return nil, nil
	}
	r.core = r.process(rosMaster, "--core", "-p", port)
	if err := r.core.Start(); err != nil {
		return nil, err
	}
	for range 300 {
		if _, err = xmlCall(r.master, "getPid", "<string>"+caller+"</string>"); err == nil {
			return r, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	r.stop()
	return nil, fmt.Errorf("%s does not answer: %w", rosMaster, err)
}

func (r *ros1) stop() {
	if r != nil {
		_ = r.core.Process.Signal(os.Interrupt)
		_ = r.core.Wait()
	}
}

func (r *ros1) process(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = r.folder, r.env
	return cmd
}

func (r *ros1) script(args ...any) error {
	texts := []string{"-c", bagScript}
	for _, arg := range args {
		texts = append(texts, fmt.Sprint(arg))
	}
	out, err := r.process("/usr/bin/python3", texts...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("bag.py: %w: %s", err, out)
	}
	return nil
}

// play returns the command that plays a recording, to subscribers that appear once it has begun.
func (r *ros1) play(rec recording, rate float64) (*exec.Cmd, error) {
	path := filepath.Join(r.folder, rec.name+".bag")
	if _, err := os.Stat(path); err != nil {
		streams, err := rec.streams()
		if err != nil {
			return nil, err
		}
		args := []any{"write", path, epoch / 1e9}
		for _, s := range streams {
			args = append(args, s.topic, s.rate, s.count)
		}
		if err := r.script(append(args, imageSize)...); err != nil {
			return nil, err
		}
	}
	args := []string{"--quiet", "--wait-for-subscribers", "--queue=100000", "-r", fmt.Sprint(rate), path}
	if rate == fastest {
		args = append(args, "--immediate")
	}
	for topic, typeName := range map[string]string{imuTopic: "sensor_msgs/Imu", imageTopic: "sensor_msgs/Image"} {
		if topic == imuTopic && rec.imus > 0 || topic == imageTopic && rec.images > 0 {
			go r.hear(topic, typeName, time.Now().Add(30*time.Second))
		}
	}
	return r.process(rosbagPlay, args...), nil
}
