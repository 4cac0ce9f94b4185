package recorder

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/std_srvs"
	"tapedeck/msgs/tapedeck"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/snapshot"
)

// withSnapshots returns options for a recording with snapshots, also triggered by conditions.
func withSnapshots(storage string, conditions ...string) options {
	o := testOptions(storage)
	o.Snapshot, o.SnapshotCondition = true, conditions
	return o
}

// call calls a service of the recorder and decodes the reply into answer.
func (d *testRecorder) call(service, typeName string, request, answer msgs.Message) {
	d.t.Helper()
	data, err := cdr.Marshal(request)
	require.NoError(d.t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	reply, err := d.peer.Call(ctx, service, typeName, data)
	require.NoError(d.t, err)
	require.NoError(d.t, cdr.Unmarshal(reply, answer))
}

// takeSnapshot calls the service take_snapshot.
func (d *testRecorder) takeSnapshot(request tapedeck.TakeSnapshot_Request) (answer tapedeck.TakeSnapshot_Response) {
	d.t.Helper()
	d.call("/recorder/take_snapshot", "tapedeck/srv/TakeSnapshot", &request, &answer)
	return answer
}

// recordedMessage is a message of a recording.
type recordedMessage struct {
	topic   string
	logTime int64
	number  uint64 // the 8 bytes after the CDR header, 0 for shorter messages
}

// contents returns the messages of a recording, except events, and its description. The recording must be complete.
func contents(t *testing.T, path string) (list []recordedMessage, info *codec.Info) {
	t.Helper()
	info, err := open(t, path).Info()
	require.NoError(t, err)
	require.True(t, info.Complete, path)
	for m := range messages(t, path, func(c *codec.Channel) bool { return !codec.IsEvents(c) }) {
		n := recordedMessage{m.Channel.Topic, m.LogTime, 0}
		if len(m.Data) >= 12 {
			n.number = binary.LittleEndian.Uint64(m.Data[4:])
		}
		list = append(list, n)
	}
	return list, info
}

// eventsOf returns the recorded events of a kind.
func eventsOf(t *testing.T, path, kind string) (list []codec.Event) {
	t.Helper()
	for m := range messages(t, path, codec.IsEvents) {
		if e, ok := codec.ParseEvent(m); ok && e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

// traffic publishes messages with the numbers 1, 2, 3 … on a topic until end is called.
type traffic struct {
	stop context.CancelFunc
	done sync.WaitGroup
	sent atomic.Int64
}

// startTraffic publishes a message with a payload of size bytes, at least 12, every period. The test's end stops it.
func (d *testRecorder) startTraffic(topic string, period time.Duration, size int) *traffic {
	d.t.Helper()
	p, err := d.peer.Advertise(topic, "std_msgs/msg/UInt64", codec.DefaultQoS())
	require.NoError(d.t, err)
	d.awaitSubscribers(p)
	ctx, cancel := context.WithCancel(context.Background())
	tr := &traffic{stop: cancel}
	tr.done.Go(func() {
		tick := time.NewTicker(period)
		defer tick.Stop()
		data := make([]byte, max(size, 12))
		data[1] = 1 // CDR, little-endian
		for n := uint64(1); ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			binary.LittleEndian.PutUint64(data[4:], n)
			if p.Publish(data) != nil {
				return
			}
			tr.sent.Add(1)
		}
	})
	d.t.Cleanup(tr.end)
	return tr
}

// end stops publishing and waits until the recorder has received all messages.
func (tr *traffic) end() {
	tr.stop()
	tr.done.Wait()
	synctest.Wait()
}

// requireExact requires that a snapshot has the same messages on topics as recording between from and until, inclusive.
func requireExact(t *testing.T, recording []recordedMessage, snapshot string, from, until int64, topics ...string) {
	t.Helper()
	got, _ := contents(t, snapshot)
	for _, topic := range topics {
		var want, have []uint64
		for _, m := range recording {
			if m.topic == topic && m.logTime >= from && m.logTime <= until {
				want = append(want, m.number)
			}
		}
		for _, m := range got {
			if m.topic == topic {
				have = append(have, m.number)
			}
		}
		require.Equal(t, want, have, "%s in %s", topic, snapshot)
	}
}

// Each of several snapshots at the same time has exactly the messages of its own time range.
func TestSnapshotsOverlap(t *testing.T) {
	for _, storage := range []string{"record", "mcap"} {
		inBubble(t, storage, func(t *testing.T) {
			o := withSnapshots(storage)
			o.SnapshotDuration = 700 * time.Millisecond
			o.SnapshotTopicLimits = []string{"/short=300ms"}
			d := newTestRecorder(t, o, "/fast", "/slow", "/short")
			fast := d.startTraffic("/fast", 3*time.Millisecond, 100)
			slow := d.startTraffic("/slow", 20*time.Millisecond, 20_000)
			d.startTraffic("/short", 7*time.Millisecond, 1000)
			snapshots := make([]struct {
				tapedeck.TakeSnapshot_Request
				tapedeck.TakeSnapshot_Response
			}, 12)
			var calls sync.WaitGroup
			for i := range snapshots {
				s := &snapshots[i]
				s.Before, s.After = 0.05+rand.Float64()*0.6, rand.Float64()
				if i%5 == 0 {
					s.Before = 0 // means snapshot_duration
				}
				delay := time.Second + time.Duration(rand.IntN(1200))*time.Millisecond
				calls.Go(func() {
					time.Sleep(delay)
					s.TakeSnapshot_Response = d.takeSnapshot(s.TakeSnapshot_Request)
				})
			}
			calls.Wait()
			fast.end()
			slow.end()
			require.NoError(t, d.end())

			all, _ := contents(t, d.path())
			paths := map[string]bool{}
			for _, s := range snapshots {
				require.True(t, s.Success, s.Message)
				paths[s.TakeSnapshot_Response.Path] = true
				events := eventsOf(t, s.TakeSnapshot_Response.Path, codec.EventSnapshot)
				require.Len(t, events, 1)
				require.Contains(t, events[0].Text, "service /recorder/take_snapshot (")
				require.Empty(t, eventsOf(t, s.TakeSnapshot_Response.Path, codec.EventDrop))
				at := events[0].Time
				before := int64(s.Before * 1e9)
				if before == 0 {
					before = int64(o.SnapshotDuration)
				}
				until := at + int64(s.After*1e9)
				requireExact(t, all, s.TakeSnapshot_Response.Path, at-before, until, "/fast", "/slow")
				before = min(before, 300e6) // the limit of /short
				requireExact(t, all, s.TakeSnapshot_Response.Path, at-before, until, "/short")
			}
			require.Len(t, paths, len(snapshots), "each snapshot is written to its own file")
		})
	}
}

// snapshotFiles waits until n snapshots are complete and no other is being written. It returns the paths of the
// snapshots in the order in which they were taken.
func (d *testRecorder) snapshotFiles(n int) []string {
	d.t.Helper()
	var found []string
	require.Eventually(d.t, func() bool {
		found, _ = filepath.Glob("snapshot_*")
		return len(found) >= n && d.snapshots.Writing() == 0
	}, patient, 5*time.Millisecond)
	found, _ = filepath.Glob("snapshot_*") // again, because completion renames files
	require.Len(d.t, found, n)
	return found
}

// advertiseType creates a publisher of a type and waits until the recorder has subscribed.
func (d *testRecorder) advertiseType(topic, typeName string) bridge.Publisher {
	d.t.Helper()
	p, err := d.peer.Advertise(topic, typeName, codec.DefaultQoS())
	require.NoError(d.t, err)
	d.awaitSubscribers(p)
	return p
}

func TestSnapshotServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("mcap")
		o.SnapshotMode, o.SnapshotAfter, o.SnapshotFolder = true, 200*time.Millisecond, "saved/here"
		d := newTestRecorder(t, o, "/n")
		p := d.advertise("/n", codec.DefaultQoS())
		d.publish(p, 1, 2, 3)

		var trigger std_srvs.Trigger_Response
		began := time.Now()
		d.call("/snapshot", "std_srvs/srv/Trigger", &std_srvs.Trigger_Request{}, &trigger)
		require.GreaterOrEqual(t, time.Since(began), o.SnapshotAfter, "the service replies when the file is complete")
		require.True(t, trigger.Success, trigger.Message)
		require.Regexp(t, `^/.*/saved/here/snapshot_drive_\d{4}(_\d\d){2}-\d\d(_\d\d){2}$`, trigger.Message)
		list, info := contents(t, trigger.Message) // the message is the path
		require.Len(t, list, 3)
		require.Equal(t, "service /snapshot", info.Metadata["cause"])
		require.Equal(t, "30s", info.Metadata["before"])
		require.Equal(t, "200ms", info.Metadata["after"])
		at, err := time.Parse(time.RFC3339Nano, info.Metadata["trigger_time"])
		require.NoError(t, err)
		require.WithinRange(t, at, began, time.Now())
		require.Equal(t, at.UnixNano(), eventsOf(t, trigger.Message, codec.EventSnapshot)[0].Time)

		var snapshot rosbag2_interfaces.Snapshot_Response
		d.call("/recorder/snapshot", "rosbag2_interfaces/srv/Snapshot", &rosbag2_interfaces.Snapshot_Request{},
			&snapshot)
		require.True(t, snapshot.Success)

		answer := d.takeSnapshot(tapedeck.TakeSnapshot_Request{Path: "crash/", Cause: "emergency stop"})
		require.True(t, answer.Success, answer.Message)
		path, err := filepath.Abs("saved/here/crash")
		require.NoError(t, err)
		require.Equal(t, path, answer.Path)
		require.EqualValues(t, 3, answer.MessageCount)
		list, info = contents(t, path)
		require.Equal(t, list[0].logTime, int64(answer.Start.Sec)*1e9+int64(answer.Start.Nanosec))
		require.Equal(t, list[2].logTime, int64(answer.End.Sec)*1e9+int64(answer.End.Nanosec))
		require.Equal(t, []string{"emergency stop", "0s"}, []string{info.Metadata["cause"], info.Metadata["after"]})

		saved, err := filepath.Glob("saved/here/*")
		require.NoError(t, err)
		require.Len(t, saved, 3)
		answer = d.takeSnapshot(tapedeck.TakeSnapshot_Request{Path: path + "_2"})
		require.Contains(t, answer.Message, "is not below saved/here: services take relative paths")
		require.NoError(t, d.end())
	})
}

