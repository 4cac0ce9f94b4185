package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/dds"
	"tapedeck/codec"
	"tapedeck/test/bench/internal/harness"
)

// source is a process that publishes a load.
type source struct {
	*harness.Process
	in      io.WriteCloser
	out     *bufio.Reader
	waiting string // in the line that it prints when all topics have a subscriber
	key     string // what has it begin
	// waits until it has published, and returns how many messages in how long
	end  func(*source) (int, time.Duration, error)
	also *harness.Process // that it needs, or nil
}

func startSource(cmd *exec.Cmd) (*source, error) {
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
		if err != nil || strings.Contains(line, s.waiting) {
			return err
		}
	}
}

func (s *source) publish() (int, time.Duration, error) {
	if _, err := io.WriteString(s.in, s.key); err != nil {
		return 0, 0, err
	}
	return s.end(s)
}

func (s *source) kill(why error) error {
	err := s.Kill(why)
	if s.also != nil {
		err = errors.Join(err, s.also.Kill(why))
	}
	return err
}

// source starts a source on DDS.
func (b *bench) source(l load) (*source, error) {
	return b.start(b.self("source", l.name))
}

func (b *bench) start(cmd *exec.Cmd) (*source, error) {
	s, err := startSource(cmd)
	if err != nil {
		return nil, err
	}
	s.waiting, s.key, s.end = "ready", "\n", func(s *source) (int, time.Duration, error) {
		var did published
		err := json.NewDecoder(s.out).Decode(&did)
		return did.Sent, did.Took, err
	}
	return s, nil
}

// published is what a source on DDS did.
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
		if publishers[i], err = node.Advertise(topic(i), typeName, qosOf(l.depth(depth))); err != nil {
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

// qosOf returns that of a publisher or subscriber that keeps so many messages, 0 for all.
func qosOf(depth int) codec.QoS {
	qos := codec.DefaultQoS()
	if qos.Depth = depth; depth == 0 {
		qos.History = codec.KeepAll
	}
	return qos
}
