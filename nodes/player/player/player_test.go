package player

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/bridge/recordings/all"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	srv "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/std_srvs"
	"tapedeck/nodes/internal/page/livepage"
	"tapedeck/nodes/internal/progress"
)

const (
	patient = time.Minute // limit for things that take a moment on an idle machine
	epoch   = int64(1_700_000_000e9)
)

// fixture is a player on a test's graph, with a node that listens to it.
type fixture struct {
	*player
	t        *testing.T
	net      *bridgetest.Network
	listener bridge.Node
	ended    chan error // the result of run; then closed
	open     func()     // begins to play
	begun    bool

	mu    sync.Mutex
	heard map[string][][]byte // by topic
}

func testOptions() options {
	o := defaultOptions()
	o.KeyboardOff, o.MatchPatience, o.AckTimeout, o.Quiet = true, 0, patient, true
	return o
}

// newFixture starts a player of recordings.
func newFixture(t *testing.T, o options, paths ...string) *fixture {
	net := &bridgetest.Network{}
	node, err := net.Open(bridge.Options{Name: "player", Remaps: o.Remap})
	require.NoError(t, err)
	h := &fixture{t: t, net: net, heard: map[string][][]byte{}, ended: make(chan error, 1)}
	h.listener, err = net.Open(bridge.Options{Name: "listener"})
	require.NoError(t, err)
	wants, err := topicFilter(&o)
	require.NoError(t, err)
	offsets, err := o.offsets(paths)
	require.NoError(t, err)
	s, err := openRecordings(t.Context(), nil, paths, offsets, false, wants, o.ReadOptions)
	require.NoError(t, err)
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	h.player, err = newPlayer(o, s, node, progress.NewLine(null))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		for running := h.begun; running; _, running = <-h.ended {
			continue // until run has returned
		}
		require.NoError(t, h.listener.Close())
		require.NoError(t, node.Close())
		require.NoError(t, s.Close())
		require.NoError(t, null.Close())
	})
	h.open = func() {
		h.begun = true
		go func() {
			defer close(h.ended)
			h.ended <- h.run(ctx)
		}()
	}
	return h
}

// subscribe subscribes to a topic and collects its payloads in heard.
func (h *fixture) subscribe(topic, typeName string, qos codec.QoS) {
	_, err := h.listener.Subscribe(topic, typeName, qos, func(batch []bridge.Sample) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, s := range batch {
			h.heard[topic] = append(h.heard[topic], slices.Clone(s.Data))
		}
	})
	require.NoError(h.t, err)
}

// payloads returns the payloads that were received on a topic.
func (h *fixture) payloads(topic string) [][]byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.heard[topic])
}

// numbers returns the numbers that were received on a topic.
func (h *fixture) numbers(topic string) (list []uint32) {
	for _, data := range h.payloads(topic) {
		var m std_msgs.UInt32
		require.NoError(h.t, cdr.Unmarshal(data, &m))
		list = append(list, m.Data)
	}
	return list
}

// requireNumbers waits until as many numbers were received on a topic, and compares them.
func (h *fixture) requireNumbers(topic string, numbers ...uint32) {
	h.t.Helper()
	require.Eventually(h.t, func() bool { return len(h.numbers(topic)) >= len(numbers) }, patient, time.Millisecond,
		topic)
	require.Equal(h.t, numbers, h.numbers(topic))
}

// end waits until the player ends and all messages are received.
func (h *fixture) end() {
	h.t.Helper()
	select {
	case err := <-h.ended:
		require.NoError(h.t, err)
		h.net.Drain()
	case <-time.After(patient):
		require.Fail(h.t, "the player does not end")
	}
}

// ask calls a service of rosbag2's player.
func (h *fixture) ask(name, kind string, request, response msgs.Message) {
	h.t.Helper()
	h.call("/player/"+name, "rosbag2_interfaces/srv/"+kind, request, response)
}

