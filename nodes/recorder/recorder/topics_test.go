package recorder

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
)

// Subscriptions are kept while publishers with the same QoS come and go.
func TestManyTopicsAreSubscribedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const topics = 500
		o := testOptions("mcap")
		o.Regex = "^/n"
		d := newTestRecorder(t, o)
		advertise := func(i int) bridge.Publisher {
			p, err := d.peer.Advertise(fmt.Sprintf("/n%03d", i), "std_msgs/msg/UInt32", codec.DefaultQoS())
			require.NoError(t, err)
			return p
		}
		subscribers := func() map[bridge.GUID]string {
			all := map[bridge.GUID]string{}
			for _, topic := range d.peer.Topics() {
				for _, s := range topic.Subscribers {
					if s.Node == "/recorder" && topic.Name[:2] == "/n" {
						all[s.GUID] = topic.Name
					}
				}
			}
			return all
		}
		var first []bridge.Publisher
		for i := range topics {
			first = append(first, advertise(i))
		}
		require.Eventually(t, func() bool { return len(d.topics.Topics()) == topics }, patient, time.Millisecond)
		before := subscribers()
		require.Len(t, before, topics)
		for i, p := range first {
			advertise(i)
			require.NoError(t, p.Close())
		}
		last := advertise(topics) // once this one is subscribed to, the others are known
		require.Eventually(t, func() bool { return last.Subscribers() == 1 }, patient, time.Millisecond)
		after := subscribers()
		require.Len(t, after, topics+1)
		for guid, topic := range before {
			require.Equal(t, topic, after[guid])
		}
		for _, rec := range d.topics.Topics() {
			require.Len(t, rec.Subscriptions(), 1)
		}
	})
}

// Named topics without messages and without a publisher are reported.
func TestUnheardTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestRecorder(t, testOptions("mcap"), "/loud", "/silent", "/typo")
		d.advertise("/silent", codec.DefaultQoS())
		d.publish(d.advertise("/loud", codec.DefaultQoS()), 1)
		topics, why := d.unheard()
		require.Equal(t, []string{"/silent", "/typo"}, topics)
		require.Equal(t, map[string]string{"/silent": "no message came", "/typo": "nobody published it"}, why)
	})
}

// A named topic without recorded messages is an error, also after an interruption, unless allow_unmatched is set.
func TestUnheardTopicsAreErrors(t *testing.T) {
	for name, c := range map[string]struct {
		storage string
		topics  []string
		change  func(*options)
		want    string
	}{
		"nobody":  {"mcap", []string{"/typo"}, func(*options) {}, "of /typo: nobody published it (--allow-unmatched"},
		"silence": {"mcap", []string{"/silent", "/typo"}, func(*options) {}, "/silent: no message came; /typo: nobody"},
		"unfit":   {"carla", []string{"/silent"}, func(*options) {}, "/silent: the format cannot hold it"},
		"kept in memory": {"mcap", []string{"/typo"}, func(o *options) { o.SnapshotMode = true },
			"/typo: nobody published it"},
		"action": {"mcap", nil,
			func(o *options) { o.Actions, o.ExcludeActions = []string{"dock", "fly"}, []string{"/fly"} },
			"of /dock: nobody served this action (--allow-unmatched"},
		"service": {"mcap", nil, func(o *options) { o.Services = []string{"/add"} }, "nobody served this service"},
		"type": {"mcap", []string{"/silent"},
			func(o *options) { o.ExcludeTopicTypes = []string{"std_msgs/msg/UInt32"} },
			"/silent: its type is excluded"},
		"condition": {"mcap", nil, func(o *options) {
			o.Snapshot, o.SnapshotCondition = true, []string{"/bump data > 1", "/silent data > 1"}
		}, "of /bump: nobody published it, and a snapshot condition is about it (--allow-unmatched"},
		"condition on a silent topic": {"mcap", nil, func(o *options) {
			o.Snapshot, o.SnapshotCondition = true, []string{"/silent data > 1"}
		}, ""},
		"condition on an excluded topic": {"mcap", []string{"/silent"}, func(o *options) {
			o.Snapshot, o.SnapshotCondition = true, []string{"/silent data > 1"}
			o.ExcludeTopicTypes = []string{"std_msgs/msg/UInt32"}
		}, "/silent: its type is excluded"},
		"allowed":  {"mcap", []string{"/typo"}, func(o *options) { o.AllowUnmatched = true }, ""},
		"excluded": {"mcap", []string{"/typo"}, func(o *options) { o.ExcludeRegex = "typo" }, ""},
		"pattern":  {"mcap", nil, func(o *options) { o.Regex = "typo" }, ""},
	} {
		inBubble(t, name, func(t *testing.T) {
			o := testOptions(c.storage)
			o.AllowUnmatched = false
			c.change(&o)
			d := newTestRecorder(t, o, c.topics...)
			_, err := d.peer.Advertise("/silent", "std_msgs/msg/UInt32", codec.DefaultQoS())
			require.NoError(t, err)
			synctest.Wait()
			_, _, err = d.subscribe([]string{"/of_a_service"}, nil)
			require.NoError(t, err)
			err = d.end()
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "/of_a_service")
		})
	}
}

