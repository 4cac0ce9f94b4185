package recorder

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
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

// withSnapshots returns options for a recording with snapshots.
func withSnapshots(storage string, conditions ...string) options {
	o := testOptions(storage)
	o.Snapshot, o.SnapshotCondition = true, conditions
	return o
}

// call calls a service of the recorder.
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

func (d *testRecorder) takeSnapshot(request tapedeck.TakeSnapshot_Request) (answer tapedeck.TakeSnapshot_Response) {
	d.t.Helper()
	d.call("/recorder/take_snapshot", "tapedeck/srv/TakeSnapshot", &request, &answer)
	return answer
}

// recordedMessage is a message of a recording.
type recordedMessage struct {
	topic   string
	logTime int64
	number  uint64 // first 8 bytes of the payload
}

// contents returns the messages of a recording without events, and its description. The recording must be complete.
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

// eventsOf returns the events of a kind in a recording.
func eventsOf(t *testing.T, path, kind string) (list []codec.Event) {
	t.Helper()
	for m := range messages(t, path, codec.IsEvents) {
		if e, ok := codec.ParseEvent(m); ok && e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

// traffic publishes numbered messages on a topic until end is called.
type traffic struct {
	topic string
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu   sync.Mutex
	sent int
}

// flow publishes a message with a payload of size bytes every period.
func (d *testRecorder) flow(topic string, period time.Duration, size int) *traffic {
	d.t.Helper()
	p, err := d.peer.Advertise(topic, "std_msgs/msg/UInt64", codec.DefaultQoS())
	require.NoError(d.t, err)
	d.awaitSubscribers(p)
	ctx, cancel := context.WithCancel(context.Background())
	f := &traffic{topic: topic, stop: cancel}
	f.done.Go(func() {
		tick := time.NewTicker(period)
		defer tick.Stop()
		data := make([]byte, max(size, 12))
		data[1] = 1
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
			f.mu.Lock()
			f.sent++
			f.mu.Unlock()
		}
	})
	d.t.Cleanup(f.end)
	return f
}

// end stops publishing, and waits until everything is received.
func (f *traffic) end() {
	f.stop()
	f.done.Wait()
	synctest.Wait()
}

func (f *traffic) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sent
}

// requireExact requires that a snapshot has exactly the messages of some topics that a recording received in a time
// range.
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