func (h *fixture) call(service, typeName string, request, response msgs.Message) {
	h.t.Helper()
	payload, err := cdr.Marshal(request)
	require.NoError(h.t, err)
	ctx, cancel := context.WithTimeout(h.t.Context(), patient)
	defer cancel()
	answer, err := h.listener.Call(ctx, service, typeName, payload)
	require.NoError(h.t, err)
	require.NoError(h.t, cdr.Unmarshal(answer, response))
}

// useNewestInterfaces makes a test use the newest definitions of rosbag2's interfaces.
func useNewestInterfaces(t *testing.T) {
	t.Setenv("AMENT_PREFIX_PATH", "")
	t.Setenv("ROS_DISTRO", "")
}

func keepAll() codec.QoS {
	qos := codec.DefaultQoS()
	qos.History, qos.Depth = codec.KeepAll, 0
	return qos
}

// entry is a message of a recording.
type entry struct {
	topic string
	ms    int64 // after epoch
	sent  int64 // after epoch; 0: unknown
	what  msgs.Message
}

func numberAt(topic string, ms int64, n uint32) entry {
	return entry{topic, ms, 0, &std_msgs.UInt32{Data: n}}
}

// writeEntries writes a recording and returns its path. latched sets whether its topics are latched.
func writeEntries(t *testing.T, name string, latched bool, entries ...entry) string {
	path := filepath.Join(t.TempDir(), name)
	w, err := all.Formats().Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	channels := map[string]*codec.Channel{}
	for _, e := range entries {
		c := channels[e.topic]
		if c == nil {
			text, err := msgs.Release("").Concatenated(e.what.TypeName())
			require.NoError(t, err)
			c = &codec.Channel{Topic: e.topic, Type: e.what.TypeName(), Encoding: codec.EncodingCDR,
				Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)}}
			if latched {
				c.QoS = []codec.QoS{bridge.LatchedQoS()}
			}
			channels[e.topic] = c
		}
		data, err := cdr.Marshal(e.what)
		require.NoError(t, err)
		m := codec.Message{Channel: c, LogTime: epoch + e.ms*1e6, Data: data}
		if e.sent != 0 {
			m.PublishTime = epoch + e.sent*1e6
		}
		require.NoError(t, w.Write(&m))
	}
	require.NoError(t, w.Close())
	return path
}

// writeNumbers returns a recording of numbers on /n, apart ms from each other.
func writeNumbers(t *testing.T, count, apart int64) string {
	var entries []entry
	for i := range count {
		entries = append(entries, numberAt("/n", i*apart, uint32(i)))
	}
	return writeEntries(t, "n.mcap", false, entries...)
}

