// Seek writes large recordings and measures how long an open reader needs to find the first message after a random time
// and the last messages before that time.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/test/bench/internal/harness"
)

var formats = codec.Formats{mcap.Format, record.Format, rosbag2.Format}

func main() {
	gigabytes := flag.Float64("size", 10, "size of each recording in GB")
	seeks := flag.Int("seeks", 200, "number of seeks in each recording")
	folder := flag.String("folder", "", "where to write the recordings; by default a temporary folder")
	kinds := flag.String("kinds", "record,mcap,mcap-lz4,mcap-zstd,db3",
		"recordings to measure; db3 is SQLite as rosbag2 writes it")
	modules := flag.String("peer", "",
		"folder in which test/peers/mcap/package.json is installed: @mcap/core seeks in MCAP files, too")
	payload := flag.Int("payload", 0, "bytes of each message; 0 is a mix of 200 B, 2 kB and 1 MB")
	flag.Parse()
	harness.Exit("seek", bench(*folder, strings.Split(*kinds, ","), *gigabytes*1e9, *seeks, *payload, *modules))
}

// bench writes a recording of each kind and measures seeks in it.
func bench(folder string, kinds []string, size float64, seeks, payload int, modules string) error {
	if folder == "" {
		var err error
		folder, err = os.MkdirTemp("", "tapedeck-seek-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
	}
	fmt.Printf("%d random seeks in recordings of %.1f GB: ms until the first message\n", seeks, size/1e9)
	fmt.Println("  recording    opened in    from a time on: median     p99     max   state before it: median     " +
		"p99     max")
	for _, kind := range kinds {
		path, err := write(folder, kind, size, payload)
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		err = measure(kind, path, seeks)
		if err == nil && modules != "" && strings.HasPrefix(kind, "mcap") {
			err = measurePeer(modules, path, seeks)
		}
		err = errors.Join(err, os.RemoveAll(path))
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

// writeMessages writes a recording of about size bytes: latched maps and transforms, an IMU, a scan and an image. If
// payload is not 0, messages that are not latched have that many bytes.
func writeMessages(size float64, payload int, write func(*codec.Message) error) error {
	latched := codec.DefaultQoS()
	latched.Durability, latched.Depth = codec.TransientLocal, 1
	channel := func(topic, typeName string, qos codec.QoS) *codec.Channel {
		return &codec.Channel{Topic: topic, Type: typeName, Encoding: codec.EncodingCDR, QoS: []codec.QoS{qos}}
	}
	static := channel("/tf_static", "tf2_msgs/msg/TFMessage", latched)
	place := channel("/map", "nav_msgs/msg/OccupancyGrid", latched)
	imu := channel("/imu", "sensor_msgs/msg/Imu", codec.DefaultQoS())
	scan := channel("/scan", "sensor_msgs/msg/LaserScan", codec.DefaultQoS())
	image := channel("/image", "sensor_msgs/msg/Image", codec.DefaultQoS())
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(i*i>>8) & byte(i>>3)
	}
	sizes := map[*codec.Channel]int{static: 500, place: 100_000, imu: 200, scan: 2000, image: len(data)}
	written := 0.0
	now := int64(1_700_000_000e9)
	put := func(c *codec.Channel) error {
		n := sizes[c]
		if payload > 0 && c != static && c != place {
			n = payload
		}
		written += float64(n)
		now += 1000
		return write(&codec.Message{Channel: c, LogTime: now, PublishTime: now - 500, Data: data[:n]})
	}
	for tick := 0; written < size; tick++ { // a tick is 1 ms
		now = 1_700_000_000e9 + int64(tick)*1e6
		var err error
		if tick == 0 {
			err = put(static)
		}
		if tick%20_000 == 0 {
			err = errors.Join(err, put(place))
		}
		err = errors.Join(err, put(imu))
		if tick%10 == 0 || payload > 0 {
			err = errors.Join(err, put(scan))
		}
		if tick%33 == 0 || payload > 0 {
			err = errors.Join(err, put(image))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// write writes a recording of a kind, and returns its path.
func write(folder, kind string, size float64, payload int) (path string, err error) {
	name, compression, _ := strings.Cut(kind, "-")
	path = filepath.Join(folder, "seek."+name)
	var w codec.Writer
	switch name {
	case "record":
		w, err = formats.Create(path, codec.CreateOptions{})
	case "mcap":
		w, err = mcap.Format.Create(path, codec.CreateOptions{Compression: compression})
	case "db3":
		w, err = createDatabase(path)
	default:
		return "", fmt.Errorf("unknown kind")
	}
	if err != nil {
		return "", err
	}
	return path, errors.Join(writeMessages(size, payload, w.Write), w.Close())
}

// measure prints the times of seeks in a recording.
func measure(kind, path string, seeks int) (err error) {
	began := time.Now()
	r, err := formats.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	info, err := r.Info()
	if err != nil {
		return err
	}
	opened := time.Since(began)
	random := rand.New(rand.NewPCG(1, 2))
	var starts, states []time.Duration
	for range seeks {
		at := info.StartTime + random.Int64N(info.EndTime-info.StartTime)
		began := time.Now()
		it, err := r.Read(codec.Query{Start: at})
		if err != nil {
			return err
		}
		m, err := it.Next()
		starts = append(starts, time.Since(began))
		if err != nil {
			return err
		}
		if m.LogTime < at {
			return fmt.Errorf("first message is of time %d after a seek to %d", m.LogTime, at)
		}
		if err := it.Close(); err != nil {
			return err
		}
		began = time.Now()
		it, err = r.Read(codec.Query{End: at, Last: codec.LatchedDepth})
		if err != nil {
			return err
		}
		n := 0
		for ; err == nil; n++ {
			_, err = it.Next()
		}
		states = append(states, time.Since(began))
		if !errors.Is(err, io.EOF) || n != 3 {
			return fmt.Errorf("%d latched messages before %d, not 3: %w", n, at, err)
		}
		if err := it.Close(); err != nil {
			return err
		}
	}
	fmt.Printf("  %-12s %7.0f ms %24.1f %7.1f %7.1f %25.1f %7.1f %7.1f\n", kind, milliseconds(opened),
		quantile(starts, 0.5), quantile(starts, 0.99), quantile(starts, 1), quantile(states, 0.5),
		quantile(states, 0.99), quantile(states, 1))
	return nil
}

// measurePeer prints the times of @mcap/core's seeks in an MCAP file.
func measurePeer(modules, path string, seeks int) error {
	_, file, _, _ := runtime.Caller(0)
	cmd := exec.Command("node", filepath.Join(filepath.Dir(file), "peer.js"), path, strconv.Itoa(seeks))
	cmd.Dir, cmd.Stderr = modules, os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	var result struct {
		Opened float64
		Times  []float64 // ms
	}
	if err := json.Unmarshal(output, &result); err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	var times []time.Duration
	for _, ms := range result.Times {
		times = append(times, time.Duration(ms*float64(time.Millisecond)))
	}
	fmt.Printf("  %-12s %7.0f ms %24.1f %7.1f %7.1f\n", "  @mcap/core", result.Opened, quantile(times, 0.5),
		quantile(times, 0.99), quantile(times, 1))
	return nil
}

func quantile(times []time.Duration, q float64) float64 {
	slices.Sort(times)
	return milliseconds(times[int(q*float64(len(times)-1))])
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
