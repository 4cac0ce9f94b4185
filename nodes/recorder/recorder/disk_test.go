package recorder

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/disktest"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/snapshot"
)

// A whole recorder writes to the disk that it is given: splits, snapshots and the lists of bags. When that disk is full
// for a while, what misses is counted as dropped.
func TestRecorderOnADisk(t *testing.T) {
	for _, storage := range []string{"record", "mcap"} {
		inBubble(t, storage, func(t *testing.T) {
			var full atomic.Bool
			disk := &disktest.Disk{Fail: func(_ string, n int) (int, error) {
				if full.Load() && n > 0 {
					return 0, syscall.ENOSPC
				}
				return n, nil
			}}
			net := &bridgetest.Network{}
			node, err := net.Open(bridge.Options{Name: "recorder"})
			require.NoError(t, err)
			o := testOptions(storage)
			o.Snapshot, o.LowSpaceAction = true, diskguard.Pause
			d := newDeckWith(t, net, node, disk, o, "/n")
			p := d.advertise("/n", codec.DefaultQoS())
			d.publish(p, 1, 2)
			taken, err := d.snapshots.TakeNow(t.Context(), snapshot.Trigger{})
			require.NoError(t, err)
			_, _, err = d.split()
			require.NoError(t, err)
			d.publish(p, 3)
			time.Sleep(time.Second)
			full.Store(true)
			d.publish(p, 4)
			time.Sleep(10 * time.Second)
			d.publish(p, 5) // which is written later
			time.Sleep(10 * time.Second)
			require.Equal(t, "NO SPACE", d.state())
			full.Store(false)
			time.Sleep(time.Minute)
			d.publish(p, 6)
			require.NoError(t, d.end())

			entries, err := os.ReadDir(".")
			require.NoError(t, err)
			require.Empty(t, entries, "nothing is written elsewhere")
			for path, data := range disk.Files() {
				require.False(t, strings.HasSuffix(path, codec.ActiveSuffix), path)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, data, 0o644))
			}
			require.Equal(t, []uint32{1, 2}, numbers(t, taken.Path, "/n"))
			require.Equal(t, []uint32{1, 2, 3, 5, 6}, numbers(t, "drive", "/n"))
			require.Contains(t, strings.Join(events(t, "drive"), "\n"),
				"whole recording: received 6, written 5, dropped 1, lost 0")
		})
	}
}
