package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/dds"
)

// receive receives a load until it is interrupted. Then it writes the number of received messages to path.
func receive(name, path string) (err error) {
	l, err := findLoad(name)
	if err != nil {
		return err
	}
	node, err := dds.Open(bridge.Options{Name: "bench_sink", Domain: -1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	var count atomic.Int64
	for i := range l.topics {
		if _, err := node.Subscribe(topic(i), typeName, qosOf(0),
			func(samples []bridge.Sample) { count.Add(int64(len(samples))) }); err != nil {
			return err
		}
	}
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	<-interrupted.Done()
	return os.WriteFile(path, strconv.AppendInt(nil, count.Load(), 10), 0o666)
}
