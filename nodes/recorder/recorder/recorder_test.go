package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
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
	"tapedeck/codec/series"
	"tapedeck/config"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/internal/formats/live"
	"tapedeck/nodes/internal/progress"
	"tapedeck/nodes/recorder/internal/selection"
	"tapedeck/nodes/recorder/internal/subscription"
)

const patient = time.Minute // deadline for what usually takes a moment

// inBubble runs a subtest in a bubble of testing/synctest, so that its result does not depend on the speed of the
// machine.
func inBubble(t *testing.T, name string, test func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// testRecorder is a recorder on a graph within the test.
type testRecorder struct {
	*recorder
	t       *testing.T
	net     *bridgetest.Network
	peer    bridge.Node
	printed bytes.Buffer // output, after the end
	ended   chan error   // result of run
	end     func() error // ends run and returns its result
}

// newTestRecorder starts a recorder of the topics, in a folder of its own. The test runs in a bubble.
func newTestRecorder(t *testing.T, o options, topics ...string) *testRecorder {
	return newTestRecorderOn(t, &bridgetest.Network{}, o, topics...)
}

// newTestRecorderOn starts a recorder on a network.
func newTestRecorderOn(t *testing.T, net *bridgetest.Network, o options, topics ...string) *testRecorder {
	node, err := net.Open(bridge.Options{Name: "recorder"})
	require.NoError(t, err)
	return newTestRecorderOf(t, net, node, o, topics...)
}

// newTestRecorderOf starts a recorder with a node of the network.
func newTestRecorderOf(t *testing.T, net *bridgetest.Network, node bridge.Node, o options,
	topics ...string) *testRecorder {
	return newTestRecorderWith(t, net, node, codec.OS{}, o, topics...)
}

// newTestRecorderWith starts a recorder with a node of the network, which records to a disk.
func newTestRecorderWith(t *testing.T, net *bridgetest.Network, node bridge.Node, disk codec.Disk, o options,
	topics ...string) *testRecorder {
	t.Chdir(t.TempDir())
	peer, err := net.Open(bridge.Options{Name: "peer"})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, peer.Close())
		require.NoError(t, node.Close())
	})
	names, err := bridge.NewNames(bridge.Options{Name: "recorder"})
	require.NoError(t, err)
	chosen, err := selection.New(&o.TopicOptions, topics, names.Topic)
	require.NoError(t, err)
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	t.Cleanup(func() { null.Close() })
	r, err := newRecorder(o, chosen, node, disk, progress.NewLine(null))
	require.NoError(t, err)
	d := &testRecorder{recorder: r, t: t, peer: peer, net: net}
	r.out = &d.printed
	ctx, cancel := context.WithCancel(context.Background())
	d.ended = make(chan error, 1)
	go func() { d.ended <- r.run(ctx) }()
	running := true
	d.end = func() error {
		cancel()
		running = false
		return <-d.ended
	}
	t.Cleanup(func() {
		if running {
			require.NoError(t, d.end())
		}
	})
	return d
}

// hasWarned reports whether the recorder has logged a warning about a subject.
func (d *testRecorder) hasWarned(subject string) bool {
	_, logged := d.warned.Load(subject)
	return logged
}

// subscribe calls topics.Subscribe.
func (d *testRecorder) subscribe(topics, types []string) (subscribed, unavailable []string, err error) {
	d.do(func() { subscribed, unavailable, err = d.topics.Subscribe(topics, types) })
	return subscribed, unavailable, err
}

// advertise creates a publisher of numbers and waits until the recorder has subscribed.
func (d *testRecorder) advertise(topic string, qos codec.QoS) bridge.Publisher {
	p, err := d.peer.Advertise(topic, "std_msgs/msg/UInt32", qos)
	require.NoError(d.t, err)
	d.awaitSubscribers(p)
	return p
}

// awaitSubscribers waits until the recorder has subscribed to the publishers, knows their QoS and has received their
// latched messages.
func (d *testRecorder) awaitSubscribers(publishers ...bridge.Publisher) {
	d.t.Helper()
	for _, p := range publishers {
		require.Eventually(d.t, func() bool { return p.Subscribers() > 0 }, patient, time.Millisecond)
	}
	synctest.Wait()
}

func number(n uint32) *std_msgs.UInt32 { return &std_msgs.UInt32{Data: n} }

// publish publishes numbers and waits until they are received.
func (d *testRecorder) publish(p bridge.Publisher, numbers ...uint32) {
	received := func() (n uint64) {
		for _, rec := range d.topics.Topics() {
			if rec.Channel.Load().Topic == p.Topic() {
				n += rec.Received.Load() + rec.Skipped.Load()
			}
		}
		return n
	}
	before := received()
	for _, n := range numbers {
		data, err := cdr.Marshal(number(n))
		require.NoError(d.t, err)
		require.NoError(d.t, p.Publish(data))
		time.Sleep(time.Microsecond) // no two are received at the same time
	}
	synctest.Wait()
	require.Equal(d.t, before+uint64(len(numbers)), received())
}

