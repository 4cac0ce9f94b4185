package main

import "tapedeck/bridge"

// testItem returns an item of size bytes received at t, and a count of how often its payload was given back.
func testItem(t int64, size int, refs int32) (*item, *int) {
	freed := new(int)
	sample := bridge.Sample{Data: make([]byte, size), ReceiveTime: t, Memory: countFrees{freed}}
	return newItem(new(stream), &sample, t, refs), freed
}

type countFrees struct{ n *int }

func (c countFrees) Free(uintptr) { *c.n++ }
