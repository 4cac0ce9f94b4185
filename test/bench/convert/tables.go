package main

import (
	"bytes"
	_ "embed"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/parquet-go/parquet-go"

	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

// readings is the number of messages in readings.bag: half an hour of an IMU.
const readings = 180_000

//go:embed loop.py
var loop string

// writeReadings writes readings.bag, whose numbers have noise and constant covariances, as real ones do.
func writeReadings(path string) error {
	return writeROS1(path, map[string]string{imuTopic: "sensor_msgs/msg/Imu"}, func(write writeMessage) error {
		noise := rand.New(rand.NewPCG(1, 2))
		imu := sensor_msgs.Imu{}
		for _, c := range []*[9]float64{&imu.OrientationCovariance, &imu.AngularVelocityCovariance,
			&imu.LinearAccelerationCovariance} {
			c[0], c[4], c[8] = 1e-4, 1e-4, 2e-4
		}
		for i := range readings {
			t := int64(startTime) + int64(i)*1e7
			imu.Header = std_msgs.Header{FrameId: "imu_link",
				Stamp: builtin_interfaces.Time{Sec: int32(t / 1e9), Nanosec: uint32(t % 1e9)}}
			for _, v := range []*float64{&imu.Orientation.X, &imu.Orientation.Y, &imu.Orientation.Z, &imu.Orientation.W,
				&imu.AngularVelocity.X, &imu.AngularVelocity.Y, &imu.AngularVelocity.Z,
				&imu.LinearAcceleration.X, &imu.LinearAcceleration.Y, &imu.LinearAcceleration.Z} {
				*v = noise.NormFloat64()
			}
			if err := write(imuTopic, t, &imu); err != nil {
				return err
			}
		}
		return nil
	})
}

// tables returns the tasks that make tables. The loop in Python reads a ROS 1 bag with rosbag: Debian does not package
// rosbags.
func (b *bench) tables() (list []task) {
	ours := func(from, to string) program {
		return program{name: "converter to " + filepath.Ext(to)[1:], command: b.converter(from, to), output: b.path(to),
			want: readings}
	}
	python := exec.Command("/usr/bin/python3", "-c", loop, b.path("readings.bag"), imuTopic, b.path("b.csv"))
	python.Env = append(os.Environ(), "PYTHONPATH=")
	for _, to := range []string{"a.csv", "a.parquet"} {
		t := task{name: "IMU of a bag to " + filepath.Ext(to)[1:], input: b.path("readings.bag"), goal: 1.0 / 20,
			programs: []program{ours("readings.bag", to)}}
		t.add(haveRosbag(), program{name: "a loop in Python over rosbag's messages, to CSV", command: python,
			output: b.path("b.csv"), want: readings})
		list = append(list, t)
	}
	t := task{name: "IMU of MCAP to JSON, a message a line", input: b.path("readings.mcap"),
		programs: []program{ours("readings.mcap", "a.jsonl")}}
	t.add(b.mcap != "", program{name: "mcap cat --json", output: b.path("b.jsonl"), want: readings,
		command: exec.Command("sh", "-c", `"$0" cat --json "$1" > "$2"`, b.mcap, b.path("readings.mcap"),
			b.path("b.jsonl"))})
	return append(list, t)
}

// countRows returns the number of messages in a table, which codec cannot open. ok is false if path is not a table.
func countRows(path string) (n uint64, ok bool, err error) {
	extension := filepath.Ext(path)
	if extension != ".csv" && extension != ".jsonl" && extension != ".parquet" {
		return 0, false, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return 0, true, err
	}
	defer file.Close()
	if extension == ".parquet" {
		table, err := parquet.OpenFile(file, sizeOf(path))
		if err != nil {
			return 0, true, err
		}
		return uint64(table.NumRows()), true, nil
	}
	// A small buffer: memory of this process would count in the peak memory of the programs that it starts.
	buffer := make([]byte, 1<<16)
	for {
		read, err := file.Read(buffer)
		n += uint64(bytes.Count(buffer[:read], []byte("\n")))
		if err == io.EOF {
			break
		} else if err != nil {
			return 0, true, err
		}
	}
	if extension == ".csv" {
		n-- // the header
	}
	return n, true, nil
}