func TestPlayerServices(t *testing.T) {
	useNewestInterfaces(t)
	o := testOptions()
	o.StartPaused, o.KeepAlive = true, true
	h := newFixture(t, o, writeNumbers(t, 10, 1000))
	h.subscribe("/n", "std_msgs/msg/UInt32", keepAll())
	h.open()
	paused := func() bool {
		var response srv.IsPaused_Response
		h.ask("is_paused", "IsPaused", &srv.IsPaused_Request{}, &response)
		return response.Paused
	}
	rate := func() float64 {
		var response srv.GetRate_Response
		h.ask("get_rate", "GetRate", &srv.GetRate_Request{}, &response)
		return response.Rate
	}
	setRate := func(rate float64) bool {
		var response srv.SetRate_Response
		h.ask("set_rate", "SetRate", &srv.SetRate_Request{Rate: rate}, &response)
		return response.Success
	}
	next := func() bool {
		var response srv.PlayNext_Response
		h.ask("play_next", "PlayNext", &srv.PlayNext_Request{}, &response)
		return response.Success
	}
	burst := func(n uint64) uint64 {
		var response srv.Burst_Response
		h.ask("burst", "Burst", &srv.Burst_Request{NumMessages: n}, &response)
		return response.ActuallyBurst
	}
	seek := func(ms int64) bool {
		var response srv.Seek_Response
		h.ask("seek", "Seek", &srv.Seek_Request{Time: builtin_interfaces.TimeAt(epoch + ms*1e6)}, &response)
		return response.Success
	}
	require.Eventually(t, func() bool { return h.state().word == "PAUSED" }, patient, time.Millisecond)
	require.True(t, paused())
	require.True(t, next())
	h.requireNumbers("/n", 0)
	require.Equal(t, uint64(2), burst(2))
	h.requireNumbers("/n", 0, 1, 2)
	require.True(t, seek(6500))
	require.True(t, next())
	h.requireNumbers("/n", 0, 1, 2, 7)
	require.True(t, seek(500))
	require.True(t, next())
	h.requireNumbers("/n", 0, 1, 2, 7, 1)
	require.Equal(t, epoch+1e9, h.state().position)

	require.True(t, setRate(2.5))
	require.InDelta(t, 2.5, rate(), 0)
	require.False(t, setRate(0))
	require.False(t, setRate(-1))
	require.True(t, setRate(immediate))
	require.True(t, seek(8000))
	h.ask("toggle_paused", "TogglePaused", &srv.TogglePaused_Request{}, &srv.TogglePaused_Response{})
	require.False(t, paused())
	require.False(t, next(), "play_next while playing")
	require.Zero(t, burst(1))
	h.requireNumbers("/n", 0, 1, 2, 7, 1, 8, 9)
	require.Eventually(t, func() bool { return h.state().word == "ENDED" }, patient, time.Millisecond)

	var played srv.Play_Response
	play := srv.Play_Request{StartOffset: builtin_interfaces.TimeAt(4e9),
		PlaybackUntilTimestamp: builtin_interfaces.TimeAt(epoch + 5e9)}
	play.PlaybackDuration.Sec = -1
	h.ask("play", "Play", &play, &played)
	require.True(t, played.Success)
	h.requireNumbers("/n", 0, 1, 2, 7, 1, 8, 9, 4, 5)
	h.ask("play", "Play", &srv.Play_Request{StartOffset: builtin_interfaces.TimeAt(3600e9)}, &played)
	require.False(t, played.Success, "an offset behind the end")
	require.True(t, setRate(1))
	h.ask("pause", "Pause", &srv.Pause_Request{}, &srv.Pause_Response{})
	require.Eventually(t, func() bool { return h.state().word == "ENDED" }, patient, time.Millisecond)
	h.ask("play", "Play", &srv.Play_Request{}, &played)
	require.True(t, played.Success)
	h.ask("play", "Play", &srv.Play_Request{}, &played)
	require.False(t, played.Success, "play while playing")
	var resumed srv.Resume_Response
	h.ask("resume", "Resume", &srv.Resume_Request{}, &resumed)
	require.Equal(t, srv.Resume_Response{}, resumed)
	require.False(t, paused())
	var stopped srv.Stop_Response
	h.ask("stop", "Stop", &srv.Stop_Request{}, &stopped)
	require.Equal(t, srv.Stop_Response{}, stopped)
	h.ask("stop", "Stop", &srv.Stop_Request{}, &stopped)
	require.Equal(t, srv.Stop_Response{ReturnCode: 1, ErrorString: errOver.Error()}, stopped)
	require.Zero(t, burst(0))
}

func TestPlayerStops(t *testing.T) {
	useNewestInterfaces(t)
	o := testOptions()
	o.StartPaused = true
	h := newFixture(t, o, writeNumbers(t, 2, 1))
	h.open()
	h.ask("stop", "Stop", &srv.Stop_Request{}, &srv.Stop_Response{})
	h.end()
}

