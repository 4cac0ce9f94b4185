package recorder

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/queue"
)

// Uploads wait while the queue is more than half full, but not for ever.
func TestHoldUpload(t *testing.T) {
	r := &recorder{queue: queue.New(2000)}
	topic := queue.NewTopic(&codec.Channel{Topic: "/a"})
	item := topic.NewItem(&bridge.Sample{Data: make([]byte, 1500), Received: 1}, 1)
	require.Empty(t, r.queue.Push(topic, []*queue.Item{item}, nil))
	began := time.Now()
	r.holdUpload(t.Context())
	require.GreaterOrEqual(t, time.Since(began), uploadHeld)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.holdUpload(ctx)
	r.queue.Pop(2000, nil)
	r.queue.Done(item.Size())
	r.holdUpload(t.Context())
}

// An upload starts even if a program has locked the folder and the folders above it.
func TestUploadInALockedFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "day")
	require.NoError(t, os.Mkdir(dir, 0o777))
	for _, path := range []string{dir, filepath.Dir(dir)} {
		folder, err := os.Open(path)
		require.NoError(t, err)
		defer folder.Close()
		require.NoError(t, codec.Lock(folder))
	}
	o := uploadCommandOptions{Parallel: 1}
	require.ErrorContains(t, o.upload(t.Context(), []string{dir, "s3://fleet"}), "there is no recording in "+dir)
}
