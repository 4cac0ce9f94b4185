package recorder

import (
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/msgs/rosidl"
	tdi "tapedeck/msgs/type_description_interfaces"
	"tapedeck/nodes/recorder/internal/queue"
)

// robotTypes are definitions that the recorder lacks. Count has the payloads of std_msgs/msg/UInt32.
func robotTypes() *rosidl.Library {
	return rosidl.NewLibrary(fstest.MapFS{"robot/msg/Count.msg": {Data: []byte("# How many.\nuint32 count\n")}})
}

// count publishes numbers as robot/msg/Count once a recorder has subscribed.
func (d *testRecorder) count(topic string, numbers ...uint32) {
	p, err := d.peer.Advertise(topic, "robot/msg/Count", codec.DefaultQoS())
	require.NoError(d.t, err)
	d.awaitSubscribers(p)
	d.publish(p, numbers...)
}

// channels returns the channels of a topic in a recording.
func channels(t *testing.T, path, topic string) (list []*codec.Channel) {
	info, err := open(t, path).Info()
	require.NoError(t, err)
	for _, t := range info.Topics {
		if t.Channel.Topic == topic {
			list = append(list, t.Channel)
		}
	}
	return list
}

func TestDefinitionIsFetched(t *testing.T) {
	library := robotTypes()
	want, err := library.Concatenated("robot/msg/Count")
	require.NoError(t, err)
	hash, err := library.Hash("robot/msg/Count")
	require.NoError(t, err)
	for _, storage := range []string{"record", "mcap"} {
		inBubble(t, storage, func(t *testing.T) {
			d := newTestRecorderOn(t, &bridgetest.Network{Library: library}, testOptions(storage), "/a", "/b", "/n")
			bridgetest.ServeTypeDescriptions(t, d.peer, library, func(*tdi.GetTypeDescription_Response) {
				time.Sleep(queue.DefinitionWait / 4) // while messages come
			})
			n := d.advertise("/n", codec.DefaultQoS())
			d.count("/a", 1, 2)
			d.publish(n, 10)
			d.count("/b", 3)
			require.Eventually(t, func() bool {
				return len(d.topics.Topics()) == 3 &&
					!d.topics.Topics()[1].AwaitsDefinition()
			},
				patient,
				time.Millisecond)
			require.NoError(t, d.end())
			for topic, messages := range map[string][]uint32{"/a": {1, 2}, "/b": {3}} {
				list := channels(t, d.path(), topic)
				require.Len(t, list, 1)
				require.Equal(t, want, string(list[0].Schema.Data))
				require.Equal(t, hash, list[0].TypeHash)
				require.Equal(t, messages, numbers(t, d.path(), topic))
			}
			require.Equal(t, []uint32{10}, numbers(t, d.path(), "/n"))
		})
	}
}

// Messages that wait too long for their definition are written without it. The file has one channel for them, even if
// the definition comes later.
func TestDefinitionThatIsTooLate(t *testing.T) {
	library := robotTypes()
	for name, delay := range map[string]time.Duration{"late": queue.DefinitionWait * 3 / 2, "never": 0} {
		inBubble(t, name, func(t *testing.T) {
			d := newTestRecorderOn(t, &bridgetest.Network{Library: library}, testOptions("mcap"), "/a")
			if delay > 0 {
				bridgetest.ServeTypeDescriptions(t, d.peer, library,
					func(*tdi.GetTypeDescription_Response) { time.Sleep(delay) })
			}
			d.count("/a", 1)
			written := func() bool { return d.topics.Topics()[0].Written.Load() == 1 }
			require.Never(t, written, queue.DefinitionWait/2, queue.DefinitionWait/20)
			require.Eventually(t, written, patient, time.Millisecond)
			if delay > 0 {
				time.Sleep(delay) // until the definition comes
			}
			d.count("/a", 2)
			require.NoError(t, d.stop(""))
			list := channels(t, d.path(), "/a")
			require.Len(t, list, 1)
			require.Empty(t, list[0].Schema.Data)
			require.Equal(t, []uint32{1, 2}, numbers(t, d.path(), "/a"))
			if delay > 0 {
				require.NoError(t, d.start("second"))
				require.Eventually(t, func() bool { return len(d.topics.Topics()) == 1 }, patient, time.Millisecond)
				require.NoError(t, d.stop(""))
				require.NotEmpty(t, channels(t, d.path(), "/a")[0].Schema.Data,
					"the next recording has it from the start")
			}
		})
	}
}

// Nodes before ROS 2 Iron announce no hash, so no definition is fetched, and messages do not wait.
func TestDefinitionThatNobodyTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestRecorder(t, testOptions("mcap"), "/a")
		d.count("/a", 1)
		require.False(t, d.topics.Topics()[0].AwaitsDefinition())
		require.NoError(t, d.end())
		require.Equal(t, []uint32{1}, numbers(t, d.path(), "/a"))
	})
}

// If a publisher has another version of a known type, its definition is used, because the known one would decode its
// messages wrongly. If the publisher does not answer, no definition is used.
func TestDefinitionOfAnotherVersion(t *testing.T) {
	const text = "uint32 data\nuint32 more\n"
	other := rosidl.NewLibrary(fstest.MapFS{"std_msgs/msg/UInt32.msg": {Data: []byte(text)}})
	hash, err := other.Hash("std_msgs/msg/UInt32")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		served bool
		hidden bool // the message comes before the news of its publisher
		want   string
	}{
		"fetched":              {true, false, text},
		"fetched at a message": {true, true, text},
		"not to be had":        {false, false, ""},
	} {
		inBubble(t, name, func(t *testing.T) {
			net := &bridgetest.Network{Library: other}
			node, err := net.Open(bridge.Options{Name: "recorder"})
			require.NoError(t, err)
			if c.hidden {
				viewer, err := net.Open(bridge.Options{Name: "viewer"})
				require.NoError(t, err)
				defer viewer.Close()
				_, err = viewer.Subscribe("/n", "std_msgs/msg/UInt32", codec.DefaultQoS(), func([]bridge.Sample) {})
				require.NoError(t, err)
				node = unnotified{node}
			}
			d := newTestRecorderOf(t, net, node, testOptions("mcap"), "/n")
			if c.served {
				bridgetest.ServeTypeDescriptions(t, d.peer, other, nil)
			}
			synctest.Wait()
			d.publish(d.advertise("/n", codec.DefaultQoS()), 1, 2)
			written := func() bool { return d.topics.Topics()[0].Written.Load() == 2 }
			require.Eventually(t, written, patient, time.Millisecond)
			require.NoError(t, d.end())
			list := channels(t, d.path(), "/n")
			require.Len(t, list, 1)
			require.Equal(t, c.want, string(list[0].Schema.Data))
			require.Equal(t, hash, list[0].TypeHash)
			require.Equal(t, !c.served, d.hasWarned("type std_msgs/msg/UInt32"))
			require.Equal(t, []uint32{1, 2}, numbers(t, d.path(), "/n"))
		})
	}
}