func TestPlayerWithoutRosbag2(t *testing.T) {
	useNewestInterfaces(t)
	h := newFixture(t, testOptions(), writeNumbers(t, 3, 1))
	h.subscribe("/n", "std_msgs/msg/UInt32", keepAll())
	h.open()
	h.end()
	h.requireNumbers("/n", 0, 1, 2)
}

func TestPlayerNames(t *testing.T) {
	o := testOptions()
	o.Prefix, o.Remap = "/robot/", []string{"/robot/b:=/c"}
	h := newFixture(t, o, writeEntries(t, "ab.mcap", false, numberAt("/a", 0, 1), numberAt("/b", 1, 2)))
	h.subscribe("/robot/a", "std_msgs/msg/UInt32", keepAll())
	h.subscribe("/c", "std_msgs/msg/UInt32", keepAll())
	h.open()
	h.end()
	h.requireNumbers("/robot/a", 1)
	h.requireNumbers("/c", 2)
}

// TestPlayerOffsets plays the second recording, which began later, first.
func TestPlayerOffsets(t *testing.T) {
	o := testOptions()
	a, b := writeEntries(t, "a.mcap", false, numberAt("/n", 100, 1), numberAt("/n", 120, 2)),
		writeEntries(t, "b.mcap", false, numberAt("/n", 1000, 3), numberAt("/n", 1015, 4))
	o.InputOffset = []string{b + "=-0.91s"}
	h := newFixture(t, o, a, b)
	h.subscribe("/n", "std_msgs/msg/UInt32", keepAll())
	require.Equal(t, []int64{epoch + 90e6, epoch + 120e6}, []int64{h.recordings.start, h.recordings.end})
	h.open()
	h.end()
	h.requireNumbers("/n", 3, 1, 4, 2)
}

// headerAt returns an entry with a std_msgs/Header on the topic of the first letter of frame. Its stamp is ms.
func headerAt(ms, received, sent int64, frame string) entry {
	stamp := builtin_interfaces.TimeAt(epoch + ms*1e6)
	return entry{"/" + frame[:1], received, sent, &std_msgs.Header{Stamp: stamp, FrameId: frame}}
}

func TestPlayerOrders(t *testing.T) {
	path := writeEntries(t, "order.mcap", false,
		headerAt(30, 10, 10, "a1"), headerAt(20, 20, 5, "a2"), headerAt(10, 30, 20, "a3"), headerAt(1e7, 40, 40, "a4"),
		headerAt(35, 50, 45, "a5"))
	for order, want := range map[string][]string{
		byReceipt: {"a1", "a2", "a3", "a4", "a5"}, bySending: {"a2", "a1", "a3", "a4", "a5"},
		byHeader: {"a3", "a2", "a1", "a5", "a4"},
	} {
		t.Run(order, func(t *testing.T) {
			o := testOptions()
			o.Order = order
			h := newFixture(t, o, path)
			h.subscribe("/a", "std_msgs/msg/Header", keepAll())
			h.open()
			h.end()
			require.Eventually(t, func() bool { return len(h.payloads("/a")) == len(want) }, patient, time.Millisecond)
			var got []string
			for _, data := range h.payloads("/a") {
				var m std_msgs.Header
				require.NoError(t, cdr.Unmarshal(data, &m))
				got = append(got, m.FrameId)
			}
			require.Equal(t, want, got)
		})
	}
}

