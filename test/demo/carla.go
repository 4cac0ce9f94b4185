package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/record"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/tf2_msgs"
	"tapedeck/test/samples"
	"tapedeck/test/samples/generate"
)

var formats = codec.Formats{record.Format}

// playLog plays a log of CARLA, a real one if present, and records the drive of the hero.
func playLog(ctx context.Context) error {
	heard := filepath.Join(folder, "hero")
	log, real := samples.Find(generate.CARLALog)
	if !real {
		log = filepath.Join(folder, "circle.log")
		say("Writing a log in the format of CARLA's recorder: the hero drives in a circle.")
		if err := generate.Drive(log); err != nil {
			return err
		}
	}
	say("Playing a CARLA log as ROS 2 topics, without a simulator: its last 6 s, with poses interpolated at 50 Hz.")
	if err := run(ctx, "converter", "info", log); err != nil {
		return err
	}
	listener, err := start("recorder", "--output", heard, "/clock", "/tf")
	if err != nil {
		return err
	}
	defer listener.kill()
	if err := run(ctx, "player", log, "--start-offset=-6s", "--interpolate", "50", "--topics", "/clock", "--topics",
		"/tf", "--wait-for-subscribers"); err != nil {
		return err
	}
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	if err := listener.interrupt(); err != nil {
		return err
	}
	say("Received on /clock and /tf:")
	return printDrive(heard + ".record.00000")
}

// printDrive prints the time and the position of the hero once a second.
func printDrive(path string) error {
	r, err := formats.Open(path)
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
		return errors.New("no position of the hero was recorded")
	}
	return nil
}
