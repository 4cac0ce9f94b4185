package intake

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/nodes/recorder/internal/filewriter"
	"tapedeck/nodes/recorder/internal/queue"
)

// A subscription that replaces another one receives messages again that came while both listened.
func TestReceiverTakesOnce(t *testing.T) {
	for name, number := range map[string]func(i int) uint64{
		"with sequence numbers": func(i int) uint64 { return uint64(i) },
		"without":               func(int) uint64 { return 0 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := NewReceiver(&codec.Channel{Topic: "/n"},
					Options{Clock: new(bridge.SimTime), Queue: queue.New(1 << 20)})
				now := time.Now().Add(-time.Second).UnixNano()
				take := func(publisher byte, from, to int) {
					for i := from; i <= to; i++ {
						sample := bridge.Sample{Data: []byte{byte(i)}, Publisher: bridge.GUID{publisher},
							Sequence:   number(i),
							SourceTime: now + int64(i), ReceiveTime: now + int64(i), Received: now + int64(i)}
						r.Take([]bridge.Sample{sample})
					}
				}
				take(1, 1, 5)
				take(2, 1, 3)
				take(3, 4, 6)
				r.Replace(now + 6)
				take(1, 3, 8)
				take(2, 3, 4)
				take(3, 2, 6) // two were latched before the first subscription
				require.Equal(t, uint64(8+4+5), r.Received.Load())
				r.Replace(now + 9)
				take(3, 2, 7)
				require.Equal(t, uint64(8+4+6), r.Received.Load())
			})
		})
	}
}

func TestGapsAreNoted(t *testing.T) {
	for name, c := range map[string]struct {
		sent, received time.Duration // since the previous message
		sequence       uint64        // increment since the previous message
		durability     codec.Durability
		want           []string
	}{
		"silence": {2500 * time.Millisecond, 2500 * time.Millisecond, 1, codec.Volatile,
			[]string{"gap /n silent for 2.5s, is usually heard every 10.9ms"}},
		"clock was set":     {2500 * time.Millisecond, 10 * time.Millisecond, 1, codec.Volatile, nil},
		"late":              {10 * time.Millisecond, 2500 * time.Millisecond, 1, codec.Volatile, nil},
		"loss, not silence": {2500 * time.Millisecond, 2500 * time.Millisecond, 2, codec.Volatile, nil},
		"latched":           {2500 * time.Millisecond, 2500 * time.Millisecond, 1, codec.TransientLocal, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				events := &filewriter.EventLog{}
				r := NewReceiver(&codec.Channel{Topic: "/n"}, Options{Clock: new(bridge.SimTime), Note: events.Note,
					Cache: &LatchedCache{MaxBytes: 1 << 30, Since: func() int64 { return 0 }}})
				r.SetPublishers([]bridge.Endpoint{{GUID: bridge.GUID{1}, QoS: codec.QoS{Durability: c.durability}}}, "")
				sample := bridge.Sample{Data: []byte("x"), Publisher: bridge.GUID{1}, SourceTime: 5e9, Sequence: 1}
				pass := func(sent, received time.Duration, n uint64) {
					time.Sleep(received)
					sample.SourceTime += int64(sent)
					sample.ReceiveTime, sample.Received = time.Now().UnixNano(), bridge.Now()
					sample.Sequence += n
					sample.Lost = n - 1
					r.Take([]bridge.Sample{sample})
				}
				for range 200 {
					pass(10*time.Millisecond, 10*time.Millisecond, 1)
				}
				before := sample.ReceiveTime
				pass(c.sent, c.received, c.sequence)
				var got []string
				for _, e := range events.Take(time.Now(), true) {
					got = append(got, fmt.Sprintf("%s %s %s", e.Kind, e.Topic, e.Text))
					require.Equal(t, [2]int64{before, sample.ReceiveTime}, [2]int64{e.Time, e.Until})
				}
				require.Equal(t, c.want, got)
				if c.sequence > 1 {
					from, until := r.LossRange()
					require.Equal(t, []int64{before, sample.ReceiveTime}, []int64{from, until})
				}
				r.NoteGap(sample.ReceiveTime+900e6, 0)
				require.Empty(t, events.Take(time.Now(), true))
				r.NoteGap(sample.ReceiveTime+20e9, sample.ReceiveTime+20e9)
				list := events.Take(time.Now(), true)
				if c.durability == codec.TransientLocal {
					require.Empty(t, list)
					return
				}
				require.Len(t, list, 1)
				require.Equal(t, sample.ReceiveTime, list[0].Time)
			})
		})
	}
}