// open opens a recording, or one of its files, for the rest of the test.
func open(t *testing.T, path string) codec.Reader {
	t.Helper()
	r, err := live.Codecs().Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		r, err = series.OpenRecording(nil, live.Codecs(), path)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// messages yields the messages of a recording on some topics.
func messages(t *testing.T, path string, topics func(*codec.Channel) bool) iter.Seq[*codec.Message] {
	t.Helper()
	r := open(t, path)
	return func(yield func(*codec.Message) bool) {
		iterator, err := r.Read(codec.Query{Topics: topics})
		require.NoError(t, err)
		defer iterator.Close()
		for {
			m, err := iterator.Next()
			if err == io.EOF {
				return
			}
			require.NoError(t, err)
			if !yield(m) {
				return
			}
		}
	}
}

// numbers returns the recorded numbers of a topic.
func numbers(t *testing.T, path, topic string) (list []uint32) {
	t.Helper()
	for m := range messages(t, path, func(c *codec.Channel) bool { return c.Topic == topic }) {
		var n std_msgs.UInt32
		require.NoError(t, cdr.Unmarshal(m.Data, &n))
		list = append(list, n.Data)
	}
	return list
}

func testOptions(storage string) options {
	o := defaultOptions()
	o.Storage, o.Output, o.AllowUnmatched = storage, "drive", true
	return o
}

func TestStartWhileMessagesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("record")
		o.SnapshotMode = true
		d := newTestRecorder(t, o, "/n")
		require.EqualError(t, d.start("second"), "messages are being kept for snapshots")
		require.NoError(t, d.end())
	})
}

func TestRecorderStopsAndStartsAgain(t *testing.T) {
	for _, storage := range []string{"record", "mcap"} {
		inBubble(t, storage, func(t *testing.T) {
			d := newTestRecorder(t, testOptions(storage), "/n")
			var splits []string
			d.onSplit = append(d.onSplit, func(closed, opened string) {
				splits = append(splits, fmt.Sprintf("%q %q", filepath.Base(closed), opened))
			})
			p := d.advertise("/n", codec.DefaultQoS())
			require.Equal(t, []string{"/n"}, d.subscribedTopics())
			d.publish(p, 1, 2)
			first := d.path()
			require.ErrorContains(t, d.start("second"), first+" is being recorded")
			require.NoError(t, d.stop("enough"))
			require.ErrorIs(t, d.stop("again"), errNotRecording)
			require.Zero(t, p.Subscribers())
			require.Empty(t, d.subscribedTopics())
			require.Equal(t, []uint32{1, 2}, numbers(t, first, "/n"), "the stopped recording is incomplete")
			_, _, err := d.split()
			require.ErrorIs(t, err, errNotRecording)
			_, _, err = d.subscribe([]string{"/n"}, nil)
			require.ErrorIs(t, err, errNotRecording)

			d.pause() // a new recording is not paused
			require.NoError(t, d.start("second"))
			require.NotEqual(t, first, d.path())
			d.awaitSubscribers(p)
			d.publish(p, 3)
			require.NoError(t, d.end())
			require.Equal(t, []uint32{3}, numbers(t, d.path(), "/n"))
			require.Contains(t, d.printed.String(), "2 messages")
			require.Contains(t, d.printed.String(), "1 message")
		})
	}
}

func TestRecorderPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestRecorder(t, testOptions("record"), "/n")
		p := d.advertise("/n", codec.DefaultQoS())
		d.publish(p, 1)
		d.pause()
		require.True(t, d.topics.Paused())
		d.publish(p, 2)
		d.resume()
		d.publish(p, 3)
		require.NoError(t, d.end())
		require.Equal(t, []uint32{1, 3}, numbers(t, d.path(), "/n"))
	})
}

// Concurrent requests from several clients cannot leave the recorder paused.
func TestRecorderPausesOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestRecorder(t, testOptions("record"), "/n")
		for range 5000 {
			var clients sync.WaitGroup
			for range 4 {
				clients.Go(d.pause)
				clients.Go(d.resume)
			}
			clients.Wait()
			s := d.session.Load()
			paused := s.paused.Load() != 0
			require.Equal(t, d.topics.Paused(), paused)
		}
	})
}

func TestRecorderDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions("record")
		o.All = true
		d := newTestRecorder(t, o)
		d.advertise("/a", codec.DefaultQoS())
		d.do(func() { d.topics.Discover(false) })
		require.False(t, d.topics.Discovering())
		p, err := d.peer.Advertise("/b", "std_msgs/msg/UInt32", codec.DefaultQoS())
		require.NoError(t, err)
		require.Never(t, func() bool { return p.Subscribers() > 0 }, 200*time.Millisecond, 10*time.Millisecond)

		subscribed, unavailable, err := d.subscribe([]string{"/b", "/c", "/d"},
			[]string{"", "std_msgs/msg/UInt32"})
		require.NoError(t, err)
		require.Equal(t, []string{"/b", "/c"}, subscribed)
		require.Equal(t, []string{"/d"}, unavailable)
		d.advertise("/c", codec.DefaultQoS())
		require.Subset(t, d.subscribedTopics(), []string{"/a", "/b", "/c"})

		d.do(func() { d.topics.Discover(true) })
		require.True(t, d.topics.Discovering())
		d.advertise("/d", codec.DefaultQoS())
		require.NoError(t, d.end())
	})
}

// Without discovery, topics that become known in the first seconds are recorded, and later ones are not.
func TestRecorderWithoutDiscovery(t *testing.T) {
	o := testOptions("record")
	cmd := config.New("recorder", "", "", &o, func(context.Context, *config.Input) error { return nil })
	require.NoError(t, config.Execute(t.Context(), cmd, []string{"--all", "--no-discovery"}))
	synctest.Test(t, func(t *testing.T) {
		d := newTestRecorder(t, o)
		d.advertise("/first", codec.DefaultQoS())
		time.Sleep(subscription.DiscoveryTime / 2)
		d.advertise("/early", codec.DefaultQoS())
		time.Sleep(subscription.DiscoveryTime / 2)
		late, err := d.peer.Advertise("/late", "std_msgs/msg/UInt32", codec.DefaultQoS())
		require.NoError(t, err)
		time.Sleep(2 * subscription.DiscoveryTime)
		require.Zero(t, late.Subscribers())
		require.Subset(t, d.subscribedTopics(), []string{"/early", "/first"})
		require.NoError(t, d.end())
	})
}
