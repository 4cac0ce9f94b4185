//go:build rcl

package rcl

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
)

// patience is the longest time to wait for anything.
const patience = 90 * time.Second

// quiet is the time in which nothing may happen.
const quiet = 2 * time.Second

// TestMain plays the role that is named, if there is one: the other process of a test.
func TestMain(m *testing.M) {
	bridgetest.Roles{}.Play(Open)
	os.Exit(bridgetest.RunOnROS2(m))
}

// onCyclone reports whether the tests run on rmw_cyclonedds_cpp.
func onCyclone() bool { return strings.Contains(Middleware(), "cyclonedds") }

func newNode(t testing.TB, name string) *node {
	t.Helper()
	n, err := Open(bridge.Options{Name: name, Namespace: "/test", Domain: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n.(*node)
}

func TestOpenFails(t *testing.T) {
	for _, test := range []struct {
		options bridge.Options
		want    string
	}{
		{bridge.Options{Name: "no/de"}, "node name must not contain characters"},
		{bridge.Options{Name: "node", Namespace: "/a b"}, "namespace must not contain characters"},
		{bridge.Options{Name: "node", Remaps: []string{"a"}}, "a"},
		{bridge.Options{Name: "node", Enclave: "a b"}, `the enclave is "a b"`},
		{bridge.Options{Name: "node", Parameters: map[string]any{"use_sim_time": "maybe"}}, "use_sim_time"},
	} {
		test.options.Domain = -1
		for range 2 { // a failed Open must not affect the next one
			_, err := Open(test.options)
			require.ErrorContains(t, err, "open node "+test.options.Name)
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "goroutine")
			require.NotContains(t, err.Error(), "rclgo")
		}
	}
	require.Zero(t, processLog.nodes)
}

// TestDomains checks a process in two domains at once.
func TestDomains(t *testing.T) {
	here := newNode(t, "here")
	var id int
	fmt.Sscan(os.Getenv("ROS_DOMAIN_ID"), &id)
	there, err := Open(bridge.Options{Name: "there", Namespace: "/test", Domain: id + 1})
	require.NoError(t, err)
	defer there.Close()
	too, err := Open(bridge.Options{Name: "too", Namespace: "/test", Domain: id})
	require.NoError(t, err)
	defer too.Close()
	_, err = there.Advertise("numbers", "std_msgs/msg/String", codec.DefaultQoS())
	require.NoError(t, err)
	_, err = too.Advertise("words", "std_msgs/msg/String", codec.DefaultQoS())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(publishersOf(here, "/test/words")) == 1 }, patience,
		5*time.Millisecond)
	require.Empty(t, publishersOf(here, "/test/numbers"))
}

func publishersOf(n bridge.Node, name string) []bridge.Endpoint {
	for _, t := range n.Topics() {
		if t.Name == name {
			return t.Publishers
		}
	}
	return nil
}

func TestReceiveFromOtherProcess(t *testing.T) {
	for _, test := range []struct{ size, count int }{{12, 1000}, {100, 2000}, {1 << 20, 30}, {8<<20 + 4, 5}} {
		t.Run(fmt.Sprint(test.size), func(t *testing.T) {
			n := newNode(t, "receiver")
			var mu sync.Mutex
			var kept []bridge.Payload
			var samples []bridge.Sample
			done := make(chan struct{})
			s, err := n.Subscribe("bytes", bridgetest.BytesType, bridgetest.KeepAll(), func(batch []bridge.Sample) {
				mu.Lock()
				defer mu.Unlock()
				for _, sample := range batch {
					kept = append(kept, sample.Retain())
					samples = append(samples, sample)
				}
				if len(samples) >= test.count {
					close(done)
				}
			})
			require.NoError(t, err)
			begin := time.Now().UnixNano()
			bridgetest.Start(t, "publisher", fmt.Sprint("SIZE=", test.size), fmt.Sprint("COUNT=", test.count))
			select {
			case <-done:
			case <-time.After(patience):
				require.FailNow(t, "samples are missing")
			}
			publishers := publishersOf(n, s.Topic())
			require.Len(t, publishers, 1)
			require.NoError(t, s.Close())
			require.Len(t, kept, test.count)
			for i := range kept {
				require.Equal(t, bridgetest.Pattern(test.size, i), kept[i].Data)
				require.Greater(t, samples[i].SourceTime, begin)
				require.GreaterOrEqual(t, samples[i].ReceiveTime, samples[i].SourceTime)
				require.LessOrEqual(t, samples[i].ReceiveTime, time.Now().UnixNano())
				if onCyclone() {
					require.Zero(t, samples[i].Sequence)
					require.Zero(t, samples[i].Publisher)
				} else {
					require.Equal(t, uint64(i+1), samples[i].Sequence)
					require.Equal(t, publishers[0].GUID, samples[i].Publisher)
				}
				kept[i].Release()
			}
			require.Zero(t, s.Lost())
		})
	}
}