// With use_sim_time, silence and usual interval are measured by the simulated clock, whatever its rate.
func TestGapsBySimulatedTime(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		usual, usualSim time.Duration // time between messages
		last, lastSim   time.Duration // time before the last message
		want            []string
	}{
		"paused":                     {50 * ms, 50 * ms, 20 * time.Second, 28 * ms, nil},
		"half speed, not silent":     {100 * ms, 50 * ms, 1600 * ms, 800 * ms, nil},
		"half speed":                 {100 * ms, 50 * ms, 4 * time.Second, 2 * time.Second, []string{"2s"}},
		"ten times as fast":          {10 * ms, 100 * ms, 400 * ms, 4 * time.Second, []string{"4s"}},
		"a seek":                     {10 * ms, 10 * ms, 10 * ms, 100 * time.Second, nil},
		"a seek back":                {10 * ms, 10 * ms, 10 * ms, -time.Second, nil},
		"at the rate of the machine": {100 * ms, 100 * ms, 3 * time.Second, 3 * time.Second, []string{"3s"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := &bridgetest.Network{}
				node, err := net.Open(bridge.Options{Name: "n", Parameters: map[string]any{"use_sim_time": true}})
				require.NoError(t, err)
				defer node.Close()
				clock, err := bridge.NewSimTime(node)
				require.NoError(t, err)
				ticks, err := node.Advertise("/clock", "rosgraph_msgs/msg/Clock", bridge.ClockQoS())
				require.NoError(t, err)
				events := &filewriter.EventLog{}
				r := NewReceiver(&codec.Channel{Topic: "/n"}, Options{Clock: clock, Note: events.Note})
				sample := bridge.Sample{Data: []byte("x"), Publisher: bridge.GUID{1}}
				at := int64(1000e9)
				pass := func(wall, sim time.Duration) {
					time.Sleep(wall)
					at += int64(sim)
					data, err := cdr.Marshal(&rosgraph_msgs.Clock{Clock: builtin_interfaces.TimeAt(at)})
					require.NoError(t, err)
					require.NoError(t, ticks.Publish(data))
					synctest.Wait()
					require.Equal(t, at, clock.Now())
					sample.SourceTime = time.Now().UnixNano()
					sample.ReceiveTime, sample.Received = sample.SourceTime, bridge.Now()
					sample.Sequence++
					r.Take([]bridge.Sample{sample})
				}
				for range 10 { // before the first /clock
					sample.SourceTime, sample.ReceiveTime = time.Now().UnixNano(), time.Now().UnixNano()
					sample.Received = bridge.Now()
					sample.Sequence++
					time.Sleep(c.usual)
					r.Take([]bridge.Sample{sample})
				}
				for range 200 {
					pass(c.usual, c.usualSim)
				}
				require.Empty(t, events.Take(time.Now(), true))
				pass(c.last, c.lastSim)
				var got []string
				for _, e := range events.Take(time.Now(), true) {
					silence, usual, _ := strings.Cut(e.Text, ", is usually heard every ")
					got = append(got, strings.TrimPrefix(silence, "silent for "))
					d, err := time.ParseDuration(usual)
					require.NoError(t, err)
					require.InEpsilon(t, c.usualSim, d, 0.1)
				}
				require.Equal(t, c.want, got)

				now := bridge.Now()
				r.NoteGap(now+int64(time.Minute), at+int64(10*ms))
				require.Empty(t, events.Take(time.Now(), true))
				r.NoteGap(now+int64(ms), at+int64(time.Hour))
				require.Len(t, events.Take(time.Now(), true), 1)
			})
		})
	}
}

func TestBrief(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0s", 999: "999ns", 1234567: "1.23ms", 59_999_999_999: "1m0s", math.MaxInt64: "2561111h6m40s", -5e9: "-5s",
	} {
		require.Equal(t, want, brief(ns).String())
	}
}