// With use_sim_time, the snapshot services work only after the first message on /clock.
func TestSnapshotServicesAwaitTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &bridgetest.Network{}
		node, err := net.Open(bridge.Options{Name: "recorder", Parameters: map[string]any{"use_sim_time": true}})
		require.NoError(t, err)
		d := newTestRecorderOf(t, net, node, withSnapshots("mcap"), "/n")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		request, err := cdr.Marshal(&std_srvs.Trigger_Request{})
		require.NoError(t, err)
		_, err = d.peer.Call(ctx, "/snapshot", "std_srvs/srv/Trigger", request)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		clock, err := d.peer.Advertise("/clock", "rosgraph_msgs/msg/Clock", codec.DefaultQoS())
		require.NoError(t, err)
		data, err := cdr.Marshal(&rosgraph_msgs.Clock{Clock: builtin_interfaces.TimeAt(42e9)})
		require.NoError(t, err)
		require.NoError(t, clock.Publish(data))
		answer := d.takeSnapshot(tapedeck.TakeSnapshot_Request{Path: "first"})
		require.True(t, answer.Success, answer.Message)
		require.NoError(t, d.end())
		require.Equal(t, int64(42e9), eventsOf(t, "first", codec.EventSnapshot)[0].Time)
	})
}

// fullDisk is a disk without free space.
type fullDisk struct{ codec.OS }

