package bridgetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
)

const (
	stringType = "std_msgs/msg/String"
	numberType = "std_msgs/msg/UInt64"
	blobType   = "std_msgs/msg/UInt8MultiArray"
)

func testMessages(t *testing.T, open Open) {
	talker, listener := pair(t, open)
	for i, test := range []struct {
		name, typeName string
		payload        []byte
	}{
		{"no body", "std_msgs/msg/Empty", payload()},
		{"empty message", "std_msgs/msg/Empty", payload(0)},
		{"bool", "std_msgs/msg/Bool", payload(1)},
		{"empty string", stringType, text("")},
		{"string", stringType, text("hello from test")},
		{"non-ASCII string", stringType, text("Grüße, 世界")},
		{"big-endian", numberType, []byte{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}},
		{"one fragment", blobType, blob(1000)},
		{"several fragments", blobType, blob(100_001)},
		{"1 MB", blobType, blob(1 << 20)},
		{"8 MB", blobType, blob(8 << 20)},
	} {
		t.Run(test.name, func(t *testing.T) {
			topic := fmt.Sprintf("topic%d", i)
			in := subscribe(t, listener, topic, test.typeName, keepAll())
			out := advertise(t, talker, topic, test.typeName, keepAll())
			awaitMatch(t, out, 1, listener)
			require.NoError(t, out.Publish(test.payload))
			requirePayload(t, test.payload, in.wait(t, 1)[0].data)
			require.Zero(t, in.Lost())
		})
	}
}

func testOrder(t *testing.T, open Open) {
	talker, listener := pair(t, open)
	in := subscribe(t, listener, "numbers", numberType, keepAll())
	out := advertise(t, talker, "numbers", numberType, keepAll())
	awaitMatch(t, out, 1, listener)

	const n = 2000
	start := time.Now()
	begin := start.UnixNano()
	buf := number(0)
	for i := range n {
		copy(buf, number(i)) // Publish must not keep the buffer
		require.NoError(t, out.Publish(buf))
	}
	require.NoError(t, out.Flush(patient(t)))
	samples := in.wait(t, n)
	last := time.Now()
	end := last.UnixNano()

	require.Equal(t, count(0, n), numbers(t, samples))
	require.Zero(t, in.Lost())
	publisher := topic(listener, out.Topic()).Publishers[0].GUID
	require.NotZero(t, publisher)
	previous := received{sent: begin}
	for i, s := range samples {
		require.GreaterOrEqual(t, s.sent, previous.sent, "source time of sample %d", i)
		require.LessOrEqual(t, s.sent, end, "source time of sample %d", i)
		require.GreaterOrEqual(t, s.got, begin, "receive time of sample %d", i)
		require.LessOrEqual(t, s.got, end, "receive time of sample %d", i)
		require.GreaterOrEqual(t, s.monotonic, bridge.Monotonic(start), "monotonic receive time of sample %d", i)
		require.LessOrEqual(t, s.monotonic, bridge.Monotonic(last), "monotonic receive time of sample %d", i)
		require.Zero(t, s.lost)
		if s.publisher != (bridge.GUID{}) {
			require.Equal(t, publisher, s.publisher)
		}
		if s.sequence != 0 {
			require.Equal(t, previous.sequence+1, s.sequence)
		}
		previous = s
	}
}

func testSourceTime(t *testing.T, open Open) {
	talker, listener := pair(t, open)
	in := subscribe(t, listener, "numbers", numberType, keepAll())
	out := advertise(t, talker, "numbers", numberType, keepAll())
	awaitMatch(t, out, 1, listener)
	const stamp = 1_500_000_000_123_456_789
	begin := time.Now().UnixNano()
	require.NoError(t, out.PublishAt(number(1), stamp))
	require.NoError(t, out.Publish(number(2)))
	samples := in.wait(t, 2)
	// RTPS has a resolution of 2⁻³² s. Some middleware ignores the given time.
	if d := samples[0].sent - stamp; d < -1 || d > 1 {
		require.GreaterOrEqual(t, samples[0].sent, begin)
	}
	require.GreaterOrEqual(t, samples[1].sent, begin, "the time given for one sample must not apply to the next")
}

