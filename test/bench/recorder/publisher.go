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

// publisherProcess is a process that publishes a load. It runs publish.
type publisherProcess struct {
	*harness.Process
	in  io.WriteCloser
	out *bufio.Reader
}

// startPublishers starts the process that publishes l. environment extends the environment of the benchmark.
func (b *bench) startPublishers(l load, environment []string) (*publisherProcess, error) {
	cmd := b.self("publisher", l.name)
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
	return &publisherProcess{Process: p, in: in, out: bufio.NewReader(out)}, err
}

// ready waits until all topics have a subscriber, at most 2 minutes.
func (p *publisherProcess) ready() error {
	timeout := time.AfterFunc(2*time.Minute, func() { _ = p.Process.Process.Kill() })
	defer timeout.Stop()
	for {
		line, err := p.out.ReadString('\n')
		if err != nil || strings.Contains(line, "ready") {
			return err
		}
	}
}

// publish lets the process publish. It returns the number of messages and the time that publishing took.
func (p *publisherProcess) publish() (int, time.Duration, error) {
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		return 0, 0, err
	}
	var result published
	err := json.NewDecoder(p.out).Decode(&result)
	return result.Sent, result.Took, err
}

// published is the result of a publisherProcess, which it prints as JSON.
type published struct {
	Sent int
	Took time.Duration
}

// publish publishes a load on DDS. It prints "ready" once all topics have a subscriber, and begins when standard input
// has a line. Once subscribers have acknowledged all messages it prints the result. It stops publishing if subscribers
// have delayed it by 5 s.
func publish(name string, depth int, span time.Duration) (err error) {
	l, err := findLoad(name)
	if err != nil {
		return err
	}
	node, err := dds.Open(bridge.Options{Name: "bench_publisher", Domain: -1})
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
			return fmt.Errorf("%s has no subscriber after a minute", topic(i))
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
	var result published
	for begin := time.Now(); result.Sent < count || l.rate == 0 && result.Took < span; result.Took = time.Since(begin) {
		if l.rate > 0 {
			due := time.Duration(result.Sent) * time.Second / time.Duration(l.rate)
			if early := due - result.Took; early > 0 {
				time.Sleep(max(early, time.Millisecond)) // shorter naps take more time than the messages
			} else if early < -patience {
				break
			}
		}
		setNumber(data, result.Sent)
		if err := publishers[result.Sent%l.topics].Publish(data); err != nil {
			return err
		}
		result.Sent++
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, p := range publishers {
		if err := p.Flush(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(result)
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
