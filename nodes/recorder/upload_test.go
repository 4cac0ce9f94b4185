package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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

// Folders that are in each other, or the same, are uploaded by one process at a time.
func TestLockFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"day/drive", "day/other"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o777))
	}
	require.NoError(t, os.Symlink("day", filepath.Join(dir, "link")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "day/drive/file"), nil, 0o666))
	for _, c := range []struct {
		first, second string
		excluded      bool
	}{
		{"day", "day", true}, {"day", "day/drive", true}, {"day/drive", "day", true}, {".", "day/drive", true},
		{"link", "day/drive", true}, {"day/drive/file", "day/drive", true}, {"day/drive", "day/other", false},
	} {
		unlock, err := lockFolder(filepath.Join(dir, c.first))
		require.NoError(t, err, c)
		again, err := lockFolder(filepath.Join(dir, c.second))
		require.Equal(t, c.excluded, errors.Is(err, codec.ErrLocked), c)
		if err == nil {
			again()
		}
		unlock()
		again, err = lockFolder(filepath.Join(dir, c.second))
		require.NoError(t, err, c)
		again()
	}
	_, err := lockFolder(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}
