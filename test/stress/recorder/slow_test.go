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

// camera is a load that takes more than a slow disk, 20 MB/s, beside one that does not.
var camera = []topic{
	{"/imu", 2, 500, 100},
	{"/camera", 1, 40, 500_000},
}

const cameraPublishers = 3

// throttle returns a hook for a disk of so many bytes per second.
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

// TestSlowDisk records more than the disk takes, until something is dropped: publishers and transport do not wait. What
// is dropped is counted, and is of the topic that needs most.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	recorder := g.startOn(throttle(4_000_000), "/imu", "/camera", "-o", "drive", "--queue-size", "8MiB", "--chunk-size",
		"1MiB")
	from := g.publish(load{camera, time.Hour})
	from.begun()
	recorder.Prints("messages are dropped")
	slow := from.finish()
	printed := recorder.Interrupt()
	r := g.recording("record", "drive")
	require.Contains(t, printed, " 0 lost in transport")

	require.Equal(t, len(r.parts), r.finished())
	c := r.read(cameraPublishers)
	require.Equal(t, slow.Sent[:2], c.whole[:2], "of what takes little nothing is dropped")
	require.Less(t, c.count[2], slow.Sent[2])
	sent, written := sum(slow.Sent), uint64(c.total())
	require.Equal(t, accounts{files: codec.Totals{Received: sent, Written: written, Dropped: sent - written},
		dropped: sent - written}, r.accounts())
	require.Contains(t, printed, fmt.Sprintf(" %d messages, ", written))
	require.Contains(t, printed, fmt.Sprintf(" %d dropped, ", sent-written))
}

func sum(counts []int) (n uint64) {
	for _, count := range counts {
		n += uint64(count)
	}
	return n
}

// TestHungDisk has the disk do nothing for two seconds or more, as cards do that tidy up. Publishers notice nothing of
// it, and there is room for what comes meanwhile.
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
	from := g.publish(load{camera, time.Hour})
	from.begun()
	receives := func(images int) {
		t.Helper()
		until := from.acked(2) + images
		require.Eventually(t, func() bool { return from.acked(2) >= until }, process.Patience, 20*time.Millisecond)
	}
	receives(20)
	hangs.Store(true)
	receives(80)
	hangs.Store(false)
	close(release)
	receives(20)
	source := from.finish()
	require.Contains(t, recorder.Interrupt(), " 0 dropped, 0 lost in transport")
	r := g.recording("record", "drive")
	require.Equal(t, len(r.parts), r.finished())
	c := r.read(cameraPublishers)
	require.Equal(t, source.Sent, c.whole)
	require.Equal(t, source.Sent, c.count)
}

// TestBrokenDisk has the disk fail for a moment. What was written before is there, what is missing is said, and
// recording continues in another file when it should.
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
			from := g.publish(load{camera, time.Hour})
			from.begun()
			var printed string
			if action == "stop" {
				printed = recorder.Wait(1)
			} else {
				recorder.Prints("recording continues in")
				until := from.acked(2) + 5
				require.Eventually(t, func() bool { return from.acked(2) >= until }, process.Patience,
					20*time.Millisecond)
				from.finish()
				printed = recorder.Interrupt()
			}
			require.Contains(t, printed, "input/output error")
			r := g.recording("record", "drive")
			require.Equal(t, len(r.parts), r.finished())
			c, b := r.read(cameraPublishers), r.accounts()
			require.Positive(t, b.missing)
			require.Contains(t, printed, fmt.Sprintf(" %d messages, ", c.total()))
			if action == "pause" {
				sent, written := sum(from.last().Sent), uint64(c.total())
				require.Equal(t, codec.Totals{Received: sent, Written: written, Dropped: sent - written}, b.whole)
				require.Equal(t, sent-written, b.missing+b.dropped)
			}
		})
	}
}
