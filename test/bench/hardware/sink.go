package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/test/bench/internal/harness"
)

// sink subscribes to the topics of all other nodes and counts messages.
type sink struct {
	node   bridge.Node
	counts map[string]*count // by topic
}

// count counts the messages of a topic.
type count struct {
	messages, bytes             atomic.Int64 // since the subscription
	messagesBefore, bytesBefore int64        // when the measurement began
}

// begin begins the measurement.
func (c *count) begin() { c.messagesBefore, c.bytesBefore = c.messages.Load(), c.bytes.Load() }

// measured returns the counts since begin.
func (c *count) measured() (messages, bytes int64) {
	return c.messages.Load() - c.messagesBefore, c.bytes.Load() - c.bytesBefore
}

// subscribe subscribes to all topics, until each of the expected topics has a message.
func (s *sink) subscribe(ctx context.Context, expected []string) error {
	timeout := time.After(time.Minute)
	for slices.ContainsFunc(expected, s.silent) {
		for _, t := range s.node.Topics() {
			if err := s.add(t); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout:
			return fmt.Errorf("no messages on %v",
				slices.DeleteFunc(expected, func(topic string) bool { return !s.silent(topic) }))
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// silent reports whether a topic has no messages yet.
func (s *sink) silent(topic string) bool {
	c := s.counts[topic]
	return c == nil || c.messages.Load() == 0
}

// add subscribes to a topic, unless it is subscribed already or only this node publishes it.
func (s *sink) add(t bridge.Topic) error {
	if s.counts[t.Name] != nil || !slices.ContainsFunc(t.Publishers, func(e bridge.Endpoint) bool { return !e.Own }) {
		return nil
	}
	c := &count{}
	s.counts[t.Name] = c
	qos := codec.DefaultQoS()
	qos.Reliability = codec.BestEffort
	_, err := s.node.Subscribe(t.Name, t.Types[0], qos, func(samples []bridge.Sample) {
		for _, sample := range samples {
			c.messages.Add(1)
			c.bytes.Add(int64(len(sample.Data)))
		}
	})
	return err
}

// begin begins the measurement of all topics.
func (s *sink) begin() {
	for _, c := range s.counts {
		c.begin()
	}
}

// print prints the rates of topics, and of all topics together, over span seconds.
func (s *sink) print(topics []string, span float64) error {
	w := harness.Table()
	fmt.Fprintln(w, "messages/s\tMB/s\t topic")
	row := func(name string, messages, bytes int64) {
		fmt.Fprintf(w, "%.1f\t%.2f\t %s\n", float64(messages)/span, float64(bytes)/span/1e6, name)
	}
	for _, topic := range topics {
		m, b := s.counts[topic].measured()
		row(topic, m, b)
	}
	var messages, bytes int64
	for _, c := range s.counts {
		m, b := c.measured()
		messages, bytes = messages+m, bytes+b
	}
	row(fmt.Sprintf("all %d topics", len(s.counts)), messages, bytes)
	return w.Flush()
}
