package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/queue"
)

// A subscription that takes the place of another one hears again what came while both listened.
func TestStreamTakesInOnce(t *testing.T) {
	for name, number := range map[string]func(i int) uint64{
		"with sequence numbers": func(i int) uint64 { return uint64(i) },
		"without":               func(int) uint64 { return 0 },
	} {
		t.Run(name, func(t *testing.T) {
			node, err := new(bridgetest.Network).Open(bridge.Options{Name: "recorder"})
			require.NoError(t, err)
			defer node.Close()
			clock, err := bridge.NewSimTime(node)
			require.NoError(t, err)
			s := newStream(&codec.Channel{Topic: "/n"}, queue.New(1<<20), clock)
			now := time.Now().UnixNano()
			take := func(publisher byte, from, to int) {
				for i := from; i <= to; i++ {
					sample := bridge.Sample{Data: []byte{byte(i)}, Publisher: bridge.GUID{publisher}, Sequence: number(i),
						SourceTime: now + int64(i), ReceiveTime: now + int64(i)}
					s.take([]bridge.Sample{sample})
				}
			}
			take(1, 1, 5)
			take(2, 1, 3)
			s.replace(now + 6)
			take(1, 3, 8)
			take(2, 3, 4)
			require.Equal(t, uint64(8+4), s.received.Load())
		})
	}
}