func (fullDisk) Space(string) (free, total int64, err error) { return 0, 1e9, nil }

// The recorder refuses snapshots with invalid requests or without disk space, and continues to record.
func TestSnapshotsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withSnapshots("record")
		o.Overwrite = true
		d := newTestRecorder(t, o, "/n")
		p := d.advertise("/n", codec.DefaultQoS())
		d.publish(p, 1)
		require.NoError(t, os.WriteFile("file", nil, 0o600))
		for want, request := range map[string]tapedeck.TakeSnapshot_Request{
			"before is -1, want seconds":                                   {Before: -1},
			"before is NaN, want seconds":                                  {Before: math.NaN()},
			"after is NaN, want at most 3600 seconds (max_snapshot_after)": {After: math.NaN()},
			"after is +Inf, want at most 3600":                             {After: math.Inf(1)},
			"drive.record.00000.active: file already":                      {Path: "drive"},
			"create file/x: ":                                              {Path: "file/x"},
			`"../x" is not below .: services take`:                         {Path: "../x"},
			`"/tmp/x" is not below .`:                                      {Path: "/tmp/x"},
		} {
			answer := d.takeSnapshot(request)
			require.False(t, answer.Success, want)
			require.Contains(t, answer.Message, want)
		}
		disk := d.disk
		d.disk = fullDisk{}
		answer := d.takeSnapshot(tapedeck.TakeSnapshot_Request{Path: "low/x"})
		require.Contains(t, answer.Message, "0.0 MB are free on the disk of low, less than the ")
		require.NoFileExists(t, "low/x.record.00000")
		d.disk = disk
		d.publish(p, 2)
		answer = d.takeSnapshot(tapedeck.TakeSnapshot_Request{Before: math.Inf(1), Path: "all"})
		require.True(t, answer.Success, answer.Message)
		require.NoError(t, d.end())
		require.Equal(t, []uint32{1, 2}, numbers(t, "all.record.00000", "/n"))
		require.Equal(t, []uint32{1, 2}, numbers(t, d.path(), "/n"), "the recording continued")
	})
}

