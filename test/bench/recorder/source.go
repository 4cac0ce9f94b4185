package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/dds"
	"tapedeck/codec"
	"tapedeck/test/bench/internal/harness"
)

// source is a process that publishes a load.
type source struct {
	*harness.Process
	in  io.WriteCloser
	out *bufio.Reader
}

// source starts a source. environment extends the environment of the benchmark.
func (b *bench) source(l load, environment []string) (*source, error) {
	cmd := b.self("source", l.name)
	cmd.Env = append(os.Environ(), environment...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	cmd.Stdout = stdout
	p, err := harness.Start(cmd)
	return &source{Process: p, in: in, out: bufio.NewReader(out)}, err
}

// ready waits until all topics have a subscriber, but not forever.
func (s *source) ready() error {
	late := time.AfterFunc(2*time.Minute, func() { _ = s.Process.Process.Kill() })
	defer late.Stop()
	for {
		line, err := s.out.ReadString('\n')
		if err != nil || strings.Contains(line, "ready") {
			return err
		}
	}
}

// publish has the source publish, and returns how many messages in how long.
func (s *source) publish() (int, time.Duration, error) {
	if _, err := io.WriteString(s.in, "\n"); err != nil {
		return 0, 0, err
	}
	var did published
	err := json.NewDecoder(s.out).Decode(&did)
	return did.Sent, did.Took, err
}

// published is the result of a source.
type published struct {
	Sent int
	Took time.Duration
}

// publish is a process that publishes a load on DDS. It says when all topics have a subscriber, begins when it is given
// a line, and says what it did when all is acknowledged. Where subscribers hold it back it gives up after a while.
func publish(name string, depth int, span time.Duration) (err error) {
	l, err := findLoad(name)
	if err != nil {
		return err
	}
	node, err := dds.Open(bridge.Options{Name: "bench_source", Domain: -1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	publishers := make([]bridge.Publisher, l.topics)
	for i := range publishers {
		publishers[i], err = node.Advertise(topic(i), typeName, qosOf(l.depth(depth)))
		if err != nil {
			return err
		}
	}
	for began, i := time.Now(), 0; i < len(publishers); {
		switch {
		case publishers[i].Subscribers() > 0:
			i++
		case time.Since(began) > time.Minute:
			return fmt.Errorf("nobody subscribes to %s", topic(i))
		default:
			time.Sleep(10 * time.Millisecond)
		}
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	const patience = 5 * time.Second
	data, count := l.payload(), l.count(span)
	var did published
	for begin := time.Now(); did.Sent < count || l.rate == 0 && did.Took < span; did.Took = time.Since(begin) {
		if l.rate > 0 {
			due := time.Duration(did.Sent) * time.Second / time.Duration(l.rate)
			if early := due - did.Took; early > 0 {
				time.Sleep(max(early, time.Millisecond)) // shorter naps take more time than the messages
			} else if early < -patience {
				break
			}
		}
		setNumber(data, did.Sent)
		if err := publishers[did.Sent%l.topics].Publish(data); err != nil {
			return err
		}
		did.Sent++
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, p := range publishers {
		if err := p.Flush(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(did)
}

// qosOf returns the QoS of a publisher or subscriber that keeps depth messages, or all if depth is 0.
func qosOf(depth int) codec.QoS {
	qos := codec.DefaultQoS()
	qos.Depth = depth
	if depth == 0 {
		qos.History = codec.KeepAll
	}
	return qos
}
