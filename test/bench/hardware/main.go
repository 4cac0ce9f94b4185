// Hardware measures the processor time of the executables in bin/ that publish data of hardware: two arms, one that
// pushes its state and one that is polled, and a MAVLink autopilot, each at 200 Hz, and three cameras at 30 Hz.
// Together they should take less than half of a core. This program simulates the devices and subscribes to all topics;
// its own processor time is not counted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/dds"
	"tapedeck/test/bench/internal/harness"
)

func main() {
	var b bench
	flag.StringVar(&b.bin, "bin", "bin", "folder of the executables")
	flag.DurationVar(&b.span, "span", 20*time.Second, "how long to measure")
	flag.IntVar(&b.rate, "rate", 200, "rate of arms and autopilot in Hz, at most 200")
	flag.IntVar(&b.pictures, "pictures", 30, "rate of each camera in Hz")
	domain := flag.Int("domain", 101, "ROS_DOMAIN_ID to use")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := harness.Isolate(*domain)
	if err == nil {
		err = b.run(ctx)
	}
	harness.Exit("bench-hardware", err)
}

// bench is a run of the benchmark.
type bench struct {
	bin      string
	span     time.Duration
	rate     int
	pictures int
}

func (b *bench) run(ctx context.Context) (err error) {
	folder, err := os.MkdirTemp("", "tapedeck-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	devices, err := newDevices(folder, b.rate, b.pictures)
	if err != nil {
		return err
	}
	defer devices.Close()
	config := filepath.Join(folder, "hardware.yaml")
	if err := os.WriteFile(config, []byte(devices.parameters()), 0o666); err != nil {
		return err
	}
	node, err := dds.Open(bridge.Options{Name: "bench_sink", Domain: -1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	s := &sink{node: node, counts: map[string]*count{}}

	var list []*publisher
	for _, name := range []string{"arm_publisher", "mavlink_publisher", "camera_publisher"} {
		var p *publisher
		// Not p, err := …: it would shadow err, which the deferred functions extend.
		p, err = b.start(name, config)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.stop()) }()
		list = append(list, p)
	}
	if err := s.subscribe(ctx, devices.topics()); err != nil {
		return err
	}
	return b.measure(ctx, list, s, devices.topics())
}

// measure prints the processor time that the publishers take in b.span, and the rates of the topics.
func (b *bench) measure(ctx context.Context, list []*publisher, s *sink, topics []string) error {
	s.begin()
	began := time.Now()
	for _, p := range list {
		p.before = p.ProcessorTime()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(b.span):
	}
	span := time.Since(began).Seconds()
	w := harness.Table()
	fmt.Fprintln(w, "CPU s\t% of a core\t publisher")
	sum := 0.0
	for _, p := range list {
		took, err := p.took()
		if err != nil {
			return err
		}
		sum += took
		fmt.Fprintf(w, "%.2f\t%.1f\t %s\n", took, 100*took/span, p.name)
	}
	fmt.Fprintf(w, "%.2f\t%.1f\t all\n", sum, 100*sum/span)
	if err := w.Flush(); err != nil {
		return err
	}
	return s.print(topics, span)
}

// publisher is a measured process.
type publisher struct {
	*harness.Process
	name   string
	before time.Duration // processor time when the measurement began
}

// start starts the publisher with this name and parameter file.
func (b *bench) start(name, config string) (*publisher, error) {
	p, err := harness.Start(exec.Command(filepath.Join(b.bin, name), "--config", config))
	return &publisher{Process: p, name: name}, err
}

// took returns the processor time since the measurement began, in s.
func (p *publisher) took() (float64, error) {
	took := p.ProcessorTime() - p.before
	if took < 0 {
		return 0, fmt.Errorf("%s has ended", p.name)
	}
	return took.Seconds(), nil
}

// stop ends the process. If that fails, the error contains the output of the process.
func (p *publisher) stop() error {
	err := p.Interrupt()
	return errors.Join(err, p.Kill(err))
}
