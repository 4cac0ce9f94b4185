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
	"tapedeck/test/recorder/disk"
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
	var free time.Time // when the disk has done what it was given
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

// record records a load on a disk with that hook until its source ends, nil for the disk as it is.
func (g *graph) record(hook func(disk.Call) error, l load, args ...string) (source report, r *recording, printed string) {
	g.t.Helper()
	recorder := g.startOn(hook, append(args, "--all", "--exclude-regex", "rosout|parameter_events", "-o", "drive")...)
	from := g.publish(l)
	from.begun()
	source = from.last()
	printed = recorder.Interrupt()
	return source, g.recording("record", "drive"), printed
}

// TestSlowDisk records more than the disk takes. Publishers and transport notice nothing of it. What is dropped is counted, and is
// of the topic that needs most.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	l := load{camera, 3 * time.Second}
	fast, _, _ := newGraph(t).record(nil, l)
	g := newGraph(t)
	slow, r, printed := g.record(throttle(4_000_000), l, "--queue-size", "8MiB", "--chunk-size", "1MiB")
	t.Logf("publishers took %v and at most %v for a message, with the slow disk %v and %v",
		fast.Elapsed, fast.Slowest, slow.Elapsed, slow.Slowest)
	require.Less(t, slow.Elapsed, fast.Elapsed+time.Second)
	require.Less(t, slow.Slowest, fast.Slowest+time.Second)
	require.Contains(t, printed, " 0 lost in transport")

	require.Equal(t, len(r.parts), r.finished())
	c := r.read(cameraPublishers)
	require.Equal(t, slow.Sent[:2], c.whole[:2], "of what takes little nothing is dropped")
	require.Less(t, c.count[2], slow.Sent[2])
	sent, written := sum(slow.Sent), uint64(c.total())
	require.Equal(t, books{files: codec.Totals{Received: sent, Written: written, Dropped: sent - written}, dropped: sent - written}, r.books())
	require.Contains(t, printed, fmt.Sprintf(" %d messages, ", written))
	require.Contains(t, printed, fmt.Sprintf(" %d dropped, ", sent-written))
}

func sum(counts []int) (n uint64) {
	for _, count := range counts {
		n += uint64(count)
	}
	return n
}

// TestHungDisk has the disk do nothing for two seconds, as cards do that tidy up. There is room for what comes meanwhile.
func TestHungDisk(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	started := time.Now().Add(time.Hour)
	var mu sync.Mutex
	hook := func(disk.Call) error {
		mu.Lock()
		begin, end := started.Add(500*time.Millisecond), started.Add(2500*time.Millisecond)
		mu.Unlock()
		if now := time.Now(); now.After(begin) {
			time.Sleep(end.Sub(now))
		}
		return nil
	}
	recorder := g.startOn(hook, "/imu", "/camera", "-o", "drive", "--sync-interval", "100ms", "--max-bag-duration", "200ms")
	from := g.publish(load{camera, 4 * time.Second})
	from.begun()
	mu.Lock()
	started = time.Now()
	mu.Unlock()
	source := from.last()
	require.Contains(t, recorder.Interrupt(), " 0 dropped, 0 lost in transport")
	require.Less(t, source.Slowest, time.Second)
	r := g.recording("record", "drive")
	require.Equal(t, len(r.parts), r.finished())
	c := r.read(cameraPublishers)
	require.Equal(t, source.Sent, c.whole)
	require.Equal(t, source.Sent, c.count)
}

// TestBrokenDisk has the disk fail for a moment. What was written before is there, what is missing is said, and recording goes on in
// another file where it is to.
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
			recorder := g.startOn(hook, "/imu", "/camera", "-o", "drive", "--low-space-action", action, "--chunk-size", "2MiB")
			from := g.publish(load{camera, time.Hour})
			from.begun()
			var printed string
			if action == "stop" {
				printed = recorder.Wait(1)
			} else {
				recorder.Prints("recording goes on in")
				time.Sleep(500 * time.Millisecond)
				from.finish()
				printed = recorder.Interrupt()
			}
			require.Contains(t, printed, "input/output error")
			r := g.recording("record", "drive")
			require.Equal(t, len(r.parts), r.finished())
			c, b := r.read(cameraPublishers), r.books()
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