// Each message on /snapshot_trigger takes a snapshot, also while others are being written.
func TestTriggersOnATopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withSnapshots("mcap")
		o.SnapshotAfter = 300 * time.Millisecond
		d := newTestRecorder(t, o, "/n")
		d.startTraffic("/n", time.Millisecond, 0)
		p := d.advertiseType("/snapshot_trigger", "std_msgs/msg/Empty")
		for range 3 {
			d.emit(p, &std_msgs.Empty{})
			time.Sleep(50 * time.Millisecond)
		}
		paths := d.snapshotFiles(3)
		require.NoError(t, d.end())
		all, _ := contents(t, d.path())
		for _, path := range paths {
			_, info := contents(t, path)
			require.Equal(t, "message on /snapshot_trigger", info.Metadata["cause"])
			require.Equal(t, "/snapshot_trigger", info.Metadata["topic"])
			at := eventsOf(t, path, codec.EventSnapshot)[0].Time
			requireExact(t, all, path, 0, at+int64(o.SnapshotAfter), "/n")
		}
	})
}

// Of 1000 triggers at once, only as many take a snapshot as may be written at the same time.
func TestTriggerStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withSnapshots("record")
		o.SnapshotAfter = time.Hour
		d := newTestRecorder(t, o, "/n")
		p := d.advertiseType("/snapshot_trigger", "std_msgs/msg/Empty")
		for range 1000 {
			d.emit(p, &std_msgs.Empty{})
		}
		require.Eventually(t, func() bool { return d.snapshots.Writing() == snapshot.MaxWriting }, patient,
			time.Millisecond)
		answer := d.takeSnapshot(tapedeck.TakeSnapshot_Request{})
		require.False(t, answer.Success)
		require.Contains(t, answer.Message, "32 snapshots are being written already") // snapshot.MaxWriting
		require.NoError(t, d.end())
		found, err := filepath.Glob("snapshot_*")
		require.NoError(t, err)
		require.Len(t, found, snapshot.MaxWriting)
	})
}

// The option limit ends the recording of a topic after three messages, but its snapshots have all messages.
func TestSnapshotsBeyondTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withSnapshots("record", "/n data == 1000")
		o.Limit = 3
		d := newTestRecorder(t, o, "/n", "/other")
		tr := d.startTraffic("/n", 10*time.Millisecond, 0)
		require.Eventually(t, func() bool { return tr.sent.Load() > 1000 }, patient, time.Millisecond)
		path := d.snapshotFiles(1)[0]
		require.NoError(t, d.end())
		recorded, _ := contents(t, d.path())
		require.Len(t, recorded, 3)
		kept, _ := contents(t, path)
		require.Len(t, kept, 1000)
		for i, m := range kept {
			require.Equal(t, uint64(i+1), m.number)
		}
	})
}

