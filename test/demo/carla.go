package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"time"

	"tapedeck/bridge/carla"
	"tapedeck/codec"
	_ "tapedeck/codec/carla"
	"tapedeck/codec/cdr"
	_ "tapedeck/codec/record"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/tf2_msgs"
	"tapedeck/test/samples"
)

// playLog plays a log of CARLA, a real one if it is there, to who records where the hero drives.
func playLog(ctx context.Context) error {
	heard := filepath.Join(folder, "hero")
	log, real := samples.Find("carla/scenario_runner_DistanceToLaneCenter.log")
	if !real {
		log = filepath.Join(folder, "circle.log")
		say("A log is written as CARLA's recorder writes it: the hero drives in a circle.")
		if err := writeLog(log); err != nil {
			return err
		}
	}
	say("A log of CARLA becomes ROS 2, without a simulator: its last 6 s, with poses at 50 Hz between its frames.")
	if err := run(ctx, "converter", "info", log); err != nil {
		return err
	}
	listener, err := start("recorder", "--output", heard, "/clock", "/tf")
	if err != nil {
		return err
	}
	defer listener.kill()
	if err := run(ctx, "player", log, "--start-offset=-6s", "--interpolate", "50", "--topics", "/clock", "--topics", "/tf", "--wait-for-subscribers"); err != nil {
		return err
	}
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	if err := listener.interrupt(); err != nil {
		return err
	}
	say("What came on /clock and /tf:")
	return printDrive(heard + ".record.00000")
}

// printDrive prints what time it was and where the hero was, once a second.
func printDrive(path string) error {
	r, err := codec.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	it, err := r.Read(codec.Query{})
	if err != nil {
		return err
	}
	defer it.Close()
	var clock rosgraph_msgs.Clock
	var tf tf2_msgs.TFMessage
	clocks, transforms, told := 0, 0, int32(-1)
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch m.Channel.Topic {
		case "/clock":
			clocks++
			err = cdr.Unmarshal(m.Data, &clock)
		case "/tf":
			transforms++
			err = cdr.Unmarshal(m.Data, &tf)
			for _, t := range tf.Transforms {
				if at := t.Transform.Translation; t.ChildFrameId == "hero" && clock.Clock.Sec != told {
					told = clock.Clock.Sec
					fmt.Printf("%5d s   hero at (%.2f, %.2f, %.2f) m in %s\n", told, at.X, at.Y, at.Z, t.Header.FrameId)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	fmt.Printf("%d messages on /clock, %d on /tf\n", clocks, transforms)
	if told < 0 {
		return errors.New("the hero was not heard of")
	}
	return nil
}

// writeLog writes a log of 10 s of a drive in a circle, of what ROS 2 messages would tell of it.
func writeLog(path string) error {
	const radius, speed = 20.0, 8.0 // m, m/s
	file, err := codec.Create(path, codec.CreateOptions{})
	if err != nil {
		return err
	}
	w := carla.NewWriter(file, carla.WriteOptions{Map: "Town01"})
	clock := &codec.Channel{Topic: "/clock", Type: (*rosgraph_msgs.Clock)(nil).TypeName(), Encoding: codec.EncodingCDR}
	odometry := &codec.Channel{Topic: "/carla/hero/odometry", Type: (*nav_msgs.Odometry)(nil).TypeName(), Encoding: codec.EncodingCDR}
	begin := time.Now().UnixNano()
	for at := time.Duration(0); err == nil && at <= 10*time.Second; at += 50 * time.Millisecond {
		stamp := builtin_interfaces.Time{Sec: int32(at / time.Second), Nanosec: uint32(at % time.Second)}
		o := nav_msgs.Odometry{Header: std_msgs.Header{Stamp: stamp, FrameId: "map"}, ChildFrameId: "hero"}
		sin, cos := math.Sincos(at.Seconds() * speed / radius)
		o.Pose.Pose.Position.X, o.Pose.Pose.Position.Y = radius*sin, radius*(1-cos)
		o.Pose.Pose.Orientation.Z, o.Pose.Pose.Orientation.W = math.Sincos(at.Seconds() * speed / radius / 2)
		o.Twist.Twist.Linear.X, o.Twist.Twist.Angular.Z = speed, speed/radius
		err = errors.Join(write(w, clock, begin+int64(at), &rosgraph_msgs.Clock{Clock: stamp}), write(w, odometry, begin+int64(at), &o))
	}
	return errors.Join(err, w.Close())
}

func write(w codec.Writer, c *codec.Channel, at int64, m msgs.Message) error {
	data, err := cdr.Marshal(m)
	if err != nil {
		return err
	}
	return w.Write(&codec.Message{Channel: c, LogTime: at, Data: data})
}
