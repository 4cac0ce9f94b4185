package main

import (
	"errors"
	"sync"

	"tapedeck/bridge"
	"tapedeck/bridge/dds"
	"tapedeck/test/bench/internal/harness"
)

// arrival is a message. Times are ns since the Unix epoch.
type arrival struct {
	due            int64 // when it was recorded
	sent, received int64
}

// arrivals collects messages.
type arrivals struct {
	mu  sync.Mutex
	all []arrival
}

func (a *arrivals) add(one arrival) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, one)
}

// begin forgets all, and makes place for so many.
func (a *arrivals) begin(count int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = make([]arrival, 0, count)
}

func (a *arrivals) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.all)
}

func (a *arrivals) list() []arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all
}

// listener is a node on DDS that collects what is played.
type listener struct {
	arrivals
	node bridge.Node
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
	for _, s := range samples {
		if len(s.Data) >= stampAt+8 {
			l.add(arrival{stampOf(s.Data), s.SourceTime, s.ReceiveTime})
		}
	}
}

func (l *listener) close() { _ = l.node.Close() }
