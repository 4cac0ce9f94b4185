package recorder

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/test/internal/process"
)

// TestFullDisk fills a disk, up to min_space and to the last byte. Files are valid, and the counts add up.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for i, action := range []string{"stop", "delete-oldest", "pause"} {
		for j, reserve := range []string{"0", "6MB"} {
			storage := storages[(i+j)%len(storages)]
			t.Run(fmt.Sprintf("%s at %s %s", action, reserve, storage), func(t *testing.T) {
				t.Parallel()
				fill(newGraph(t), storage, action, reserve)
			})
		}
	}
}

func fill(g *graph, storage, action, reserve string) {
	t := g.t
	mountSmall(t, g.path("small"), "40m")
	ballast := g.path("small/ballast")
	require.NoError(t, os.WriteFile(ballast, make([]byte, 16<<20), 0o666))
	recorder := g.start("recorder", "/imu", "/camera", "-o", "small/drive", "-s", storage, "--low-space-action", action,
		"--min-space", reserve, "--max-bag-size", "4MB", "--chunk-size", "512KiB", "--queue-size", "6MiB")
	source := g.publish(load{camera, time.Hour})
	source.begun()
	var printed string
	switch action {
	case "stop":
		printed = recorder.Wait(1)
		require.Contains(t, printed, "free some space")
	case "delete-oldest":
		recorder.Prints("deleted ")
		require.NoError(t, os.Remove(ballast)) // so that there is room for the end
	case "pause":
		recorder.Prints("recording paused")
		recorder.Prints("messages are dropped")
		require.NoError(t, os.Remove(ballast))
		recorder.Prints("recording resumed:")
		time.Sleep(200 * time.Millisecond)
	}
	var sent uint64
	if action != "stop" {
		sent = sum(source.finish().Sent)
		printed = recorder.Interrupt()
	}
	r := g.recording(storage, "small/drive")
	require.Equal(t, len(r.parts), r.finished(), printed)
	c, b := r.read(cameraPublishers), r.accounts()
	require.Contains(t, printed, "0 lost in transport")
	require.Equal(t, uint64(c.total()), b.files.Written)
	r.checkTotals(cameraPublishers)
	if action == "stop" && strings.Contains(printed, "no space left on device") {
		// The last file has its totals, but the recording ended without those of the whole.
		require.Positive(t, b.missing)
		require.Contains(t, printed, fmt.Sprintf(" %d messages, ", c.total()))
		return
	}
	require.Contains(t, printed, fmt.Sprintf(" %d messages, ", b.whole.Written))
	require.Contains(t, printed, fmt.Sprintf(" %d dropped, ", b.whole.Dropped))
	require.Equal(t, b.whole.Received, b.whole.Written+b.whole.Dropped)
	if action == "delete-oldest" {
		require.Contains(t, printed, "deleted ")
		require.Less(t, b.files.Written, b.whole.Written)
		if b.whole.Dropped == 0 {
			require.Equal(t, source.last().Sent, c.next, "the newest are kept")
		}
	} else {
		require.Equal(t, b.files.Written, b.whole.Written)
		require.Equal(t, b.whole.Dropped, b.dropped+b.missing)
	}
	if action == "pause" {
		require.Positive(t, b.whole.Dropped)
	}
	if action != "stop" {
		require.Equal(t, sent, b.whole.Received)
	}
}

// TestFullDiskToTheEnd interrupts recorders of which only the oldest files make room, also for the end.
func TestFullDiskToTheEnd(t *testing.T) {
	t.Parallel()
	for _, storage := range storages {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			g := newGraph(t)
			mountSmall(t, g.path("small"), "16m")
			recorder := g.start("recorder", "/imu", "/camera", "-o", "small/drive", "-s", storage,
				"--low-space-action", "delete-oldest",
				"--min-space", "0", "--max-bag-size", "1MB", "--chunk-size", "128KiB", "--queue-size", "6MiB")
			source := g.publish(load{camera, time.Hour})
			source.begun()
			await(t, func() bool { return strings.Count(recorder.Output(), "deleted ") >= 10 })
			sent := sum(source.finish().Sent)
			printed := recorder.Interrupt()
			r := g.recording(storage, "small/drive")
			require.Equal(t, len(r.parts), r.finished(), printed)
			c, b := r.read(cameraPublishers), r.accounts()
			require.Equal(t, sent, b.whole.Received)
			require.Equal(t, b.whole.Received, b.whole.Written+b.whole.Dropped)
			require.Positive(t, c.total())
			require.Equal(t, uint64(c.total()), b.files.Written)
			r.checkTotals(cameraPublishers)
			require.Less(t, uint64(c.total()), b.whole.Written)
		})
	}
}

// await waits until a condition holds.
func await(t *testing.T, condition func() bool) {
	t.Helper()
	for began := time.Now(); !condition(); time.Sleep(10 * time.Millisecond) {
		require.Less(t, time.Since(began), process.Patience)
	}
}

// mountSmall mounts a small disk at path.
func mountSmall(t *testing.T, path, size string) {
	t.Helper()
	require.NoError(t, os.Mkdir(path, 0o755))
	if err := syscall.Mount("tmpfs", path, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("a small tmpfs cannot be mounted here, only root may: ", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(path, syscall.MNT_DETACH)) })
}