func TestSnapshotsOverlap(t *testing.T) {
	for _, storage := range []string{"record", "mcap"} {
		inBubble(t, storage, func(t *testing.T) {
			o := withSnapshots(storage)
			o.SnapshotDuration = 700 * time.Millisecond
			o.SnapshotTopicLimits = []string{"/short=300ms"}
			d := newTestRecorder(t, o, "/fast", "/slow", "/short")
			fast, slow := d.flow("/fast", 3*time.Millisecond, 100), d.flow("/slow", 20*time.Millisecond, 20_000)
			d.flow("/short", 7*time.Millisecond, 1000)
			type taken struct {
				tapedeck.TakeSnapshot_Request
				tapedeck.TakeSnapshot_Response
			}
			snapshots := make([]taken, 12)
			var calls sync.WaitGroup
			for i := range snapshots {
				s := &snapshots[i]
				s.Before, s.After = 0.05+rand.Float64()*0.6, rand.Float64()
				if i%5 == 0 {
					s.Before = 0
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
				event := eventsOf(t, s.TakeSnapshot_Response.Path, codec.EventSnapshot)
				require.Len(t, event, 1)
				require.Contains(t, event[0].Text, "service /recorder/take_snapshot (")
				require.Empty(t, eventsOf(t, s.TakeSnapshot_Response.Path, codec.EventDrop))
				at := event[0].Time
				before := int64(s.Before * 1e9)
				if before == 0 {
					before = int64(o.SnapshotDuration)
				}
				until := at + int64(s.After*1e9)
				requireExact(t, all, s.TakeSnapshot_Response.Path, at-before, until, "/fast", "/slow")
				requireExact(t, all, s.TakeSnapshot_Response.Path, max(at-before, at-300e6), until, "/short")
			}
			require.Len(t, paths, len(snapshots), "each has a file of its own")
		})
	}
}

// snapshotFiles waits until n snapshots exist and nothing is being written. It returns their paths in the order in
// which they were taken.
func (d *testRecorder) snapshotFiles(n int) []string {
	d.t.Helper()
	var found []string
	require.Eventually(d.t, func() bool {
		found, _ = filepath.Glob("snapshot_*")
		return len(found) >= n && d.snapshots.Writing() == 0
	}, patient, 5*time.Millisecond)
	found, _ = filepath.Glob("snapshot_*") // complete files have other names
	require.Len(d.t, found, n)
	return found
}

func (d *testRecorder) publishFloat(p bridge.Publisher, v float64) {
	data, err := cdr.Marshal(&std_msgs.Float64{Data: v})
	require.NoError(d.t, err)
	require.NoError(d.t, p.Publish(data))
}

// advertiseType creates a publisher and waits until the recorder has subscribed.
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
		require.GreaterOrEqual(t, time.Since(began), o.SnapshotAfter, "the answer comes when the file is complete")
		require.True(t, trigger.Success, trigger.Message)
		require.Regexp(t, `^/.*/saved/here/snapshot_drive_\d{4}(_\d\d){2}-\d\d(_\d\d){2}$`, trigger.Message)
		list, info := contents(t, trigger.Message)
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
		require.Equal(t, []recordedMessage{list[0], list[2]}, []recordedMessage{
			{"/n", int64(answer.Start.Sec)*1e9 + int64(answer.Start.Nanosec), 0},
			{"/n", int64(answer.End.Sec)*1e9 + int64(answer.End.Nanosec), 0},
		})
		require.Equal(t, []string{"emergency stop", "0s"}, []string{info.Metadata["cause"], info.Metadata["after"]})

		saved, err := filepath.Glob("saved/here/*")
		require.NoError(t, err)
		require.Len(t, saved, 3)
		answer = d.takeSnapshot(tapedeck.TakeSnapshot_Request{Path: path + "_2"})
		require.Contains(t, answer.Message, "is not below saved/here: services take relative paths")
		require.NoError(t, d.end())
	})
}

// Snapshots requested before the first message on /clock are taken after it.
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

type fullDisk struct{ codec.OS }

func (fullDisk) Space(string) (free, total int64, err error) { return 0, 1e9, nil }

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
		require.Equal(t, []uint32{1, 2}, numbers(t, d.path(), "/n"), "the recording went on")
	})
}

func TestTriggersOnATopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withSnapshots("mcap")
		o.SnapshotAfter = 300 * time.Millisecond
		d := newTestRecorder(t, o, "/n")
		d.flow("/n", time.Millisecond, 0)
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
			requireExact(t, all, path, 0, at+3e8, "/n")
		}
	})
}

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
		require.Contains(t, answer.Message, "32 snapshots are being written already")
		require.NoError(t, d.end())
		found, err := filepath.Glob("snapshot_*")
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(found), snapshot.MaxWriting)
		require.Less(t, len(found), 3*snapshot.MaxWriting, "some more while the first ones are completed")
	})
}

