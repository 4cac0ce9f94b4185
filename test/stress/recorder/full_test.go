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

// TestFullDisk fills a disk, up to min_space and to the last byte. It checks that files are valid and counts add up.
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

// fill records until a disk is full, and checks the recording. reserve is the parameter min_space.
func fill(g *graph, storage, action, reserve string) {
	t := g.t
	mountSmall(t, g.path("small"), "40m")
	ballast := g.path("small/ballast")
	require.NoError(t, os.WriteFile(ballast, make([]byte, 16<<20), 0o666))
	recorder := g.start("recorder", "/imu", "/camera", "-o", "small/drive", "-s", storage, "--low-space-action", action,
		"--min-space", reserve, "--max-bag-size", "4MB", "--chunk-size", "512KiB", "--queue-size", "6MiB")
	publishers := g.startPublishers(load{camera, time.Hour})
	publishers.waitUntilPublishing()
	var printed string
	switch action {
	case "stop":
		printed = recorder.Wait(1)
		require.Contains(t, printed, "free some space")
	case "delete-oldest":
		recorder.Prints("deleted ")
		require.NoError(t, os.Remove(ballast)) // make room for the end of the recording
	case "pause":
		recorder.Prints("recording paused")
		recorder.Prints("messages are dropped")
		require.NoError(t, os.Remove(ballast))
		recorder.Prints("recording resumed:")
		time.Sleep(200 * time.Millisecond)
	}
	var sent uint64
	if action != "stop" {
		sent = sum(publishers.finish().Sent)
		printed = recorder.Interrupt()
	}
	r := g.recording(storage, "small/drive")
	require.Equal(t, len(r.files), r.checkFinished(), printed)
	c, b := r.read(cameraPublishers), r.accounts()
	require.Contains(t, printed, "0 lost in transport")
	require.Equal(t, uint64(c.total()), b.files.Written)
	r.checkTotals(cameraPublishers)
	if action == "stop" && strings.Contains(printed, "no space left on device") {
		// The last file has totals of the file, but no totals of the recording.
		require.Positive(t, b.missing)
		require.Contains(t, printed, fmt.Sprintf(" %d messages, ", c.total()))
		return
	}
	require.Contains(t, printed, fmt.Sprintf(" %d messages, ", b.recording.Written))
	require.Contains(t, printed, fmt.Sprintf(" %d dropped, ", b.recording.Dropped))
	require.Equal(t, b.recording.Received, b.recording.Written+b.recording.Dropped)
	if action == "delete-oldest" {
		require.Contains(t, printed, "deleted ")
		require.Less(t, b.files.Written, b.recording.Written)
		if b.recording.Dropped == 0 {
			require.Equal(t, publishers.lastReport().Sent, c.next, "the newest messages are kept")
		}
	} else {
		require.Equal(t, b.files.Written, b.recording.Written)
		require.Equal(t, b.recording.Dropped, b.dropped+b.missing)
	}
	if action == "pause" {
		require.Positive(t, b.recording.Dropped)
	}
	if action != "stop" {
		require.Equal(t, sent, b.recording.Received)
	}
}

// TestFullDiskToTheEnd interrupts recorders on a full disk, which must delete their oldest files to finish the last
// one.
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
			publishers := g.startPublishers(load{camera, time.Hour})
			publishers.waitUntilPublishing()
			await(t, func() bool { return strings.Count(recorder.Output(), "deleted ") >= 10 })
			sent := sum(publishers.finish().Sent)
			printed := recorder.Interrupt()
			r := g.recording(storage, "small/drive")
			require.Equal(t, len(r.files), r.checkFinished(), printed)
			c, b := r.read(cameraPublishers), r.accounts()
			require.Equal(t, sent, b.recording.Received)
			require.Equal(t, b.recording.Received, b.recording.Written+b.recording.Dropped)
			require.Positive(t, c.total())
			require.Equal(t, uint64(c.total()), b.files.Written)
			r.checkTotals(cameraPublishers)
			require.Less(t, uint64(c.total()), b.recording.Written)
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
		t.Skip("cannot mount a small tmpfs, which needs root: ", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(path, syscall.MNT_DETACH)) })
}