func TestPlayerRestamps(t *testing.T) {
	for name, clock := range map[string]float64{"by the machine's clock": 0, "by /clock": 1000} {
		t.Run(name, func(t *testing.T) {
			o := testOptions()
			o.Restamp, o.Clock, o.LoopCount = true, clock, 2
			h := newFixture(t, o, writeEntries(t, "s.mcap", false, headerAt(-5, 0, 0, "a"), headerAt(-5, 7, 0, "b"),
				headerAt(20, 20, 0, "a")))
			h.subscribe("/a", "std_msgs/msg/Header", keepAll())
			h.subscribe("/b", "std_msgs/msg/Header", keepAll())
			before := time.Now().UnixNano()
			h.open()
			h.end()
			after := time.Now().UnixNano()
			require.Eventually(t, func() bool {
				return len(h.payloads("/a")) == 4 && len(h.payloads("/b")) == 2
			}, patient, time.Millisecond)
			var stamps [6]int64
			for i, data := range append(h.payloads("/a"), h.payloads("/b")...) {
				var m std_msgs.Header
				require.NoError(t, cdr.Unmarshal(data, &m))
				stamps[i] = m.Stamp.Nanoseconds()
			}
			require.Equal(t, stamps[0], stamps[4], "equal stamps must stay equal")
			require.Equal(t, stamps[2], stamps[5])
			require.Equal(t, int64(25e6), stamps[1]-stamps[0])
			if clock > 0 {
				require.Equal(t, epoch-5e6, stamps[0])
				require.Equal(t, int64(20e6+1), stamps[2]-stamps[0], "a round later")
				return
			}
			require.GreaterOrEqual(t, stamps[0], before-5e6)
			require.LessOrEqual(t, stamps[3], after)
		})
	}
}

func TestPlayerLatchedAfterASeek(t *testing.T) {
	useNewestInterfaces(t)
	o := testOptions()
	o.StartPaused, o.StartOffset, o.MatchPatience = true, 25*time.Millisecond, time.Millisecond
	h := newFixture(t, o, writeEntries(t, "map.mcap", true, numberAt("/map", 0, 1), numberAt("/map", 20, 2),
		numberAt("/map", 40, 3)),
		writeNumbers(t, 9, 10))
	h.subscribe("/map", "std_msgs/msg/UInt32", bridge.LatchedQoS())
	h.subscribe("/n", "std_msgs/msg/UInt32", keepAll())
	h.open()
	h.requireNumbers("/map", 2)
	seek := func(ms int64) {
		var response srv.Seek_Response
		h.ask("seek", "Seek", &srv.Seek_Request{Time: builtin_interfaces.TimeAt(epoch + ms*1e6)}, &response)
		require.True(t, response.Success)
	}
	seek(60)
	h.requireNumbers("/map", 2, 3)
	seek(30)
	h.requireNumbers("/map", 2, 3, 2)
	h.ask("resume", "Resume", &srv.Resume_Request{}, &srv.Resume_Response{})
	h.end()
	h.requireNumbers("/map", 2, 3, 2, 3)
	h.requireNumbers("/n", 3, 4, 5, 6, 7, 8)
}

func TestPlayerLockStep(t *testing.T) {
	o := testOptions()
	o.LockStep, o.Clock = 10*time.Millisecond, 100
	h := newFixture(t, o, writeNumbers(t, 5, 5))
	h.subscribe("/n", "std_msgs/msg/UInt32", keepAll())
	h.subscribe("/clock", "rosgraph_msgs/msg/Clock", keepAll())
	h.open()
	step := func() std_srvs.Trigger_Response {
		var response std_srvs.Trigger_Response
		h.call("/player/step", "std_srvs/srv/Trigger", &std_srvs.Trigger_Request{}, &response)
		return response
	}
	require.True(t, step().Success)
	h.requireNumbers("/n", 0, 1)
	require.True(t, step().Success)
	h.requireNumbers("/n", 0, 1, 2, 3)
	require.False(t, step().Success, "the end comes before the end of the step")
	h.end()
	h.requireNumbers("/n", 0, 1, 2, 3, 4)
	require.Eventually(t, func() bool { return len(h.payloads("/clock")) == 4 }, patient, time.Millisecond)
	for i, data := range h.payloads("/clock")[:3] {
		var m rosgraph_msgs.Clock
		require.NoError(t, cdr.Unmarshal(data, &m))
		require.Equal(t, epoch+int64(i)*10e6, m.Clock.Nanoseconds())
	}
}