// A latched message that is recorded when a pause begins is not recorded again at its end.
func TestPauseKeepsMessagesOnce(t *testing.T) {
	q := queue.New(1 << 20)
	r := NewReceiver(&codec.Channel{Topic: "/map"}, Options{Clock: new(bridge.SimTime), Queue: q,
		Cache: &LatchedCache{MaxBytes: 1 << 30, Since: func() int64 { return 0 }}})
	qos := codec.QoS{Durability: codec.TransientLocal, Depth: 1, Lifespan: codec.Infinite}
	r.SetPublishers([]bridge.Endpoint{{GUID: bridge.GUID{1}, Type: "T", QoS: qos}}, "T")
	take := func(i byte) {
		r.Take([]bridge.Sample{{Data: []byte{i}, Publisher: bridge.GUID{1}, ReceiveTime: time.Now().UnixNano(),
			Received: bridge.Now()}})
	}
	take(1)
	take(2)
	r.Pause(true)
	r.Pause(false)
	r.Pause(true)
	take(3)
	take(4)
	r.Pause(false)
	take(5)
	var got []byte
	for _, item := range q.Pop(1<<20, nil) {
		got = append(got, item.Payload.Data...)
	}
	require.Equal(t, []byte{1, 2, 4, 5}, got)
	require.EqualValues(t, 4, r.Received.Load())
}

// Publishers that come and go take a bounded amount of memory. Their latched messages stay.
func TestManyPublishers(t *testing.T) {
	q := queue.New(1 << 20)
	r := NewReceiver(&codec.Channel{Topic: "/map"}, Options{Clock: new(bridge.SimTime), Queue: q,
		Cache: &LatchedCache{MaxBytes: 1 << 20, Since: func() int64 { return 0 }}})
	qos := codec.QoS{Durability: codec.TransientLocal, Depth: 1, Lifespan: codec.Infinite}
	r.SetPublishers([]bridge.Endpoint{{GUID: bridge.GUID{1}, Type: "T", QoS: qos}}, "T")
	take := func(from bridge.GUID) {
		r.Take([]bridge.Sample{{Data: make([]byte, 4), Publisher: from, Received: bridge.Now(), Sequence: 1}})
		for _, item := range q.Pop(1<<20, nil) {
			q.Done(item.Size())
			queue.Release(item)
		}
	}
	take(bridge.GUID{1})
	kept := r.options.Cache.bytes.Load()
	for round, assumed := range []codec.QoS{{}, qos, {}} {
		r.publishers.assumed = assumed
		for i := range 2 * mostPublishers {
			take(bridge.GUID{2, byte(i), byte(i >> 8), byte(i >> 16), byte(round)})
			require.LessOrEqual(t, len(r.publishers.byGUID), mostPublishers+1)
		}
	}
	require.Len(t, r.Latched(bridge.Now()+1, nil), 1)
	require.Equal(t, kept, r.options.Cache.bytes.Load())
	require.EqualValues(t, 6*mostPublishers+1, r.Received.Load())
}

// The messages that a node latched before it was restarted do not replace those that it latches now.
func TestLatchedByAPublisherThatIsGone(t *testing.T) {
	full := 0
	q := queue.New(1 << 20)
	r := NewReceiver(&codec.Channel{Topic: "/map"}, Options{Clock: new(bridge.SimTime), Queue: q,
		Cache: &LatchedCache{MaxBytes: 3 * (1 + queue.Overhead), Since: func() int64 { return 0 },
			OnFull: func(*queue.Topic) { full++ }}})
	qos := codec.QoS{Durability: codec.TransientLocal, Depth: 1, Lifespan: codec.Infinite}
	for i := range byte(10) {
		guid := bridge.GUID{i + 1}
		r.SetPublishers([]bridge.Endpoint{{GUID: guid, Type: "T", QoS: qos}}, "T")
		r.Take([]bridge.Sample{{Data: []byte{i}, Publisher: guid, Received: bridge.Now(), Sequence: 1}})
		list := r.Latched(bridge.Now()+1, nil)
		require.LessOrEqual(t, len(list), 3)
		require.True(t, slices.ContainsFunc(list, func(item *queue.Item) bool { return item.Payload.Data[0] == i }))
		queue.Release(list...)
	}
	require.Zero(t, full)
}

