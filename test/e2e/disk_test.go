package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// mountSmall mounts a small disk at g.path("small").
func (g *graph) mountSmall(size string) {
	path := g.path("small")
	require.NoError(g.t, os.Mkdir(path, 0o755))
	if err := syscall.Mount("tmpfs", path, "tmpfs", 0, "size="+size); err != nil {
		g.t.Skip("cannot mount a small tmpfs, which needs root: ", err)
	}
	g.t.Cleanup(func() { require.NoError(g.t, syscall.Unmount(path, 0)) })
}

// big returns a numbered payload of 100 kB.
func big(i uint32) []byte { return append(numbered(i), make([]byte, 100_000-64)...) }

// numberOf returns the number in a payload of big or numbered.
func numberOf(data []byte) uint32 {
	return uint32(data[4]) | uint32(data[5])<<8 | uint32(data[6])<<16 | uint32(data[7])<<24
}

// files returns the files of a recording in order, complete or not.
func (g *graph) files(pattern string) []string {
	list, err := filepath.Glob(g.path(pattern))
	require.NoError(g.t, err)
	// drive_9.mcap comes before drive_10.mcap.
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return list
}

// eventsOf returns the events of one kind in a recording.
func eventsOf(t *testing.T, path, kind string) (events []codec.Event) {
	for _, e := range infoOf(t, path).Events {
		if e.Kind == kind {
			events = append(events, e)
		}
	}
	return events
}

// publishBig publishes the messages big(from) to big(to-1).
func (g *graph) publishBig(p bridge.Publisher, from, to uint32) {
	for i := from; i < to; i++ {
		require.NoError(g.t, p.Publish(big(i)))
		time.Sleep(2 * time.Millisecond)
	}
	require.NoError(g.t, p.Flush(g.t.Context()))
}

// TestRecorderStopsBeforeTheDiskIsFull checks that the recorder ends with a complete recording if min_space is reached,
// and does not start with less space.
func TestRecorderStopsBeforeTheDiskIsFull(t *testing.T) {
	t.Parallel()
	for storage, path := range map[string]string{"record": "small/drive.record.00000", "mcap": "small/drive"} {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			g := isolate(t)
			g.mountSmall("60m")
			recorder := g.start("recorder", "/n", "-o", "small/drive", "-s", storage, "--min-space", "30MB",
				"--sync-interval",
				"50ms")
			p := g.advertise(g.open("publisher"), "/n", "test_msgs/msg/Big", keepAll())
			for i := uint32(0); i < 500; i++ {
				require.NoError(t, p.Publish(big(i)))
				time.Sleep(5 * time.Millisecond)
				if p.Subscribers() == 0 {
					break
				}
			}
			out := recorder.Wait(1)
			require.Contains(t, out, "free some space")
			require.Contains(t, out, "0 dropped, 0 lost in transport")
			path := g.path(path)
			require.True(t, infoOf(t, path).Complete)
			kept := messages(t, path)["/n"]
			require.Greater(t, len(kept), 200)
			for i, data := range kept {
				require.Equal(t, uint32(i), numberOf(data))
			}
			require.Len(t, eventsOf(t, path, codec.EventDisk), 1)

			recorder = g.start("recorder", "/n", "-o", "small/again", "-s", storage, "--min-space", "60%")
			require.Contains(t, recorder.Wait(1), "less than")
			require.NoFileExists(t, g.path("small/again.record.00000"))
			require.NoDirExists(t, g.path("small/again"))
		})
	}
}

// TestRecorderWaitsForSpace checks that the recorder pauses on a full disk, continues when there is space, and counts
// the missing messages.
func TestRecorderWaitsForSpace(t *testing.T) {
	t.Parallel()
	for name, reserve := range map[string]string{"before the disk is full": "20MB", "when it is full": "0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := isolate(t)
			g.mountSmall("60m")
			require.NoError(t, os.WriteFile(g.path("small/ballast"), make([]byte, 30<<20), 0o644))
			recorder := g.start("recorder", "/n", "-o", "small/drive", "--min-space", reserve, "--low-space-action",
				"pause",
				"--sync-interval", "50ms")
			p := g.advertise(g.open("publisher"), "/n", "test_msgs/msg/Big", keepAll())
			sent := uint32(250) // the disk has space for these
			if reserve == "0" {
				sent = 350
			}
			g.publishBig(p, 0, sent)
			recorder.Prints("recording paused")
			require.NoError(t, os.Remove(g.path("small/ballast")))
			recorder.Prints("recording resumed")
			g.publishBig(p, sent, sent+10)
			out := recorder.Interrupt()
			var got []uint32
			missing := uint64(0)
			paths := g.files("small/drive.record.*")
			for _, path := range paths {
				for _, data := range messages(t, path)["/n"] {
					got = append(got, numberOf(data))
				}
				for _, e := range eventsOf(t, path, codec.EventDisk) {
					missing += e.Count
				}
				require.True(t, infoOf(t, path).Complete, path)
			}
			require.IsIncreasing(t, got, "messages are written twice or out of order")
			require.Len(t, got, int(sent)+10-int(missing), out)
			if reserve == "20MB" {
				require.Zero(t, missing)
				require.Len(t, paths, 1)
			} else {
				require.Len(t, paths, 2)
			}
		})
	}
}

