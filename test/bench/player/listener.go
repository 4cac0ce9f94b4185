package main

import (
	"errors"
	"sync"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/dds"
	"tapedeck/test/bench/internal/harness"
)

// arrival has the times of a received message, in ns since the Unix epoch.
type arrival struct {
	due      int64 // recorded time
	sent     int64 // source time of the DDS sample
	received int64 // when the listener had the message
}

// listener is a node on DDS that collects the played messages.
type listener struct {
	node bridge.Node

	mu       sync.Mutex // of arrivals
	arrivals []arrival
}

// begin removes all arrivals, and allocates memory for count new ones.
func (l *listener) begin(count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arrivals = make([]arrival, 0, count)
}

// list returns the arrivals so far.
func (l *listener) list() []arrival {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.arrivals
}

// listen starts a listener in the domain of the benchmark.
func listen() (*listener, error) {
	node, err := dds.Open(bridge.Options{Name: "bench_listener", Domain: -1})
	if err != nil {
		return nil, err
	}
	l := &listener{node: node}
	for topic, typeName := range map[string]string{imuTopic: imuType, imageTopic: imageType} {
		if _, err := node.Subscribe(topic, typeName, harness.KeepAll(), l.take); err != nil {
			return nil, errors.Join(err, node.Close())
		}
	}
	return l, nil
}

func (l *listener) take(samples []bridge.Sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range samples {
		if len(s.Data) >= stampAt+8 {
			l.arrivals = append(l.arrivals, arrival{stampOf(s.Data), s.SourceTime, s.ReceiveTime})
		}
	}
}

func (l *listener) close() { _ = l.node.Close() }