func testSameNode(t *testing.T, open Open) {
	n := start(t, open, "node")
	in := subscribe(t, n, "numbers", numberType, keepAll())
	out := advertise(t, n, "numbers", numberType, keepAll())
	awaitMatch(t, out, 1, n)
	for i := range 10 {
		require.NoError(t, out.Publish(number(i)))
	}
	require.Equal(t, count(0, 10), numbers(t, in.wait(t, 10)))
}

func testPublishFromHandler(t *testing.T, open Open) {
	ping, pong := pair(t, open)
	back := subscribe(t, ping, "pong", numberType, keepAll())
	answer := advertise(t, pong, "pong", numberType, keepAll())
	_, err := pong.Subscribe("ping", numberType, keepAll(), func(batch []bridge.Sample) {
		for _, s := range batch {
			answer.Publish(s.Data)
		}
	})
	require.NoError(t, err)
	out := advertise(t, ping, "ping", numberType, keepAll())
	awaitMatch(t, out, 1, pong)
	awaitMatch(t, answer, 1, ping)
	for i := range 20 {
		require.NoError(t, out.Publish(number(i)))
		back.wait(t, i+1)
	}
	require.Equal(t, count(0, 20), numbers(t, back.all()))
}

func testRetain(t *testing.T, open Open) {
	talker, listener := pair(t, open)
	var mu sync.Mutex
	var kept []bridge.Payload
	subscription, err := listener.Subscribe("blobs", blobType, keepAll(), func(batch []bridge.Sample) {
		mu.Lock()
		defer mu.Unlock()
		for i := range batch {
			if len(kept) < 50 {
				kept = append(kept, batch[i].Retain())
			}
		}
	})
	require.NoError(t, err)
	out := advertise(t, talker, "blobs", blobType, keepAll())
	awaitMatch(t, out, 1, listener)
	for i := range 200 {
		require.NoError(t, out.Publish(blob(10_000+i)))
	}
	eventually(t, "50 payloads", func() bool { mu.Lock(); defer mu.Unlock(); return len(kept) == 50 })

	check := func() {
		for i := range kept {
			requirePayload(t, blob(10_000+i), kept[i].Data)
		}
	}
	check()
	require.NoError(t, subscription.Close())
	check()
	require.NoError(t, listener.Close())
	require.NoError(t, talker.Close())
	check()
	for i := range kept {
		kept[i].Release()
		require.Nil(t, kept[i].Data)
		kept[i].Release()
	}
}

func testTransientLocal(t *testing.T, open Open) {
	talker, listener := pair(t, open)
	qos := bridge.LatchedQoS()
	qos.Depth = 3
	out := advertise(t, talker, "numbers", numberType, qos)
	for i := range 5 {
		require.NoError(t, out.Publish(number(i)))
	}
	late := subscribe(t, listener, "numbers", numberType, qos)
	volatile := subscribe(t, listener, "numbers", numberType, keepAll())
	require.Equal(t, count(2, 5), numbers(t, late.wait(t, 3)))
	awaitMatch(t, out, 2, listener)
	require.NoError(t, out.Publish(number(5)))
	require.Equal(t, count(2, 6), numbers(t, late.wait(t, 4)))
	require.Equal(t, []int{5}, numbers(t, volatile.wait(t, 1)), "a volatile subscriber gets no earlier messages")
}

func testVolatile(t *testing.T, open Open) {
	talker, listener := pair(t, open)
	out := advertise(t, talker, "numbers", numberType, keepAll())
	require.NoError(t, out.Publish(number(0)))
	latched := subscribe(t, listener, "numbers", numberType, bridge.LatchedQoS())
	in := subscribe(t, listener, "numbers", numberType, keepAll())
	awaitMatch(t, out, 1, listener)
	require.NoError(t, out.Publish(number(1)))
	require.Equal(t, []int{1}, numbers(t, in.wait(t, 1)))
	require.Empty(t, latched.all(), "a volatile publisher does not match a transient local subscriber")
}