// TestMixedSizes sends small messages between large ones. The subscriber keeps all messages.
func TestMixedSizes(t *testing.T) {
	n := newNode(t, "node")
	const count = 200
	sizes := []int{12, 5 << 20, 100, 4000, 40_000, 0}
	kept := make(chan bridge.Payload, count)
	_, err := n.Subscribe("bytes", bridgetest.BytesType, bridgetest.KeepAll(), func(batch []bridge.Sample) {
		for _, sample := range batch {
			p := sample.Retain()
			if len(p.Data) < 100_000 || len(kept)%10 == 0 {
				kept <- p
			} else {
				kept <- bridge.Payload{Data: bytes.Clone(p.Data)}
				p.Release()
			}
		}
	})
	require.NoError(t, err)
	p, err := n.Advertise("bytes", bridgetest.BytesType, bridgetest.KeepAll())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return p.Subscribers() == 1 }, patience, time.Millisecond)
	var want [][]byte
	for i := range count {
		size := sizes[i%len(sizes)]
		if size == 0 {
			size = 12 + 4*i
		}
		data := bridgetest.Pattern(size, i)
		want = append(want, data)
		require.NoError(t, p.Publish(data))
	}
	for _, data := range want {
		select {
		case got := <-kept:
			require.True(t, bytes.Equal(data, got.Data))
			defer got.Release()
		case <-time.After(patience):
			require.FailNow(t, "samples are missing")
		}
	}
}

// TestBacklog has more samples come while the handler is busy than Fast DDS keeps.
func TestBacklog(t *testing.T) {
	n := newNode(t, "receiver")
	const count = 12_000
	busy, release, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	got := 0
	s, err := n.Subscribe("bytes", bridgetest.BytesType, bridgetest.KeepAll(), func(batch []bridge.Sample) {
		if got == 0 {
			close(busy)
			<-release
		}
		for _, sample := range batch {
			if int(binary.LittleEndian.Uint64(sample.Data[4:])) != got {
				t.Errorf("sample %d comes as %d", binary.LittleEndian.Uint64(sample.Data[4:]), got)
			}
			got++
		}
		if got == count {
			close(done)
		}
	})
	require.NoError(t, err)
	p, err := n.Advertise("bytes", bridgetest.BytesType, bridgetest.KeepAll())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return p.Subscribers() == 1 }, patience, time.Millisecond)
	for i := range count {
		require.NoError(t, p.Publish(bridgetest.Pattern(100, i)))
	}
	<-busy
	close(release)
	select {
	case <-done:
	case <-time.After(patience):
		require.FailNow(t, "samples are missing")
	}
	require.Zero(t, s.Lost())
}

// TestBlocked publishes to a subscriber whose process has stopped to acknowledge, until it goes on.
func TestBlocked(t *testing.T) {
	n := newNode(t, "sender")
	p, err := n.Advertise("bytes", bridgetest.BytesType, bridgetest.KeepAll())
	require.NoError(t, err)
	other := bridgetest.Start(t, "sink")
	require.Eventually(t, func() bool { return p.Subscribers() > 0 }, patience, time.Millisecond)
	require.NoError(t, other.Process.Signal(syscall.SIGSTOP))
	t.Cleanup(func() { other.Process.Signal(syscall.SIGCONT) })

	var published atomic.Int32
	const count = 20_000
	result := make(chan error, 1)
	go func() {
		for range count {
			if err := p.Publish(bridgetest.Pattern(1000, 0)); err != nil {
				result <- err
				return
			}
			published.Add(1)
		}
		result <- nil
	}()
	require.Eventually(t, func() bool {
		before := published.Load()
		time.Sleep(500 * time.Millisecond)
		return before > 0 && published.Load() == before
	}, patience, time.Millisecond, "publishing blocks")
	if len(result) > 0 { // as on Fast DDS 3
		require.NoError(t, <-result, "blocking is no failure")
		t.Skipf("the middleware keeps %d messages and does not block", count)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, p.Flush(ctx), context.DeadlineExceeded)
	require.NoError(t, other.Process.Signal(syscall.SIGCONT))
	select {
	case err := <-result:
		require.NoError(t, err)
	case <-time.After(patience):
		require.FailNow(t, "publishing does not go on")
	}
	ctx, cancel = context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, p.Flush(ctx))
}

