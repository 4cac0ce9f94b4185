package player

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/test/internal/process"
)

func keepAll() codec.QoS {
	qos := codec.DefaultQoS()
	qos.History, qos.Depth = codec.KeepAll, 0
	return qos
}

func latched() codec.QoS {
	qos := codec.DefaultQoS()
	qos.Depth, qos.Durability = 1, codec.TransientLocal
	return qos
}

// heard has the messages that a subscription received.
type heard struct {
	g   *graph
	sub bridge.Subscription

	mu       sync.Mutex
	payloads [][]byte
	arrived  chan struct{} // has a value after a message has arrived
}

// hear subscribes to a topic.
func (g *graph) hear(node bridge.Node, topic, typeName string, qos codec.QoS) *heard {
	g.t.Helper()
	h := &heard{g: g, arrived: make(chan struct{}, 1)}
	var err error
	h.sub, err = node.Subscribe(topic, typeName, qos, func(samples []bridge.Sample) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, s := range samples {
			h.payloads = append(h.payloads, slices.Clone(s.Data))
		}
		select {
		case h.arrived <- struct{}{}:
		default:
		}
	})
	require.NoError(g.t, err)
	return h
}

func (h *heard) all() [][]byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.payloads)
}

func (h *heard) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.payloads)
}

// numbers returns the numbers of the messages from index from on.
func (h *heard) numbers(from int) []int {
	h.g.t.Helper()
	list := []int{}
	for _, data := range h.all()[from:] {
		list = append(list, h.g.number(data))
	}
	return list
}

// wait waits until count messages have arrived.
func (h *heard) wait(count int) {
	h.g.t.Helper()
	deadline := time.After(process.Patience)
	for h.count() < count {
		select {
		case <-h.arrived:
		case <-deadline:
			require.FailNow(h.g.t, "too few messages", "%s: %d of %d", h.sub.Topic(), h.count(), count)
		}
	}
}

// waitLast waits until the last message has the number.
func (h *heard) waitLast(number int) {
	h.g.t.Helper()
	deadline := time.After(process.Patience)
	for {
		if all := h.all(); len(all) > 0 && h.g.number(all[len(all)-1]) == number {
			return
		}
		select {
		case <-h.arrived:
		case <-deadline:
			require.FailNow(h.g.t, "the last message is another", "%s: not %d: %v", h.sub.Topic(), number, h.numbers(0))
		}
	}
}

const numberType = "std_msgs/msg/UInt32"

// number returns the number in a payload.
func (g *graph) number(data []byte) int {
	g.t.Helper()
	require.GreaterOrEqual(g.t, len(data), 8)
	return int(binary.LittleEndian.Uint32(data[4:]))
}