func testBestEffort(t *testing.T, open Open) {
	talker, listener := pair(t, open)
	out := advertise(t, talker, "numbers", numberType, bridge.SensorDataQoS())
	reliable := subscribe(t, listener, "numbers", numberType, codec.DefaultQoS())
	in := subscribe(t, listener, "numbers", numberType, bridge.SensorDataQoS())
	awaitMatch(t, out, 1, listener)
	eventually(t, "a best-effort sample", func() bool {
		require.NoError(t, out.Publish(number(1)))
		return len(in.all()) > 0
	})
	require.Empty(t, reliable.all(), "a best-effort publisher does not match a reliable subscriber")

	sure := advertise(t, talker, "sure", numberType, keepAll())
	in = subscribe(t, listener, "sure", numberType, bridge.SensorDataQoS())
	awaitMatch(t, sure, 1, listener)
	eventually(t, "a sample from a reliable publisher at a best-effort subscriber", func() bool {
		require.NoError(t, sure.Publish(number(1)))
		return len(in.all()) > 0
	})
}

func testTypesApart(t *testing.T, open Open, oneType bool) {
	talker, listener := pair(t, open)
	strings := subscribe(t, listener, "mixed", stringType, keepAll())
	if oneType {
		_, err := listener.Subscribe("mixed", numberType, keepAll(), func([]bridge.Sample) {})
		require.ErrorContains(t, err, stringType)
		require.ErrorContains(t, err, "one type")
		listener = start(t, open, "second")
	}
	in := subscribe(t, listener, "mixed", numberType, keepAll())
	out := advertise(t, talker, "mixed", numberType, keepAll())
	awaitMatch(t, out, 1, listener)
	require.NoError(t, out.Publish(number(7)))
	require.Equal(t, []int{7}, numbers(t, in.wait(t, 1)))
	require.Empty(t, strings.all())
	eventually(t, "both types are in the graph", func() bool {
		return slices.Equal([]string{stringType, numberType}, topic(listener, out.Topic()).Types)
	})
}

func testManySubscriptions(t *testing.T, open Open) {
	talker, listener := pair(t, open)
	const n = 100
	var ins []*inbox
	var outs []bridge.Publisher
	for i := range n {
		topic := fmt.Sprintf("topic%d", i)
		ins = append(ins, subscribe(t, listener, topic, numberType, keepAll()))
		outs = append(outs, advertise(t, talker, topic, numberType, keepAll()))
	}
	for _, out := range outs {
		awaitMatch(t, out, 1, listener)
	}
	for round := range 10 {
		for i, out := range outs {
			require.NoError(t, out.Publish(number(i*10+round)))
		}
	}
	for i, in := range ins {
		require.Equal(t, count(i*10, i*10+10), numbers(t, in.wait(t, 10)), in.Topic())
		require.Zero(t, in.Lost())
	}
}

func testSlowHandler(t *testing.T, open Open) {
	talker, listener := pair(t, open)
	in := new(inbox)
	var once sync.Once
	busy, release := make(chan struct{}), make(chan struct{})
	_, err := listener.Subscribe("numbers", numberType, keepAll(), func(batch []bridge.Sample) {
		once.Do(func() {
			close(busy)
			<-release
		})
		in.handle(batch)
	})
	require.NoError(t, err)
	neighbour := subscribe(t, listener, "numbers", numberType, keepAll())
	in.Subscription = neighbour
	out := advertise(t, talker, "numbers", numberType, codec.DefaultQoS())
	awaitMatch(t, out, 2, listener)

	// The publisher keeps only 10 samples, so the node must take samples while the handler is busy.
	const n = 1000
	for i := range n {
		require.NoError(t, out.Publish(number(i)))
		if i%10 == 9 {
			require.NoError(t, out.Flush(patient(t)))
			neighbour.wait(t, i+1)
		}
	}
	<-busy
	close(release)
	require.Equal(t, count(0, n), numbers(t, in.wait(t, n)))
}

