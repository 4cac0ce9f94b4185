package main

import (
	"sync"
	"testing"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// lingering is a publisher that closes when all others do.
type lingering struct {
	bridge.Publisher
	topic string
	all   *sync.WaitGroup
}

func (l *lingering) Topic() string { return l.topic }

func (l *lingering) Close() error {
	l.all.Done()
	l.all.Wait()
	return nil
}

func TestPublishersCloseTogether(*testing.T) {
	var all sync.WaitGroup
	p := publishers{}
	for _, topic := range []string{"/a", "/b", "/c"} {
		all.Add(1)
		p[&codec.Channel{Topic: topic}] = &publisher{Publisher: &lingering{topic: topic, all: &all}}
	}
	p.close()
}
