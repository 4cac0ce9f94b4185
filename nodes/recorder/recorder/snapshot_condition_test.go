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
)

// publishFloat publishes a std_msgs/msg/Float64.
func (d *testRecorder) publishFloat(p bridge.Publisher, v float64) {
	data, err := cdr.Marshal(&std_msgs.Float64{Data: v})
	require.NoError(d.t, err)
	require.NoError(d.t, p.Publish(data))
}

// A snapshot is taken when a condition is met. If the condition is met again before the snapshot ends, the snapshot is
// extended.
func TestConditionsTakeSnapshots(t *testing.T) {
	o := withSnapshots("mcap", "/load data > 10")
	o.SnapshotAfter, o.SnapshotCooldown = time.Second, time.Minute
	for name, topics := range map[string][]string{"recorded": {"/n", "/load"}, "not recorded": {"/n"}} {
		inBubble(t, name, func(t *testing.T) {
			d := newTestRecorder(t, o, topics...)
			d.startTraffic("/n", time.Millisecond, 0)
			p := d.advertiseType("/load", "std_msgs/msg/Float64")
			time.Sleep(100 * time.Millisecond)
			var latest time.Time
			for i, v := range []float64{5, 12.5, 13, 5, 11, 4, 11} { // the value rises above 10 three times
				d.publishFloat(p, v)
				latest = time.Now()
				if i < 6 {
					time.Sleep(100 * time.Millisecond)
				}
			}
			path := d.snapshotFiles(1)[0]
			require.NoError(t, d.end())

			_, info := contents(t, path)
			require.Equal(t, "condition /load data > 10", info.Metadata["cause"])
			require.Equal(t, "/load", info.Metadata["topic"])
			require.Equal(t, "data = 12.5", info.Metadata["value"])
			events := eventsOf(t, path, codec.EventSnapshot)
			require.Len(t, events, 2)
			require.Equal(t, "condition /load data > 10: data = 12.5 (30s before, 1s after)", events[0].Text)
			require.Equal(t, "/load", events[0].Topic)
			require.Equal(t, "the condition was met 2 more times", events[1].Text)
			got, _ := contents(t, path)
			require.WithinDuration(t, latest.Add(o.SnapshotAfter), time.Unix(0, got[len(got)-1].logTime),
				100*time.Millisecond)
			all, _ := contents(t, d.path())
			requireExact(t, all, path, 0, got[len(got)-1].logTime, "/n")
		})
	}
}

// A condition that is always met takes a snapshot only once per cooldown.
func TestConditionsCoolDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withSnapshots("record", "/hit *")
		o.SnapshotCooldown = 500 * time.Millisecond
		d := newTestRecorder(t, o, "/n")
		p := d.advertiseType("/hit", "std_msgs/msg/Float64")
		began := time.Now()
		for time.Since(began) < 1300*time.Millisecond {
			d.publishFloat(p, 1)
			time.Sleep(time.Millisecond)
		}
		d.snapshotFiles(3) // at 0, 0.5 and 1 s
		require.NoError(t, d.end())
	})
}

// A snapshot says how often its condition was met during the cooldown before, without a snapshot.
func TestConditionsCountDuringCooldown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withSnapshots("record", "/hit *")
		o.SnapshotCooldown = time.Second
		d := newTestRecorder(t, o, "/n")
		p := d.advertiseType("/hit", "std_msgs/msg/Float64")
		d.publishFloat(p, 1)
		d.snapshotFiles(1)
		for range 3 {
			d.publishFloat(p, 1)
		}
		time.Sleep(o.SnapshotCooldown)
		d.publishFloat(p, 1)
		paths := d.snapshotFiles(2)
		require.Equal(t, "condition /hit *; met 3 times since its last snapshot (30s before, 0s after)",
			eventsOf(t, paths[1], codec.EventSnapshot)[0].Text)
		require.NoError(t, d.end())
	})
}

// A condition on a field that its topic lacks stops the recorder at the start. Later it only cannot be met: other
// conditions on the topic still take snapshots.
func TestConditionsThatCannotBeMet(t *testing.T) {
	inBubble(t, "at the start", func(t *testing.T) {
		d := newTestRecorder(t, withSnapshots("record", "/load speed > 10"), "/n")
		_, err := d.peer.Advertise("/load", "std_msgs/msg/Float64", codec.DefaultQoS())
		require.NoError(t, err)
		require.Eventually(t, func() bool { return !d.recording() }, patient, time.Millisecond)
		err = d.end()
		require.ErrorContains(t, err,
			`snapshot_condition: condition "/load speed > 10": path "speed" in std_msgs/msg/Float64`)
	})
	inBubble(t, "after the discovery", func(t *testing.T) {
		d := newTestRecorder(t, withSnapshots("record", "/load speed > 10", "/load data > 10"), "/n")
		synctest.Wait()                          // for the first update
		d.do(func() { d.topics.Discover(true) }) // ends DiscoveryTime
		p := d.advertiseType("/load", "std_msgs/msg/Float64")
		d.publishFloat(p, 11)
		d.snapshotFiles(1)
		require.NoError(t, d.end())
	})
	inBubble(t, "of an unknown type", func(t *testing.T) {
		d := newTestRecorder(t, withSnapshots("record", "/load speed > 10", "/load *"), "/n")
		p := d.advertiseType("/load", "no_msgs/msg/Such")
		require.NoError(t, p.Publish([]byte{0, 1, 0, 0, 1, 2, 3, 4}))
		d.snapshotFiles(1)
		require.NoError(t, d.end())
	})
}

// A topic that was only watched for a condition, and is recorded later, keeps one subscription and its condition.
func TestConditionTopicsThatAreRecordedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withSnapshots("record", "/load data > 10")
		d := newTestRecorder(t, o, "/n")
		p := d.advertiseType("/load", "std_msgs/msg/Float64")
		_, _, err := d.subscribe([]string{"/load"}, nil)
		require.NoError(t, err)
		d.topics.Look()
		synctest.Wait()
		require.Equal(t, 1, p.Subscribers(), "no second subscription")
		d.publishFloat(p, 11)
		d.snapshotFiles(1)
		require.NoError(t, d.end())
	})
}