// testSlowHandlers checks that no sample is lost if handlers sometimes wait, and that no handler runs twice at a time.
func testSlowHandlers(t *testing.T, open Open) {
	talker, listener := pair(t, open)
	const topics, n = 10, 300
	var ins []*inbox
	var outs []bridge.Publisher
	var overlaps atomic.Int32
	for i := range topics {
		in := new(inbox)
		var running atomic.Int32
		var calls int
		subscription, err := listener.Subscribe(fmt.Sprintf("topic%d", i), numberType, keepAll(),
			func(batch []bridge.Sample) {
				if running.Add(1) > 1 {
					overlaps.Add(1)
				}
				defer running.Add(-1)
				calls++
				if calls%20 == i {
					time.Sleep(30 * time.Millisecond)
				}
				in.handle(batch)
			})
		require.NoError(t, err)
		in.Subscription = subscription
		ins = append(ins, in)
		outs = append(outs, advertise(t, talker, fmt.Sprintf("topic%d", i), numberType, keepAll()))
	}
	for _, out := range outs {
		awaitMatch(t, out, 1, listener)
	}
	for i := range n {
		for _, out := range outs {
			require.NoError(t, out.Publish(number(i)))
		}
		if i%10 == 9 {
			time.Sleep(time.Millisecond) // so that there are several batches
		}
	}
	for _, in := range ins {
		require.Equal(t, count(0, n), numbers(t, in.wait(t, n)), in.Topic())
		require.Zero(t, in.Lost())
	}
	require.Zero(t, overlaps.Load(), "a handler is called while it runs")
}

func testCloseFromHandler(t *testing.T, open Open) {
	talker, listener := pair(t, open)
	other := subscribe(t, listener, "other", numberType, keepAll())
	otherOut := advertise(t, talker, "other", numberType, keepAll())
	awaitMatch(t, otherOut, 1, listener)
	closed := make(chan error, 1)
	_, err := listener.Subscribe("numbers", numberType, keepAll(), func([]bridge.Sample) { closed <- other.Close() })
	require.NoError(t, err)
	out := advertise(t, talker, "numbers", numberType, keepAll())
	awaitMatch(t, out, 1, listener)
	require.NoError(t, out.Publish(number(1)))
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(patience):
		require.Fail(t, "a handler cannot close another subscription")
	}
	awaitMatch(t, otherOut, 0)
}

func testSubscribers(t *testing.T, open Open) {
	talker, listener := pair(t, open)
	out := advertise(t, talker, "numbers", numberType, codec.DefaultQoS())
	require.Zero(t, out.Subscribers())
	one := subscribe(t, listener, "numbers", numberType, codec.DefaultQoS())
	awaitMatch(t, out, 1)
	two := subscribe(t, talker, "numbers", numberType, codec.DefaultQoS())
	awaitMatch(t, out, 2)
	require.NoError(t, one.Close())
	awaitMatch(t, out, 1)
	require.NoError(t, two.Close())
	awaitMatch(t, out, 0)
}

func testCloseSubscription(t *testing.T, open Open) {
	talker, listener := pair(t, open)
	out := advertise(t, talker, "numbers", numberType, codec.DefaultQoS())
	other := subscribe(t, listener, "numbers", numberType, codec.DefaultQoS())
	var running, after atomic.Int32
	var closed atomic.Bool
	subscription, err := listener.Subscribe("numbers", numberType, codec.DefaultQoS(), func([]bridge.Sample) {
		running.Add(1)
		if closed.Load() {
			after.Add(1)
		}
		time.Sleep(20 * time.Millisecond)
		running.Add(-1)
	})
	require.NoError(t, err)
	awaitMatch(t, out, 2, listener)
	for i := range 50 {
		require.NoError(t, out.Publish(number(i)))
	}
	other.wait(t, 1)
	require.NoError(t, subscription.Close())
	require.Zero(t, running.Load(), "Close returned before the handler")
	closed.Store(true)
	awaitMatch(t, out, 1)
	require.NoError(t, out.Publish(number(50)))
	eventually(t, "a message after Close", func() bool {
		all := numbers(t, other.all()) // earlier messages may come late
		return all[len(all)-1] == 50
	})
	require.Zero(t, after.Load())
}

