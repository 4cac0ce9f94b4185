package recorder

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/recorder/internal/snapshot"
)

// Throttled messages are counted, and snapshots have them. Latched topics are not throttled.
func TestRecorderThrottles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("mcap")
		o.Throttle, o.Snapshot, o.SnapshotDuration = []string{"/*=1/3"}, true, 0
		d := newTestRecorder(t, o, "/n", "/map", "/m")
		send := func(topic string, qos codec.QoS, wanted int) {
			p := d.advertise(topic, qos)
			for i := range uint32(10) {
				data, err := cdr.Marshal(&std_msgs.UInt32{Data: i})
				require.NoError(t, err)
				require.NoError(t, p.Publish(data))
			}
			require.Eventually(t, func() bool {
				for _, rec := range d.topics.Topics() {
					if c := rec.Counts(); rec.Channel.Load().Topic == topic {
						return c.Received == uint64(wanted) && c.Throttled == uint64(10-wanted)
					}
				}
				return false
			}, patient, time.Millisecond)
		}
		send("/n", codec.DefaultQoS(), 4)
		send("/map", bridge.LatchedQoS(), 10)
		_, _, err := d.split()
		require.NoError(t, err)
		send("/m", codec.DefaultQoS(), 4)
		taken, err := d.snapshots.TakeNow(t.Context(), snapshot.Trigger{})
		require.NoError(t, err)
		require.NoError(t, d.end())
		require.Equal(t, []uint32{0, 3, 6, 9}, numbers(t, d.path(), "/n"))
		require.Len(t, numbers(t, taken.Path, "/n"), 10)
		require.Contains(t, events(t, "drive/drive_0.mcap"), "throttle /n 6 left out by throttle")
		last := events(t, "drive/drive_1.mcap")
		require.Contains(t, last, "throttle /m 6 left out by throttle")
		require.NotContains(t, last, "throttle /n 6 left out by throttle")
		require.Contains(t, d.printed.String(), "18 messages")
		require.Contains(t, d.printed.String(), "12 throttled, 0 dropped")
	})
}
