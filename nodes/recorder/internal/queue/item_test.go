package queue

import (
	"tapedeck/bridge"
	"tapedeck/codec"
)

// newTopic returns a topic with a name.
func newTopic(name string) *Topic { return NewTopic(&codec.Channel{Topic: name}) }

// testItem returns an item of size bytes received at t, and counts how often its payload is freed.
func testItem(topic *Topic, t int64, size int) (*Item, *int) {
	freed := new(int)
	sample := bridge.Sample{Data: make([]byte, size), Received: t, Memory: countFrees{freed}}
	return topic.NewItem(&sample, t), freed
}

type countFrees struct{ n *int }

func (c countFrees) Free(uintptr) { *c.n++ }
