package dds

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
)

// The number of threads does not grow with the number of subscriptions.
func TestSubscriptionsShareThreads(t *testing.T) {
	const count = 150
	talker, listener := newNode(t, "talker"), newNode(t, "listener")
	got := make(chan struct{}, count)
	publishers := make([]bridge.Publisher, count)
	before := threads(t)
	for i := range publishers {
		topic := fmt.Sprint("topic", i)
		_, err := listener.Subscribe(topic, bridgetest.BytesType, bridgetest.KeepAll(),
			func([]bridge.Sample) { got <- struct{}{} })
		require.NoError(t, err)
		publishers[i], err = talker.Advertise(topic, bridgetest.BytesType, bridgetest.KeepAll())
		require.NoError(t, err)
	}
	for _, p := range publishers {
		require.Eventually(t, func() bool { return p.Subscribers() == 1 }, patience, time.Millisecond)
		require.NoError(t, p.Publish(bridgetest.Pattern(100, 0)))
	}
	for range count {
		<-got
	}
	require.Less(t, threads(t)-before, count/3)
}

// A worker that was replaced while its handler was stuck gives back its unhandled samples. They come before newer
// samples.
func TestDepthWhileAHandlerWaits(t *testing.T) {
	t.Parallel()
	const depth = 600     // QoS depth of the subscription
	const batchSize = 512 // DELIVERY_SIZE: most samples of one call of the handler
	talker, listener := newNode(t, "talker"), newNode(t, "listener")
	q := codec.DefaultQoS()
	q.Depth = depth
	calls, goOn := make(chan []uint64, 100), make(chan struct{})
	defer close(goOn)
	s, err := listener.Subscribe("bytes", bridgetest.BytesType, q, func(batch []bridge.Sample) {
		var sequences []uint64
		for _, sample := range batch {
			sequences = append(sequences, sample.Sequence)
		}
		calls <- sequences
		<-goOn
	})
	require.NoError(t, err)
	p, err := talker.Advertise("bytes", bridgetest.BytesType, bridgetest.KeepAll())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return p.Subscribers() == 1 }, patience, time.Millisecond)
	var last uint64
	for _, c := range []struct {
		more     uint64 // number of messages to publish
		from, to uint64 // first and last sequence number of the next call of the handler
	}{
		// The handler gets the first sample, and does not return.
		{more: 1, from: 1, to: 1},
		// The cache holds the samples that come meanwhile. The next call gets a full batch; 88 samples remain.
		{more: depth, from: 2, to: batchSize + 1},
		// The worker gives the 88 samples back, before the 600 that came meanwhile. The cache drops the oldest 88.
		{more: depth, from: depth + 2, to: depth + batchSize + 1},
		// The last call gets the rest.
		{more: 0, from: depth + batchSize + 2, to: 2*depth + 1},
	} {
		worker := listener.worker()
		for range c.more {
			require.NoError(t, p.Publish(bridgetest.Pattern(100, 0)))
		}
		if last > 0 {
			goOn <- struct{}{}
		}
		got := <-calls
		require.Equal(t, [2]uint64{c.from, c.to}, [2]uint64{got[0], got[len(got)-1]})
		require.Len(t, got, int(c.to-c.from+1))
		last = c.to
		require.Eventually(t, func() bool { return listener.worker() != worker }, patience, time.Millisecond)
	}
	require.Equal(t, uint64(depth-batchSize), s.Lost())
}

// While a handler has a sample, Delivered stays before the sample's time of reception. Without samples it advances.
func TestDelivered(t *testing.T) {
	t.Parallel()
	talker, listener := newNode(t, "talker"), newNode(t, "listener")
	received, goOn := make(chan int64, 1), make(chan struct{})
	defer close(goOn)
	_, err := listener.Subscribe("bytes", bridgetest.BytesType, bridgetest.KeepAll(), func(batch []bridge.Sample) {
		received <- batch[0].Received
		<-goOn
	})
	require.NoError(t, err)
	p, err := talker.Advertise("bytes", bridgetest.BytesType, bridgetest.KeepAll())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return p.Subscribers() == 1 }, patience, time.Millisecond)
	for range 3 {
		before := bridge.Now()
		require.Eventually(t, func() bool { return listener.Delivered() > before }, patience, time.Millisecond)
		worker := listener.worker()
		require.NoError(t, p.Publish(bridgetest.Pattern(100, 0)))
		at := <-received
		require.Less(t, listener.Delivered(), at)
		require.Eventually(t, func() bool { return listener.worker() != worker }, patience, time.Millisecond)
		require.Less(t, listener.Delivered(), at,
			"the new worker must not make Delivered pass a sample that a handler has")
		goOn <- struct{}{}
		require.Eventually(t, func() bool { return listener.Delivered() > at }, patience, time.Millisecond)
	}
}

// worker returns the current worker.
func (n *node) worker() *worker {
	n.dispatcher.mu.Lock()
	defer n.dispatcher.mu.Unlock()
	return n.dispatcher.current
}

// threads returns the number of threads of this process.
func threads(t *testing.T) int {
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	return len(tasks)
}
