package main

import (
	"errors"
	"sync"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/dds"
	"tapedeck/test/bench/internal/harness"
)

// arrival is a message. Times are ns since the Unix epoch.
type arrival struct {
	due            int64 // when it was recorded
	sent, received int64
}

// listener is a node on DDS that collects the played messages.
type listener struct {
	node bridge.Node
	mu   sync.Mutex
	all  []arrival
}

// begin forgets all messages, and makes place for so many.
func (l *listener) begin(count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = make([]arrival, 0, count)
}

func (l *listener) list() []arrival {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

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
			l.all = append(l.all, arrival{stampOf(s.Data), s.SourceTime, s.ReceiveTime})
		}
	}
}

func (l *listener) close() { _ = l.node.Close() }