// The end of the recording completes snapshots whose time after the trigger has not passed.
func TestSnapshotsEndWithTheRecording(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withSnapshots("mcap")
		o.SnapshotAfter = time.Hour
		d := newTestRecorder(t, o, "/n")
		p := d.advertiseType("/snapshot_trigger", "std_msgs/msg/Empty")
		tr := d.startTraffic("/n", time.Millisecond, 0)
		d.emit(p, &std_msgs.Empty{})
		require.Eventually(t, func() bool { return tr.sent.Load() > 300 }, patient, time.Millisecond)
		require.NoError(t, d.end())
		path := d.snapshotFiles(1)[0]
		all, _ := contents(t, d.path())
		requireExact(t, all, path, 0, math.MaxInt64, "/n")
		events := eventsOf(t, path, codec.EventSnapshot)
		require.Len(t, events, 2)
		require.Regexp(t, `^it ends (1h0m0s|59m\d+(\.\d)?s) early, as recording was stopped$`, events[1].Text)
		_, err := d.snapshots.Take(snapshot.Trigger{})
		require.ErrorIs(t, err, snapshot.ErrEnded)
	})
}

// A snapshot begins with the last latched message of each topic from before its time range.
func TestSnapshotsRepeatLatchedMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withSnapshots("mcap")
		o.SnapshotDuration, o.SnapshotTopicLimits = 200*time.Millisecond, []string{"/long=1h", "/short=1ms"}
		d := newTestRecorder(t, o, "/map", "/long", "/short", "/n")
		var publishers []bridge.Publisher
		for _, topic := range []string{"/map", "/long", "/short"} {
			p := d.advertise(topic, bridge.LatchedQoS())
			publishers = append(publishers, p)
			d.publish(p, 1)
			d.publish(p, 2)
		}
		n := d.advertise("/n", codec.DefaultQoS())
		d.publish(n, 1)
		time.Sleep(2 * time.Millisecond)
		answer := d.takeSnapshot(tapedeck.TakeSnapshot_Request{Path: "first"})
		require.True(t, answer.Success, answer.Message)
		require.Equal(t, []uint32{1, 2}, numbers(t, "first", "/map"), "messages in the ring are not repeated")
		require.Equal(t, []uint32{2}, numbers(t, "first", "/short"), "the last message from before the limit of 1 ms")

		time.Sleep(o.SnapshotDuration + 3*queue.RingSlack)
		d.publish(n, 2)
		answer = d.takeSnapshot(tapedeck.TakeSnapshot_Request{Path: "second"})
		require.True(t, answer.Success, answer.Message)
		require.Equal(t, []uint32{2}, numbers(t, "second", "/map"), "the last message from before the snapshot")
		require.Equal(t, []uint32{1, 2}, numbers(t, "second", "/long"))
		require.Equal(t, []uint32{2}, numbers(t, "second", "/short"))
		require.Equal(t, []uint32{2}, numbers(t, "second", "/n"))

		d.publish(publishers[0], 3)
		answer = d.takeSnapshot(tapedeck.TakeSnapshot_Request{Path: "third"})
		require.True(t, answer.Success, answer.Message)
		require.Equal(t, []uint32{2, 3}, numbers(t, "third", "/map"), "the last message from before, and the new one")
		list, info := contents(t, "third")
		require.EqualValues(t, len(list), answer.MessageCount)
		require.Equal(t, info.StartTime, int64(answer.Start.Sec)*1e9+int64(answer.Start.Nanosec))
		require.NoError(t, d.end())

		var causes []string
		for _, e := range eventsOf(t, d.path(), codec.EventSnapshot) {
			causes = append(causes, e.Text)
		}
		require.ElementsMatch(t, []string{
			"service /recorder/take_snapshot, in first", "service /recorder/take_snapshot, in second",
			"service /recorder/take_snapshot, in third",
		}, causes, "the recording has an event per snapshot")
	})
}

// An event says how far back a snapshot reaches, if snapshot_size limits it.
func TestSnapshotsLimitedBySize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withSnapshots("record")
		o.SnapshotMode, o.SnapshotSize = true, 1<<20
		d := newTestRecorder(t, o, "/n")
		tr := d.startTraffic("/n", time.Millisecond, 50000)
		require.Eventually(t, func() bool { return tr.sent.Load() > 50 }, patient, time.Millisecond)
		answer := d.takeSnapshot(tapedeck.TakeSnapshot_Request{})
		require.Regexp(t, `^service /recorder/take_snapshot \(30s before, 0s after\); `+
			`it reaches back \d.*s of 30s, as snapshot_size is used up$`,
			eventsOf(t, answer.Path, codec.EventSnapshot)[0].Text)
		require.NoError(t, d.end())
	})
}
