package recorder

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	rosbag2 "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/std_msgs"
)

// listener keeps the payloads of a topic.
type listener struct {
	mu       sync.Mutex
	payloads [][]byte
}

// listen subscribes to a topic.
func (d *testRecorder) listen(topic, typeName string, qos codec.QoS) *listener {
	e := &listener{}
	_, err := d.peer.Subscribe(topic, typeName, qos, func(samples []bridge.Sample) {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, s := range samples {
			e.payloads = append(e.payloads, append([]byte(nil), s.Data...))
		}
	})
	require.NoError(d.t, err)
	return e
}

func (e *listener) receivedPayloads() [][]byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([][]byte(nil), e.payloads...)
}

// await waits for a number of messages and returns them. It fails if more come within a moment.
func (e *listener) await(t *testing.T, n int) [][]byte {
	t.Helper()
	require.Eventually(t, func() bool { return len(e.receivedPayloads()) >= n }, patient, time.Millisecond)
	require.Len(t, e.receivedPayloads(), n)
	return e.receivedPayloads()
}

func TestWriteSplitEvent(t *testing.T) {
	for _, storage := range []string{"record", "mcap"} {
		inBubble(t, storage, func(t *testing.T) {
			newest(t)
			o := testOptions(storage)
			o.MaxBagMessages = 2
			d := newTestRecorder(t, o, "/n")
			listener := d.listen("/events/write_split", "rosbag2_interfaces/msg/WriteSplitEvent", codec.DefaultQoS())
			d.publish(d.advertise("/n", codec.DefaultQoS()), 1, 2, 3, 4, 5)
			require.NoError(t, d.stop(""))
			file := func(n int) string {
				if storage == "mcap" {
					return fmt.Sprintf("drive/drive_%d.mcap", n)
				}
				return fmt.Sprintf("drive.record.%05d", n)
			}
			want := map[string]string{file(0): file(1), file(1): file(2), file(2): ""}
			for i, payload := range listener.await(t, 3) {
				var e rosbag2.WriteSplitEvent
				require.NoError(t, cdr.Unmarshal(payload, &e))
				opened, ok := want[e.ClosedFile]
				require.True(t, ok, e.ClosedFile)
				require.Equal(t, opened, e.OpenedFile)
				require.Equal(t, "/recorder", e.NodeName)
				require.Equal(t, opened == "", i == 2, "only the last event has no opened file")
				delete(want, e.ClosedFile)
				require.Len(t, numbers(t, e.ClosedFile, "/n"), map[bool]int{true: 2, false: 1}[opened != ""],
					"the closed file is incomplete")
			}
		})
	}
}

// The event has two fields in ROS 2 Humble.
func TestWriteSplitHasTheFormOfTheRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newest(t)
		t.Setenv("ROS_DISTRO", "humble")
		d := newTestRecorder(t, testOptions("record"), "/n")
		d.advertise("/n", codec.DefaultQoS())
		listener := d.listen("/events/write_split", "rosbag2_interfaces/msg/WriteSplitEvent", codec.DefaultQoS())
		require.NoError(t, d.stop(""))
		schema, err := cdr.NewSchema(msgs.Release("humble"), "rosbag2_interfaces/msg/WriteSplitEvent")
		require.NoError(t, err)
		e, err := schema.Decode(listener.await(t, 1)[0])
		require.NoError(t, err)
		require.Equal(t, []cdr.Field{{Name: "closed_file", Value: "drive.record.00000"},
			{Name: "opened_file", Value: ""}},
			e.Fields)
	})
}

// A file may be complete before or after the next one is known. A file that cannot be completed causes no event.
func TestAnnouncerAwaitsCompleteFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestRecorder(t, testOptions("record"), "/n")
		listener := d.listen("/events/write_split", "rosbag2_interfaces/msg/WriteSplitEvent", codec.DefaultQoS())
		d.do(func() {
			a := d.announcer
			a.fileSplit("0", "1")
			a.fileSplit("1", "2")
			a.fileCompleted("1", nil)
			a.fileCompleted("2", nil)
			a.fileSplit("2", "3")
			a.fileCompleted("0", errors.New("no space"))
			a.fileSplit("3", "4")
			a.fileCompleted("3", nil)
		})
		for i, payload := range listener.await(t, 3) {
			var e rosbag2.WriteSplitEvent
			require.NoError(t, cdr.Unmarshal(payload, &e))
			require.Equal(t, fmt.Sprint(i+1, " ", i+2), e.ClosedFile+" "+e.OpenedFile)
		}
	})
}

func TestMessagesLostEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newest(t)
		o := testOptions("record")
		o.StatsMaxPublishingRate = 2
		d := newTestRecorder(t, o, "/a", "/b")
		listener := d.listen("/events/rosbag2_messages_lost", "rosbag2_interfaces/msg/MessagesLostEvent",
			codec.DefaultQoS())
		d.advertise("/a", codec.DefaultQoS())
		d.advertise("/b", codec.DefaultQoS())
		lose := func(topic string, dropped, missed uint64) {
			for _, rec := range d.topics.Topics() {
				if rec.Channel.Load().Topic == topic {
					rec.Dropped.Add(dropped)
					rec.Add(lostMessages(missed))
				}
			}
		}
		next := func(n int) rosbag2.MessagesLostEvent {
			var e rosbag2.MessagesLostEvent
			require.NoError(t, cdr.Unmarshal(listener.await(t, n)[n-1], &e))
			return e
		}
		lose("/a", 3, 0)
		require.Equal(t, rosbag2.MessagesLostEvent{NodeName: "/recorder",
			MessagesLostStatistics: []rosbag2.MessagesLostEventTopicStat{
				{TopicName: "/a", MessagesLostInRecorder: 3},
			}}, next(1))
		start := time.Now()
		for range 20 {
			lose("/a", 1, 0)
			lose("/b", 0, 2)
		}
		require.Equal(t, rosbag2.MessagesLostEvent{NodeName: "/recorder",
			MessagesLostStatistics: []rosbag2.MessagesLostEventTopicStat{
				{TopicName: "/a", MessagesLostInRecorder: 20}, {TopicName: "/b", MessagesLostInTransport: 40},
			}}, next(2), "one event has all")
		require.Greater(t, time.Since(start), 250*time.Millisecond, "and not at once")
		lose("/b", 1, 0)
		require.NoError(t, d.stop(""))
		require.Equal(t, []rosbag2.MessagesLostEventTopicStat{{TopicName: "/b", MessagesLostInRecorder: 1}},
			next(3).MessagesLostStatistics, "at the end at once")
		require.NoError(t, d.start("second"))
		d.advertise("/a", codec.DefaultQoS())
		require.Eventually(t, func() bool { return len(d.topics.Topics()) > 0 }, patient, time.Millisecond)
		lose("/a", 1, 0)
		require.Equal(t, []rosbag2.MessagesLostEventTopicStat{{TopicName: "/a", MessagesLostInRecorder: 1}},
			next(4).MessagesLostStatistics, "counted anew")
		require.NoError(t, d.end())
	})
}

func TestBeginWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("record")
		o.Publish, o.StatsMaxPublishingRate = true, 0
		d := newTestRecorder(t, o, "/n")
		p := d.advertise("/n", codec.DefaultQoS())
		listener := d.listen("/begin_write", "std_msgs/msg/String", bridge.LatchedQoS())
		listener.await(t, 1)
		d.publish(p, 1)
		_, _, err := d.split()
		require.NoError(t, err)
		listener.await(t, 2)
		require.NoError(t, d.stop(""))
		require.NoError(t, d.start("second"))
		for i, payload := range listener.await(t, 3) {
			var name std_msgs.String
			require.NoError(t, cdr.Unmarshal(payload, &name))
			require.Equal(t, []string{"drive.record.00000", "drive.record.00001", "second.record.00000"}[i], name.Data)
		}
	})
}

// With --all the recorder omits topics that only it publishes.
func TestAnnouncementsAreNotRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("record")
		o.All, o.Publish = true, true
		d := newTestRecorder(t, o)
		d.advertise("/n", codec.DefaultQoS())
		require.Equal(t, []string{"/n", "/parameter_events", "/rosout"}, d.subscribedTopics())
		d.advertise("/events/write_split", codec.DefaultQoS())
	})
}