func testCloseInTraffic(t *testing.T, open Open) {
	talker, listener := pair(t, open)
	var running atomic.Int32
	for i := range 4 {
		_, err := listener.Subscribe(fmt.Sprintf("topic%d", i), blobType, keepAll(), func([]bridge.Sample) {
			running.Add(1)
			time.Sleep(20 * time.Millisecond)
			running.Add(-1)
		})
		require.NoError(t, err)
	}
	var publishing sync.WaitGroup
	var failed atomic.Int32
	stop := make(chan struct{})
	for i := range 4 {
		out := advertise(t, talker, fmt.Sprintf("topic%d", i), blobType, codec.DefaultQoS())
		awaitMatch(t, out, 1, listener)
		publishing.Go(func() {
			payload := blob(20_000)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := out.Publish(payload); err != nil {
					failed.Add(1)
					return
				}
			}
		})
	}
	eventually(t, "handlers are at work", func() bool { return running.Load() > 1 })
	require.NoError(t, listener.Close())
	require.Zero(t, running.Load(), "Close returned before the handlers")
	require.Zero(t, failed.Load(), "publishers outlive subscribers")
	require.NoError(t, talker.Close())
	close(stop)
	publishing.Wait()
}

func testAfterClose(t *testing.T, open Open) {
	n := start(t, open, "node")
	out := advertise(t, n, "numbers", numberType, codec.DefaultQoS())
	in := subscribe(t, n, "numbers", numberType, codec.DefaultQoS())
	require.NoError(t, n.Close())
	require.NoError(t, n.Close(), "a second Close does nothing")
	require.NoError(t, out.Close())
	require.NoError(t, in.Close())
	require.Error(t, out.Publish(number(1)))
	_, err := n.Advertise("numbers", numberType, codec.DefaultQoS())
	require.Error(t, err)
	_, err = n.Subscribe("numbers", numberType, codec.DefaultQoS(), func([]bridge.Sample) {})
	require.Error(t, err)
	_, err = n.Serve("service", "std_srvs/srv/Trigger",
		func(context.Context, []byte) ([]byte, error) { return nil, nil })
	require.Error(t, err)
	ctx := patient(t)
	_, err = n.Call(ctx, "service", "std_srvs/srv/Trigger", payload(0))
	require.Error(t, err)
	require.NoError(t, ctx.Err(), "a call on a closed node does not wait")
}

func testInvalidNames(t *testing.T, open Open) {
	n := start(t, open, "node")
	for _, name := range []string{"", "a b", "a//b", "a/", "1a", "~ab", "{x}"} {
		_, err := n.Advertise(name, numberType, codec.DefaultQoS())
		require.Error(t, err, "topic %q", name)
		_, err = n.Subscribe(name, numberType, codec.DefaultQoS(), func([]bridge.Sample) {})
		require.Error(t, err, "topic %q", name)
		_, err = n.Serve(name, "std_srvs/srv/Trigger",
			func(context.Context, []byte) ([]byte, error) { return nil, nil })
		require.Error(t, err, "service %q", name)
	}
}

func testRemap(t *testing.T, open Open) {
	base := namespace(t)
	talker := start(t, open, "talker", func(o *bridge.Options) {
		o.Remaps = []string{"__node:=renamed", "__ns:=" + base + "/other", "rostopic://chatter:=talk", "chatter:=never",
			"~/out:=" + base + "/elsewhere/out"}
	})
	listener := start(t, open, "listener")
	require.Equal(t, base+"/other/renamed", talker.Name())
	for _, test := range []struct{ name, full string }{
		{"chatter", base + "/other/talk"},
		{"plain", base + "/other/plain"},
		{"~/out", base + "/elsewhere/out"},
		{"~/in", base + "/other/renamed/in"},
		{"/abs" + base, "/abs" + base},
	} {
		out := advertise(t, talker, test.name, numberType, keepAll())
		require.Equal(t, test.full, out.Topic())
		in := subscribe(t, listener, test.full, numberType, keepAll())
		require.Equal(t, test.full, in.Topic())
		awaitMatch(t, out, 1, listener)
		require.NoError(t, out.Publish(number(1)))
		in.wait(t, 1)
	}
	in := subscribe(t, talker, "chatter", numberType, keepAll())
	require.Equal(t, base+"/other/talk", in.Topic())
}