func TestPlayerIsAcknowledged(t *testing.T) {
	o := testOptions()
	o.LockStep, o.LockStepTopic, o.ClockTopicsAll = 10*time.Millisecond, "done", true
	h := newFixture(t, o, writeNumbers(t, 5, 5))
	h.subscribe("/n", "std_msgs/msg/UInt32", keepAll())
	h.open()
	h.requireNumbers("/n", 0, 1)
	p, err := h.listener.Advertise("/done", "std_msgs/msg/UInt32", codec.DefaultQoS())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return p.Subscribers() == 1 }, patient, time.Millisecond)
	ack, err := cdr.Marshal(&std_msgs.UInt32{})
	require.NoError(t, err)
	require.NoError(t, p.Publish(ack))
	h.requireNumbers("/n", 0, 1, 2, 3)
	require.NoError(t, p.Publish(ack))
	h.end()
	h.requireNumbers("/n", 0, 1, 2, 3, 4)
}

func TestPlayerReportsFiles(t *testing.T) {
	useNewestInterfaces(t)
	path := filepath.Join(t.TempDir(), "drive")
	w, err := all.Formats().Create(path, codec.CreateOptions{Format: "rosbag2"})
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
	data, err := cdr.Marshal(&std_msgs.UInt32{})
	require.NoError(t, err)
	var files []string
	for i, at := range []int64{0, 1e6, 2e6, 400e6} {
		if i > 0 {
			require.NoError(t, w.Split())
		}
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: epoch + at, Data: data}))
		files = append(files, filepath.Join(path, fmt.Sprintf("drive_%d.mcap", i)))
	}
	require.NoError(t, w.Close())
	want := [][2]string{{files[0], files[1]}, {files[1], files[2]}, {files[2], files[3]}, {files[3], ""}}
	for _, fast := range []bool{false, true} {
		o := testOptions()
		o.Immediate = fast
		h := newFixture(t, o, path)
		h.subscribe("/events/read_split", "rosbag2_interfaces/msg/ReadSplitEvent", keepAll())
		h.open()
		h.end()
		require.Len(t, h.payloads("/events/read_split"), len(want))
		for i, data := range h.payloads("/events/read_split") {
			var m srv.ReadSplitEvent
			require.NoError(t, cdr.Unmarshal(data, &m))
			require.Equal(t, srv.ReadSplitEvent{ClosedFile: want[i][0], OpenedFile: want[i][1], NodeName: "/player"}, m)
		}
	}
}

// flushed is a publisher that notes the number of messages published before the last flush.
type flushed struct {
	bridge.Publisher
	published, flushed int
}

func (f *flushed) Publish(data []byte) error {
	f.published++
	return f.Publisher.Publish(data)
}

func (f *flushed) Flush(context.Context) error {
	f.flushed = f.published
	return nil
}

// TestClockIsFlushed checks that reliable subscribers of /clock get the time of the end.
func TestClockIsFlushed(t *testing.T) {
	o := testOptions()
	o.Clock = 100
	h := newFixture(t, o, writeNumbers(t, 2, 1))
	clock := &flushed{Publisher: h.output.clock.Publisher}
	h.output.clock.Publisher = clock
	h.open()
	h.end()
	require.Positive(t, clock.published)
	require.Equal(t, clock.published, clock.flushed)
}

// Seeking on the page to a time after the end seeks to the end.
func TestPageSeeksToTheEnd(t *testing.T) {
	o := testOptions()
	o.StartPaused = true
	h := newFixture(t, o, writeNumbers(t, 3, 1000))
	h.open()
	g := &page{player: h.player, starts: []int64{epoch}}
	for value, want := range map[float64]int64{1: epoch + 1e9, 1e300: epoch + 2e9 + 1, -1e300: epoch} {
		require.NoError(t, g.Do(t.Context(), livepage.Command{Name: "seek", Value: value}))
		require.Equal(t, want, h.state().position, value)
	}
}
