package recorder

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/test/internal/disk"
	"tapedeck/test/internal/process"
)

// camera has a topic of 20 MB/s, which is too much for a slow disk, and a topic of 0.1 MB/s.
var camera = []topic{
	{"/imu", 2, 500, 100},
	{"/camera", 1, 40, 500_000},
}

const cameraPublishers = 3

// throttle returns a hook for a disk that writes rate bytes per second.
func throttle(rate int) func(disk.Call) error {
	var mu sync.Mutex
	var free time.Time // when the disk has finished all requests
	return func(c disk.Call) error {
		mu.Lock()
		if now := time.Now(); free.Before(now) {
			free = now
		}
		free = free.Add(time.Duration(c.Size) * time.Second / time.Duration(rate))
		until := free
		mu.Unlock()
		time.Sleep(time.Until(until))
		return nil
	}
}

// TestSlowDisk records more than the disk takes, until messages are dropped: publishers and transport do not wait. It
// checks that dropped messages are counted, and that all of them are of the largest topic.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	recorder := g.startOn(throttle(4_000_000), "/imu", "/camera", "-o", "drive", "--queue-size", "8MiB", "--chunk-size",
		"1MiB")
	publishers := g.startPublishers(load{camera, time.Hour})
	publishers.waitUntilPublishing()
	recorder.Prints("messages are dropped")
	last := publishers.finish()
	printed := recorder.Interrupt()
	r := g.recording("record", "drive")
	require.Contains(t, printed, " 0 lost in transport")

	require.Equal(t, len(r.files), r.checkFinished())
	c := r.read(cameraPublishers)
	require.Equal(t, last.Sent[:2], c.complete[:2], "no message of the small topic is dropped")
	require.Less(t, c.count[2], last.Sent[2])
	sent, written := sum(last.Sent), uint64(c.total())
	require.Equal(t, accounts{files: codec.Totals{Received: sent, Written: written, Dropped: sent - written},
		dropped: sent - written}, r.accounts())
	require.Contains(t, printed, fmt.Sprintf(" %d messages, ", written))
	require.Contains(t, printed, fmt.Sprintf(" %d dropped, ", sent-written))
}

// sum returns the sum of counts.
func sum(counts []int) (n uint64) {
	for _, count := range counts {
		n += uint64(count)
	}
	return n
}

// TestHungDisk lets the disk hang for two seconds or more, as flash cards do when they collect garbage. It checks that
// publishers do not wait and that no message is lost.
func TestHungDisk(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	var hangs atomic.Bool
	release := make(chan struct{})
	hook := func(disk.Call) error {
		if hangs.Load() {
			<-release
		}
		return nil
	}
	recorder := g.startOn(hook, "/imu", "/camera", "-o", "drive", "--sync-interval", "100ms", "--max-bag-duration",
		"200ms")
	publishers := g.startPublishers(load{camera, time.Hour})
	publishers.waitUntilPublishing()
	awaitImages := func(images int) {
		t.Helper()
		until := publishers.acked(2) + images
		require.Eventually(t, func() bool { return publishers.acked(2) >= until }, process.Patience,
			20*time.Millisecond)
	}
	awaitImages(20)
	hangs.Store(true)
	awaitImages(80)
	hangs.Store(false)
	close(release)
	awaitImages(20)
	last := publishers.finish()
	require.Contains(t, recorder.Interrupt(), " 0 dropped, 0 lost in transport")
	r := g.recording("record", "drive")
	require.Equal(t, len(r.files), r.checkFinished())
	c := r.read(cameraPublishers)
	require.Equal(t, last.Sent, c.complete)
	require.Equal(t, last.Sent, c.count)
}

// TestBrokenDisk lets one write fail. It checks that the messages before it are kept, that missing messages are
// counted, and that recording continues in another file if low_space_action is pause.
func TestBrokenDisk(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"stop", "pause"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			g := newGraph(t)
			var bytes, failures atomic.Int64
			hook := func(c disk.Call) error {
				if bytes.Add(int64(c.Size)) > 5_000_000 && failures.Add(1) == 1 {
					return syscall.EIO
				}
				return nil
			}
			recorder := g.startOn(hook, "/imu", "/camera", "-o", "drive", "--low-space-action", action, "--chunk-size",
				"2MiB")
			publishers := g.startPublishers(load{camera, time.Hour})
			publishers.waitUntilPublishing()
			var printed string
			if action == "stop" {
				printed = recorder.Wait(1)
			} else {
				recorder.Prints("recording continues in")
				until := publishers.acked(2) + 5
				require.Eventually(t, func() bool { return publishers.acked(2) >= until }, process.Patience,
					20*time.Millisecond)
				publishers.finish()
				printed = recorder.Interrupt()
			}
			require.Contains(t, printed, "input/output error")
			r := g.recording("record", "drive")
			require.Equal(t, len(r.files), r.checkFinished())
			c, b := r.read(cameraPublishers), r.accounts()
			require.Positive(t, b.missing)
			require.Contains(t, printed, fmt.Sprintf(" %d messages, ", c.total()))
			if action == "pause" {
				sent, written := sum(publishers.lastReport().Sent), uint64(c.total())
				require.Equal(t, codec.Totals{Received: sent, Written: written, Dropped: sent - written}, b.recording)
				require.Equal(t, sent-written, b.missing+b.dropped)
			}
		})
	}
}
