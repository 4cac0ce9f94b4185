package dds

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
)

func TestSubscriptionsShareThreads(t *testing.T) {
	const count = 150
	talker, listener := newNode(t, "talker"), newNode(t, "listener")
	got := make(chan struct{}, count)
	publishers := make([]bridge.Publisher, count)
	before := threads(t)
	for i := range publishers {
		topic := fmt.Sprint("topic", i)
		_, err := listener.Subscribe(topic, bytesType, keepAll(), func([]bridge.Sample) { got <- struct{}{} })
		require.NoError(t, err)
		publishers[i], err = talker.Advertise(topic, bytesType, keepAll())
		require.NoError(t, err)
	}
	for _, p := range publishers {
		require.Eventually(t, func() bool { return p.Subscribers() == 1 }, patience, time.Millisecond)
		require.NoError(t, p.Publish(pattern(100, 0)))
	}
	for range count {
		<-got
	}
	require.Less(t, threads(t)-before, count/3)
}

// threads returns how many threads this process has.
func threads(t *testing.T) int {
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	return len(tasks)
}