// TestRecorderDeletesOldFiles checks that the recorder deletes its oldest files to keep min_space free.
func TestRecorderDeletesOldFiles(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	g.mountSmall("60m")
	const reserve = 30_000_000
	recorder := g.start("recorder", "/n", "-o", "small/drive", "-s", "mcap", "--max-bag-size", "5MB", "--min-space",
		fmt.Sprint(reserve),
		"--low-space-action", "delete-oldest", "--sync-interval", "50ms")
	p := g.advertise(g.open("publisher"), "/n", "test_msgs/msg/Big", keepAll())
	const count = 550 // the disk has space for these
	g.publishBig(p, 0, count)
	recorder.Prints("deleted ")
	await(t, func() bool { return free(t, g.path("small")) >= reserve })
	out := recorder.Interrupt()
	require.Contains(t, out, "deleted ", out)
	require.Contains(t, out, "0 dropped, 0 lost in transport")
	kept := messages(t, g.path("small/drive"))["/n"]
	require.Greater(t, len(kept), 200)
	require.Less(t, len(kept), 350)
	for i, data := range kept {
		require.Equal(t, uint32(count-len(kept)+i), numberOf(data), "kept messages are not the newest, each once")
	}
	require.True(t, infoOf(t, g.path("small/drive")).Complete)
}

// TestSplitsUnderLoad checks that no message is lost or repeated when files follow each other quickly, and that each
// file begins with latched messages.
func TestSplitsUnderLoad(t *testing.T) {
	t.Parallel()
	for _, storage := range []string{"record", "mcap"} {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			g := isolate(t)
			recorder := g.start("recorder", "/a", "/b", "/map", "-o", "drive", "-s", storage, "--max-bag-size", "300KB")
			node := g.open("publisher")
			latched := g.advertise(node, "/map", "test_msgs/msg/Numbered", bridge.LatchedQoS())
			require.NoError(t, latched.Publish(numbered(7)))
			require.NoError(t, latched.Flush(t.Context()))
			a := g.advertise(node, "/a", "test_msgs/msg/Numbered", keepAll())
			b := g.advertise(node, "/b", "test_msgs/msg/Numbered", keepAll())
			const count = 30000
			for i := range uint32(count) {
				require.NoError(t, a.Publish(numbered(i)))
				require.NoError(t, b.Publish(numbered(i)))
			}
			require.NoError(t, a.Flush(t.Context()))
			require.NoError(t, b.Flush(t.Context()))
			require.Contains(t, recorder.Interrupt(), "0 dropped, 0 lost in transport")
			paths := g.files(map[string]string{"record": "drive.record.*", "mcap": "drive/*.mcap"}[storage])
			require.Greater(t, len(paths), 10)
			next := map[string]uint32{}
			for _, path := range paths {
				require.False(t, strings.HasSuffix(path, codec.ActiveSuffix), path)
				info := infoOf(t, path)
				require.True(t, info.Complete)
				require.Less(t, info.Size, int64(400_000))
				all := messages(t, path)
				require.Equal(t, [][]byte{numbered(7)}, all["/map"], "%s does not have the latched message", path)
				for _, topic := range []string{"/a", "/b"} {
					for _, data := range all[topic] {
						require.Equal(t, next[topic], numberOf(data), "a message is lost or repeated")
						next[topic]++
					}
				}
			}
			require.Equal(t, map[string]uint32{"/a": count, "/b": count}, next)
		})
	}
}

// TestKillAfterTheSyncInterval checks that messages are on the disk after the sync interval, although their chunk is
// not full: it kills the recorder then.
func TestKillAfterTheSyncInterval(t *testing.T) {
	t.Parallel()
	for _, storage := range []string{"record", "mcap"} {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			g := isolate(t)
			recorder := g.start("recorder", "/n", "-o", "drive", "-s", storage, "--sync-interval", "300ms",
				"--chunk-duration",
				"1h", "--max-bag-messages", "300")
			p := g.advertise(g.open("publisher"), "/n", "test_msgs/msg/Numbered", keepAll())
			const count = 1000
			for i := range uint32(count) {
				require.NoError(t, p.Publish(numbered(i)))
			}
			paths := func() []string {
				return g.files(map[string]string{"record": "drive.record.*", "mcap": "drive/*.mcap*"}[storage])
			}
			await(t, func() bool { // until the recorder has renamed all complete files
				unfinished := slices.DeleteFunc(paths(), func(path string) bool {
					return !strings.HasSuffix(path, codec.ActiveSuffix)
				})
				return len(paths()) == 4 && len(unfinished) == 1
			})
			kept := func() (all [][]byte) {
				for n := range paths() {
					path := g.path(fmt.Sprintf(map[string]string{"record": "drive.record.%05d",
						"mcap": "drive/drive_%d.mcap"}[storage], n))
					all = append(all, messages(t, path)["/n"]...)
				}
				return all
			}
			await(t, func() bool { return len(kept()) == count })
			recorder.Kill()
			all := kept()
			require.Len(t, all, count)
			for i, data := range all {
				require.Equal(t, uint32(i), numberOf(data))
			}
		})
	}
}