func TestConditionsTakeSnapshots(t *testing.T) {
	o := withSnapshots("mcap", "/load data > 10")
	o.SnapshotAfter, o.SnapshotCooldown = time.Second, time.Minute
	for name, topics := range map[string][]string{"recorded": {"/n", "/load"}, "for the trigger alone": {"/n"}} {
		inBubble(t, name, func(t *testing.T) {
			d := newTestRecorder(t, o, topics...)
			d.flow("/n", time.Millisecond, 0)
			p := d.advertiseType("/load", "std_msgs/msg/Float64")
			time.Sleep(100 * time.Millisecond)
			var latest time.Time
			for i, v := range []float64{5, 12.5, 13, 5, 11, 4, 11} { // the condition is met three times
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

// Snapshots have all messages of a topic, also beyond the limit of recorded messages.
func TestSnapshotsBeyondTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withSnapshots("record", "/n data == 1000")
		o.Limit = 3
		d := newTestRecorder(t, o, "/n", "/other")
		f := d.flow("/n", 10*time.Millisecond, 0)
		require.Eventually(t, func() bool { return f.count() > 1000 }, patient, time.Millisecond)
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
		d.snapshotFiles(3) // at 0, 0.5 and 1 s; each goes on until the next one
		require.NoError(t, d.end())
	})
}

func TestConditionsCountWhatTheyPass(t *testing.T) {
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
	inBubble(t, "later", func(t *testing.T) {
		d := newTestRecorder(t, withSnapshots("record", "/load speed > 10", "/load data > 10"), "/n")
		synctest.Wait()                          // until topics are subscribed to
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

func TestConditionTopicsThatAreRecordedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withSnapshots("record", "/load data > 10")
		d := newTestRecorder(t, o, "/n")
		p := d.advertiseType("/load", "std_msgs/msg/Float64")
		_, _, err := d.subscribe([]string{"/load"}, nil)
		require.NoError(t, err)
		d.topics.Look()
		synctest.Wait()
		require.Equal(t, 1, p.Subscribers())
		d.publishFloat(p, 11)
		d.snapshotFiles(1)
		require.NoError(t, d.end())
	})
}

func TestSnapshotsEndWithTheRecording(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withSnapshots("mcap")
		o.SnapshotAfter = time.Hour
		d := newTestRecorder(t, o, "/n")
		p := d.advertiseType("/snapshot_trigger", "std_msgs/msg/Empty")
		f := d.flow("/n", time.Millisecond, 0)
		d.emit(p, &std_msgs.Empty{})
		require.Eventually(t, func() bool { return f.count() > 300 }, patient, time.Millisecond)
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
		require.Equal(t, []uint32{1, 2}, numbers(t, "first", "/map"), "what is in the ring is not repeated")
		require.Equal(t, []uint32{2}, numbers(t, "first", "/short"), "no longer in the ring")

		time.Sleep(o.SnapshotDuration + 3*queue.RingSlack)
		d.publish(n, 2)
		answer = d.takeSnapshot(tapedeck.TakeSnapshot_Request{Path: "second"})
		require.True(t, answer.Success, answer.Message)
		require.Equal(t, []uint32{2}, numbers(t, "second", "/map"), "the last one from before")
		require.Equal(t, []uint32{1, 2}, numbers(t, "second", "/long"))
		require.Equal(t, []uint32{2}, numbers(t, "second", "/short"))
		require.Equal(t, []uint32{2}, numbers(t, "second", "/n"))

		d.publish(publishers[0], 3)
		answer = d.takeSnapshot(tapedeck.TakeSnapshot_Request{Path: "third"})
		require.True(t, answer.Success, answer.Message)
		require.Equal(t, []uint32{2, 3}, numbers(t, "third", "/map"), "before, and within")
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
		}, causes, "the recording knows of its snapshots")
	})
}

func TestSnapshotsSayThatTheyAreShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withSnapshots("record")
		o.SnapshotMode, o.SnapshotSize = true, 1<<20
		d := newTestRecorder(t, o, "/n")
		f := d.flow("/n", time.Millisecond, 50000)
		require.Eventually(t, func() bool { return f.count() > 50 }, patient, time.Millisecond)
		answer := d.takeSnapshot(tapedeck.TakeSnapshot_Request{})
		require.Regexp(t, `^service /recorder/take_snapshot \(30s before, 0s after\); `+
			`it reaches back \d.*s of 30s, as snapshot_size is used up$`,
			eventsOf(t, answer.Path, codec.EventSnapshot)[0].Text)
		require.NoError(t, d.end())
	})
}
