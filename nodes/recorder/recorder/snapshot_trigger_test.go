package recorder

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/tapedeck"
	"tapedeck/nodes/internal/graph/remote"
)

// rosbag2's service is called if the recorder is rosbag2's, or if the type of take_snapshot is unknown.
func TestTriggerWithoutTakeSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &bridgetest.Network{}
		recorder, err := net.Open(bridge.Options{Name: "recorder"})
		require.NoError(t, err)
		defer recorder.Close()
		client, err := net.Open(bridge.Options{Name: "client"})
		require.NoError(t, err)
		defer client.Close()
		_, err = recorder.Advertise("events/write_split", remote.Recorder.Publishes, codec.DefaultQoS())
		require.NoError(t, err)
		success := true
		serve := func(name, typeName string, answer func() ([]byte, error)) {
			_, err := recorder.Serve("~/"+name, typeName, func(context.Context, []byte) ([]byte, error) {
				return answer()
			})
			require.NoError(t, err)
		}
		serve("snapshot", "rosbag2_interfaces/srv/Snapshot", func() ([]byte, error) {
			return cdr.Marshal(&rosbag2_interfaces.Snapshot_Response{Success: success})
		})
		trigger := func(change func(*triggerOptions)) (string, error) {
			o := triggerOptions{After: -time.Second, Options: remote.Options{Node: "/recorder", Timeout: time.Minute}}
			change(&o)
			ctx, cancel := context.WithTimeout(t.Context(), o.Timeout)
			defer cancel()
			return takeSnapshot(ctx, client, &o)
		}
		none := func(*triggerOptions) {}
		path, err := trigger(none)
		require.NoError(t, err)
		require.Equal(t, "/recorder: wrote a snapshot; rosbag2's service does not return its path", path)
		success = false
		_, err = trigger(none)
		require.ErrorContains(t, err, "gave no reason")
		_, err = trigger(func(o *triggerOptions) { o.Cause = "crash" })
		require.ErrorContains(t, err, "the recorder offers only rosbag2's service snapshot, which takes no --before")
		_, err = trigger(func(o *triggerOptions) { o.Node = "/nobody" })
		require.ErrorContains(t, err, "no recorder /nobody was found within 3s")

		serve("take_snapshot", "tapedeck/srv/TakeSnapshot", func() ([]byte, error) {
			return cdr.Marshal(&tapedeck.TakeSnapshot_Response{Success: true, Path: "/a"})
		})
		path, err = trigger(func(o *triggerOptions) { o.Cause = "crash" })
		require.NoError(t, err)
		require.Equal(t, "/a", path)
	})
}

// Without snapshots, tapedeck's recorder refuses a trigger at once. For rosbag2's recorder the trigger fails once all
// services must be known.
func TestTriggerWithoutSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newest(t)
		d := newTestRecorder(t, testOptions("mcap"), "/n")
		o := triggerOptions{After: -time.Second, Options: remote.Options{Timeout: time.Minute}}
		began := time.Now()
		_, err := takeSnapshot(t.Context(), d.peer, &o)
		require.ErrorContains(t, err, "the recorder was started without --snapshot")
		require.Less(t, time.Since(began), time.Second)
		require.NoError(t, d.end())

		net := &bridgetest.Network{}
		client, err := net.Open(bridge.Options{Name: "client"})
		require.NoError(t, err)
		defer client.Close()
		_, err = takeSnapshot(t.Context(), client, &o)
		require.ErrorContains(t, err, "no recorder was found within 3s")
		recorder, err := net.Open(bridge.Options{Name: "recorder"})
		require.NoError(t, err)
		defer recorder.Close()
		_, err = recorder.Advertise("events/write_split", remote.Recorder.Publishes, codec.DefaultQoS())
		require.NoError(t, err)
		began = time.Now()
		_, err = takeSnapshot(t.Context(), client, &o)
		require.ErrorContains(t, err, "no service /recorder/take_snapshot: the node does not offer it; was "+
			"the recorder")
		require.Less(t, time.Since(began), 10*time.Second)
	})
}

// A trigger by a missing service or topic fails after 3 s, or after a longer timeout that the user gives.
func TestTriggerOfNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &bridgetest.Network{}
		client, err := net.Open(bridge.Options{Name: "client"})
		require.NoError(t, err)
		defer client.Close()
		for _, test := range []struct {
			timeout, want time.Duration
		}{{answerTime, 3 * time.Second}, {time.Second, time.Second}, {2 * time.Minute, 2 * time.Minute}} {
			for what, trigger := range map[string]func(ctx context.Context, o *triggerOptions) error{
				"no node offered /snapshot": func(ctx context.Context, o *triggerOptions) error {
					o.SnapshotService = "/snapshot"
					_, err := takeSnapshot(ctx, client, o)
					return err
				},
				"no recorder listened on /trigger": func(ctx context.Context, o *triggerOptions) error {
					o.Topic = "/trigger"
					return publishTrigger(ctx, client, o)
				},
			} {
				o := triggerOptions{After: -time.Second, Options: remote.Options{Timeout: test.timeout}}
				ctx, cancel := context.WithTimeout(t.Context(), o.Timeout)
				began := time.Now()
				require.ErrorContains(t, trigger(ctx, &o), what+" within ")
				require.InDelta(t, test.want, time.Since(began), float64(100*time.Millisecond))
				cancel()
			}
		}
	})
}

// An interrupted trigger on a topic does not fail with the text that no recorder listened.
func TestTriggerInterrupted(t *testing.T) {
	net := &bridgetest.Network{}
	node, err := net.Open(bridge.Options{Name: "client"})
	require.NoError(t, err)
	defer node.Close()
	o := triggerOptions{Topic: "/trigger", Options: remote.Options{Timeout: time.Millisecond}}
	ctx, cancel := context.WithTimeout(t.Context(), o.Timeout)
	defer cancel()
	require.ErrorContains(t, publishTrigger(ctx, node, &o), "no recorder listened on /trigger within ")
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, publishTrigger(ctx, node, &o), context.Canceled)
}