// unnotified is a node that gets no news of changes of the graph.
type unnotified struct{ bridge.Node }

func (unnotified) Watch(context.Context) <-chan struct{} { return nil }

// A message can arrive before the news of its publisher. Files have the QoS nevertheless, and latched messages are
// repeated.
func TestMessageBeforeItsPublisherIsKnown(t *testing.T) {
	for _, storage := range []string{"record", "mcap"} {
		inBubble(t, storage, func(t *testing.T) {
			net := &bridgetest.Network{}
			node, err := net.Open(bridge.Options{Name: "recorder"})
			require.NoError(t, err)
			viewer, err := net.Open(bridge.Options{Name: "viewer"})
			require.NoError(t, err)
			defer viewer.Close()
			_, err = viewer.Subscribe("/map", "std_msgs/msg/UInt32", bridge.LatchedQoS(), func([]bridge.Sample) {})
			require.NoError(t, err)
			d := newTestRecorderOf(t, net, unnotified{node}, testOptions(storage), "/map")
			synctest.Wait() // until the recorder has subscribed to the viewer's type
			d.publish(d.advertise("/map", bridge.LatchedQoS()), 7)
			closed, opened, err := d.split()
			require.NoError(t, err)
			require.NoError(t, d.end())
			for _, path := range []string{closed, opened, d.path()} {
				require.Contains(t, numbers(t, path, "/map"), uint32(7), path)
				_, info := contents(t, path)
				for _, topic := range info.Topics {
					if topic.Channel.Topic == "/map" {
						require.Equal(t, []codec.QoS{bridge.LatchedQoS()}, topic.Channel.QoS, path)
					}
				}
			}
		})
	}
}

func TestStaticTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Chdir(t.TempDir())
		path, err := os.Getwd()
		require.NoError(t, err)
		path += "/topics.yaml"
		require.NoError(t,
			os.WriteFile(path, []byte("static_topics_and_types_list:\n  - [/n, std_msgs/msg/UInt32]\n  - "+
				"[m, std_msgs/msg/UInt32]\n"), 0o644))
		o := testOptions("mcap")
		o.StaticTopicsPath = path
		d := newTestRecorder(t, o)
		require.Eventually(t, func() bool { return len(d.subscribedTopics()) == 2 }, patient, time.Millisecond)
		require.Equal(t, []string{"/m", "/n"}, d.subscribedTopics())
		p, err := d.peer.Advertise("/n", "std_msgs/msg/UInt32", codec.DefaultQoS())
		require.NoError(t, err)
		require.Equal(t, 1, p.Subscribers(), "the recorder must subscribe before there is a publisher")
		d.publish(p, 1)
		require.NoError(t, d.stop(""))
		require.Equal(t, []uint32{1}, numbers(t, d.path(), "/n"))
		require.NoError(t, d.start("second"))
		require.Eventually(t, func() bool { return len(d.subscribedTopics()) == 2 }, patient, time.Millisecond)
	})
}