func TestQoS(t *testing.T) {
	full := codec.QoS{
		History: codec.KeepLast, Depth: 7, Reliability: codec.BestEffort, Durability: codec.TransientLocal,
		Deadline: 250 * time.Millisecond, Lifespan: 5 * time.Second, Liveliness: codec.ManualByTopic,
		LivelinessLease: 2500 * time.Millisecond,
	}
	n := newNode(t, "node")
	for i, q := range []codec.QoS{codec.DefaultQoS(), bridgetest.KeepAll(), full} {
		p, err := n.Advertise(fmt.Sprint("topic", i), bridgetest.BytesType, q)
		require.NoError(t, err)
		var got []bridge.Endpoint
		require.Eventually(t, func() bool { got = publishersOf(n, p.Topic()); return len(got) == 1 }, patience,
			5*time.Millisecond)
		require.Equal(t, q.Reliability, got[0].QoS.Reliability)
		require.Equal(t, q.Durability, got[0].QoS.Durability)
		require.Equal(t, q.Deadline, got[0].QoS.Deadline)
		require.Equal(t, q.Liveliness, got[0].QoS.Liveliness)
		require.Equal(t, q.LivelinessLease, got[0].QoS.LivelinessLease)
	}
}

// syncBuffer is a console.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(data)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestIncompatible has a publisher and a subscription that don't match warn of each other, once.
func TestIncompatible(t *testing.T) {
	var heard, spoken syncBuffer
	listener, err := Open(bridge.Options{Name: "listener", Namespace: "/test", Domain: -1, Console: &heard})
	require.NoError(t, err)
	defer listener.Close()
	talker, err := Open(bridge.Options{Name: "talker", Namespace: "/test", Domain: -1, Console: &spoken})
	require.NoError(t, err)
	defer talker.Close()
	_, err = talker.Advertise("bytes", bridgetest.BytesType, bridge.SensorDataQoS())
	require.NoError(t, err)
	_, err = listener.Subscribe("bytes", bridgetest.BytesType, codec.DefaultQoS(), func([]bridge.Sample) {})
	require.NoError(t, err)
	const reason = "the publisher is best effort, the subscriber asks for reliable"
	require.Eventually(t, func() bool {
		return strings.Contains(heard.String(), "/test/bytes: /test/talker does not reach this "+
			"subscription: "+reason) &&
			strings.Contains(spoken.String(), "/test/bytes: /test/listener does not receive from this "+
				"publisher: "+reason)
	}, patience, 5*time.Millisecond)
	_, err = talker.Advertise("other", bridgetest.BytesType, codec.DefaultQoS()) // another change of the graph
	require.NoError(t, err)
	time.Sleep(quiet)
	require.Equal(t, 1, strings.Count(heard.String(), reason))
	require.Equal(t, 1, strings.Count(spoken.String(), reason))
}

func TestLog(t *testing.T) {
	var one, two syncBuffer
	first, err := Open(bridge.Options{Name: "first", Namespace: "/test", Domain: -1, Console: &one})
	require.NoError(t, err)
	second, err := Open(bridge.Options{Name: "second", Domain: -1, Console: &two, LogLevel: bridge.Error})
	require.NoError(t, err)
	first.Log(bridge.Debug, "left out")
	first.Log(bridge.Info, "%d files", 3)
	second.Log(bridge.Warn, "left out")
	second.Log(bridge.Fatal, "100%%, %sline", strings.Repeat("long ", 1000))
	require.NoError(t, first.Close())
	second.Log(bridge.Error, "the other is gone")
	require.NoError(t, second.Close())
	second.Log(bridge.Error, "it is gone too")
	require.Regexp(t, `^\[INFO\] \[\d+\.\d{9}\] \[test\.first\]: 3 files\n$`, one.String())
	require.Regexp(t, `^\[FATAL\] \[\d+\.\d{9}\] \[second\]: 100%, (long ){1000}line
\[ERROR\] \[\d+\.\d{9}\] \[second\]: the other is gone
\[ERROR\] \[\d+\.\d{9}\] \[second\]: it is gone too
$`, two.String())

	var logged strings.Builder
	files, err := filepath.Glob(filepath.Join(os.Getenv("ROS_LOG_DIR"), "*.log"))
	require.NoError(t, err)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		logged.Write(data)
	}
	require.Contains(t, logged.String(), "3 files")
	require.Contains(t, logged.String(), "the other is gone")
}

func TestHandle(t *testing.T) {
	n := newNode(t, "node")
	_, err := nodeHandle(n.node)
	require.NoError(t, err)
	for _, test := range []struct {
		field, kind string
		size        uintptr
	}{
		{"nothing", "rcl_node_s", 16},
		{"name", "rcl_node_s", 16},
		{"rcl_node_t", "rcl_client_s", 16},
		{"rcl_node_t", "rcl_node_s", 1},
	} {
		_, err := handle(n.node, test.field, test.kind, test.size)
		require.ErrorContains(t, err, "this version of rclgo has no field "+test.field)
	}
}

func TestMiddleware(t *testing.T) {
	require.Regexp(t, `^rcl \(ROS 2 \S+, rmw_\w+\)$`, Middleware())
}
