package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/queue"
)

// Uploads wait for a queue that is nearly full, but not for ever.
func TestHoldUpload(t *testing.T) {
	r := &recorder{queue: queue.New(2000)}
	topic := queue.NewTopic(&codec.Channel{Topic: "/a"})
	it := topic.NewItem(&bridge.Sample{Data: make([]byte, 1500)}, 1)
	require.Empty(t, r.queue.Push(topic, []*queue.Item{it}, nil))
	began := time.Now()
	r.holdUpload(t.Context())
	require.GreaterOrEqual(t, time.Since(began), uploadHeld)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.holdUpload(ctx)
	r.queue.Pop(2000, nil)
	r.queue.Done(it.Size())
	r.holdUpload(t.Context())
}