// Latched messages are not kept beyond their lifespan, even if their publishers are gone.
func TestLatchedMessagesExpire(t *testing.T) {
	since := int64(0)
	q := queue.New(1 << 20)
	r := NewReceiver(&codec.Channel{Topic: "/rosout"}, Options{Clock: new(bridge.SimTime), Queue: q,
		Cache: &LatchedCache{MaxBytes: 1 << 20, Since: func() int64 { return since }}})
	start := bridge.Now()
	qos := codec.QoS{Durability: codec.TransientLocal, Depth: 1000, Lifespan: 10 * time.Second}
	announce := func(guid bridge.GUID) { r.SetPublishers([]bridge.Endpoint{{GUID: guid, Type: "T", QoS: qos}}, "T") }
	take := func(guid bridge.GUID) {
		r.Take([]bridge.Sample{{Data: []byte{1}, Publisher: guid, Received: bridge.Now(), Sequence: 1}})
	}
	const size = 1 + queue.Overhead
	announce(bridge.GUID{1})
	take(bridge.GUID{1})
	take(bridge.GUID{1})
	announce(bridge.GUID{2})
	require.EqualValues(t, 2*size, r.options.Cache.bytes.Load())
	since = start + int64(time.Hour)
	announce(bridge.GUID{3})
	require.Zero(t, r.options.Cache.bytes.Load())
	require.Empty(t, r.Latched(since, nil))
}

// A file begins with latched messages while more messages come in.
func TestLatchedWhileReceiving(t *testing.T) {
	q := queue.New(1 << 20)
	r := NewReceiver(&codec.Channel{Topic: "/map"}, Options{Clock: new(bridge.SimTime), Queue: q,
		Cache: &LatchedCache{MaxBytes: 1 << 20, Since: func() int64 { return 0 }}})
	qos := codec.QoS{Durability: codec.TransientLocal, Depth: 3, Lifespan: codec.Infinite}
	r.SetPublishers([]bridge.Endpoint{{GUID: bridge.GUID{1}, Type: "T", QoS: qos}}, "T")
	var receiving sync.WaitGroup
	receiving.Go(func() {
		for i := range byte(100) {
			r.Take([]bridge.Sample{{Data: []byte{i}, Publisher: bridge.GUID{1}, Received: bridge.Now(),
				Sequence: uint64(i) + 1}})
		}
	})
	for range 100 {
		list := r.Latched(bridge.Now()+1, nil)
		require.LessOrEqual(t, len(list), 3)
		queue.Release(list...)
	}
	receiving.Wait()
}

// Messages latched during a pause count for the limit, and may complete the recording.
func TestLimit(t *testing.T) {
	q := queue.New(1 << 20)
	r := NewReceiver(&codec.Channel{Topic: "/map"}, Options{Clock: new(bridge.SimTime), Queue: q, Limit: 4,
		Cache: &LatchedCache{MaxBytes: 1 << 20, Since: func() int64 { return 0 }}})
	qos := codec.QoS{Durability: codec.TransientLocal, Depth: 3, Lifespan: codec.Infinite}
	r.SetPublishers([]bridge.Endpoint{{GUID: bridge.GUID{1}, Type: "T", QoS: qos}}, "T")
	take := func(list ...byte) {
		for _, i := range list {
			r.Take([]bridge.Sample{{Data: []byte{i}, Publisher: bridge.GUID{1}, ReceiveTime: time.Now().UnixNano(),
				Received: bridge.Now()}})
		}
	}
	take(1, 2)
	r.Pause(true)
	take(3, 4, 5)
	require.False(t, r.Complete.Load())
	r.Pause(false)
	require.True(t, r.Complete.Load())
	take(6)
	r.Pause(true)
	take(7)
	r.Pause(false)
	var got []byte
	for _, item := range q.Pop(1<<20, nil) {
		got = append(got, item.Payload.Data...)
	}
	require.Equal(t, []byte{1, 2, 3, 4}, got)
	require.EqualValues(t, 4, r.Received.Load())
}
