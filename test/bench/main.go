// Bench measures the recorder from DDS to disk against a process that receives the same messages and does nothing with
// them, in turn, and prints the ratios. It uses the executables in bin/.
//
// The publisher is reliable and keeps everything, so that it runs as fast as the receiving process takes messages off
// the network; what is measured is how fast all of them arrive.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/dds"
	"tapedeck/test/bench/internal/harness"
)

const topic, typeName = "/bench", "test_msgs/msg/Payload"

func main() {
	rounds := flag.Int("rounds", 3, "measurements of each kind, in turn")
	span := flag.Duration("span", 3*time.Second, "how long to publish in each")
	folder := flag.String("folder", "", "where to record; by default a temporary folder")
	receive := flag.Bool("receive", false, "be the process that receives and does nothing")
	flag.Parse()
	var err error
	if *receive {
		err = receiveAlone()
	} else {
		err = bench(*folder, *rounds, *span)
	}
	harness.Exit("bench", err)
}

func bench(folder string, rounds int, span time.Duration) error {
	if err := harness.Isolate(98); err != nil {
		return err
	}
	if folder == "" {
		dir, err := os.MkdirTemp("", "tapedeck-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		folder = dir
	}
	fmt.Println("recorder, DDS to disk, against receiving alone; medians of", rounds)
	fmt.Println("  payload      receiving alone                 record                          ratio   mcap           " +
		"                 ratio   plain writes")
	for _, size := range []int{100, 1000, 10_000, 1_000_000} {
		results := map[string][]result{}
		var plain []float64
		for range rounds {
			rate, err := plainWrite(folder)
			if err != nil {
				return err
			}
			plain = append(plain, rate)
			for _, kind := range []string{"receive", "record", "mcap"} {
				r, err := measure(folder, kind, size, span)
				if err != nil {
					return fmt.Errorf("%s at %d B: %w", kind, size, err)
				}
				results[kind] = append(results[kind], r)
			}
		}
		base := median(results["receive"])
		fmt.Printf("  %9d B  %v", size, base)
		for _, kind := range []string{"record", "mcap"} {
			m := median(results[kind])
			fmt.Printf("  %v  %5.2f", m, m.rate/base.rate)
		}
		slices.Sort(plain)
		fmt.Printf("  %7.0f MB/s\n", plain[len(plain)/2]/1e6)
	}
	return nil
}

// plainWrite returns how many bytes a second can be written into folder, 1 GB at 1 MB each, without anything else: more
// than that no recorder can do.
func plainWrite(folder string) (rate float64, err error) {
	path := filepath.Join(folder, "plain")
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer os.Remove(path)
	defer file.Close()
	data := bytes.Repeat([]byte("x"), 1_000_000)
	const count = 1000
	start := time.Now()
	for range count {
		if _, err := file.Write(data); err != nil {
			return 0, err
		}
	}
	return float64(count*len(data)) / time.Since(start).Seconds(), file.Close()
}

// result is one measurement.
type result struct {
	rate float64 // messages per second
	size int     // bytes
	lost uint64  // messages sent and not received or written
}

func (r result) String() string {
	return fmt.Sprintf("%8.0f msg/s %6.0f MB/s %3d lost", r.rate, r.rate*float64(r.size)/1e6, r.lost)
}

func median(list []result) result {
	slices.SortFunc(list, func(a, b result) int { return int(a.rate - b.rate) })
	m := list[len(list)/2]
	for _, r := range list {
		m.lost = max(m.lost, r.lost)
	}
	return m
}

// measure publishes for that long and has the messages received or recorded.
func measure(folder, kind string, size int, span time.Duration) (r result, err error) {
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	output := filepath.Join(folder, "bench")
	cmd := exec.Command(self, "--receive")
	if kind != "receive" {
		cmd = exec.Command(filepath.Join("bin", "recorder"), topic, "-o", output, "-s", kind, "--overwrite", "--queue-size",
			"2GiB")
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return r, err
	}
	if err := cmd.Start(); err != nil {
		return r, err
	}
	defer func() { _ = cmd.Process.Kill() }()
	sent, elapsed, err := publish(size, span)
	if err != nil {
		return r, err
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return r, err
	}
	last := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		last = lines.Text()
	}
	if err := cmd.Wait(); err != nil {
		return r, err
	}
	var got uint64
	if kind == "receive" {
		_, err = fmt.Sscan(last, &got)
	} else {
		got, err = count(output, kind)
	}
	if err != nil {
		return r, err
	}
	return result{rate: float64(sent) / elapsed.Seconds(), size: size, lost: sent - got}, nil
}

// count returns how many messages are in a recording, and deletes it.
func count(output, kind string) (uint64, error) {
	if kind == "record" {
		output += ".record.00000"
	}
	out, err := exec.Command(filepath.Join("bin", "converter"), "info", "--json", output).Output()
	if err != nil {
		return 0, err
	}
	var info struct {
		Topics []struct {
			Name         string `json:"name"`
			MessageCount uint64 `json:"message_count"`
		} `json:"topics"`
	}
	if err := json.Unmarshal(out, &info); err != nil {
		return 0, err
	}
	var n uint64
	for _, t := range info.Topics {
		if t.Name == topic {
			n = t.MessageCount
		}
	}
	return n, os.RemoveAll(output)
}

// publish sends as much as is taken for that long, and returns how much that was and how long it took until all of it
// had arrived.
func publish(size int, span time.Duration) (sent uint64, elapsed time.Duration, err error) {
	node, err := dds.Open(bridge.Options{Name: "bench_source", Domain: -1})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	publisher, err := node.Advertise(topic, typeName, harness.KeepAll())
	if err != nil {
		return 0, 0, err
	}
	for wait := time.Now(); publisher.Subscribers() == 0; time.Sleep(5 * time.Millisecond) {
		if time.Since(wait) > 30*time.Second {
			return 0, 0, errors.New("nobody subscribes")
		}
	}
	time.Sleep(500 * time.Millisecond)
	data := bytes.Repeat([]byte("x"), size)
	copy(data, "\x00\x01\x00\x00") // little-endian CDR
	start := time.Now()
	for time.Since(start) < span {
		if err := publisher.Publish(data); err != nil {
			return 0, 0, err
		}
		sent++
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := publisher.Flush(ctx); err != nil {
		return 0, 0, err
	}
	elapsed = time.Since(start)
	time.Sleep(500 * time.Millisecond) // what is received may still be on its way to the handler
	return sent, elapsed, nil
}

// receiveAlone counts what arrives until it is interrupted, and prints the count.
func receiveAlone() error {
	node, err := dds.Open(bridge.Options{Name: "bench_sink", Domain: -1})
	if err != nil {
		return err
	}
	var count atomic.Uint64
	if _, err := node.Subscribe(topic, typeName, harness.KeepAll(),
		func(samples []bridge.Sample) { count.Add(uint64(len(samples))) }); err != nil {
		return err
	}
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	<-interrupted.Done()
	fmt.Println(count.Load())
	return node.Close()
}
