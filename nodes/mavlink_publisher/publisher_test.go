package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bluenviron/gomavlib/v3/pkg/dialect"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
	"github.com/bluenviron/gomavlib/v3/pkg/frame"
	"github.com/bluenviron/gomavlib/v3/pkg/message"
	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/bridge/translate/mavros"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/builtin_interfaces"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/rosgraph_msgs"
)

const began = int64(1764000000e9) // ns since the Unix epoch

// logWriter makes a telemetry log.
type logWriter struct {
	t    *testing.T
	file *os.File
	out  frame.Writer
	now  int64 // ns since the Unix epoch

	statuses []diag.DiagnosticStatus // at the end of run
	summary  string
	lines    []string // log lines
}

func newLogWriter(t *testing.T) *logWriter {
	f, err := os.Create(filepath.Join(t.TempDir(), "test.tlog"))
	require.NoError(t, err)
	codecs := &dialect.ReadWriter{Dialect: ardupilotmega.Dialect}
	require.NoError(t, codecs.Initialize())
	w := &logWriter{t: t, file: f, now: began, out: frame.Writer{ByteWriter: f, DialectRW: codecs}}
	require.NoError(t, w.out.Initialize())
	return w
}

// add adds a message of a component, and a tenth of a second.
func (w *logWriter) add(system, component byte, m message.Message) {
	_, err := w.file.Write(binary.BigEndian.AppendUint64(nil, uint64(w.now/1e3)))
	require.NoError(w.t, err)
	known := w.out.DialectRW.GetMessage(m.GetID())
	f := &frame.V2Frame{SystemID: system, ComponentID: component, Message: known.Write(m, true)}
	f.Checksum = f.GenerateChecksum(known.CRCExtra())
	require.NoError(w.t, w.out.Write(f))
	w.now += 1e8
}

// loggedNode keeps its log lines.
type loggedNode struct {
	bridge.Node
	mu    sync.Mutex
	lines []string
}

func (n *loggedNode) Log(_ bridge.LogLevel, format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

// run publishes the log on its own network until it ends, and returns payloads and offered QoS by topic, after checking
// the number of messages of some topics.
func (w *logWriter) run(o options, want map[string]int, vehicles ...entry) (map[string][][]byte, map[string]codec.QoS) {
	t := w.t
	require.NoError(t, w.file.Close())
	for _, e := range vehicles {
		e.Source = w.file.Name()
	}
	var network bridgetest.Network
	node, err := network.Open(bridge.Options{Name: "mavlink_publisher"})
	require.NoError(t, err)
	logged := &loggedNode{Node: node}
	defer func() { w.lines = logged.lines }()
	listener, err := network.Open(bridge.Options{Name: "listener"})
	require.NoError(t, err)
	var mu sync.Mutex
	heard, offered := map[string][][]byte{}, map[string]codec.QoS{}
	listen := func() {
		mu.Lock()
		defer mu.Unlock()
		for _, topic := range listener.Topics() {
			if _, known := offered[topic.Name]; known || len(topic.Publishers) == 0 || topic.Name == "/rosout" ||
				topic.Name == "/parameter_events" {
				continue
			}
			offered[topic.Name] = topic.Publishers[0].QoS
			request, _ := bridge.AdaptQoS([]codec.QoS{topic.Publishers[0].QoS})
			_, err := listener.Subscribe(topic.Name, topic.Types[0], request, func(list []bridge.Sample) {
				mu.Lock()
				defer mu.Unlock()
				for _, s := range list {
					heard[topic.Name] = append(heard[topic.Name], slices.Clone(s.Data))
				}
			})
			if err != nil {
				t.Error(err) // not in the goroutine of the test
			}
		}
	}
	changed := listener.Watch(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		for range changed {
			listen()
		}
	})
	groups, err := group(vehicles)
	require.NoError(t, err)
	p, err := newPublisher(logged, time.Now(), &o, groups)
	require.NoError(t, err)
	listen() // now, as the change of the graph may be reported after the end
	require.NoError(t, p.run(t.Context()))
	w.statuses, w.summary = p.statuses(), p.links[0].summary()
	require.NoError(t, p.close())
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		for topic, n := range want {
			if len(heard[topic]) < n {
				return false
			}
		}
		return true
	}, 90*time.Second, time.Millisecond)
	require.NoError(t, node.Close())
	require.NoError(t, listener.Close())
	for topic, n := range want {
		require.Len(t, heard[topic], n, topic)
	}
	watching.Wait()
	return heard, offered
}

// logOptions returns options to publish at full speed, after every topic has a subscriber.
func logOptions() options {
	o := defaultOptions()
	o.Rate, o.MatchPatience, o.AwaitSubs = 0, 0, true
	return o
}

func heartbeat(autopilot ardupilotmega.MAV_AUTOPILOT) *ardupilotmega.MessageHeartbeat {
	return &ardupilotmega.MessageHeartbeat{Type: ardupilotmega.MAV_TYPE_QUADROTOR, Autopilot: autopilot}
}

func arduPilot() *ardupilotmega.MessageHeartbeat {
	return heartbeat(ardupilotmega.MAV_AUTOPILOT_ARDUPILOTMEGA)
}

func px4() *ardupilotmega.MessageHeartbeat { return heartbeat(ardupilotmega.MAV_AUTOPILOT_PX4) }

func TestLogSystems(t *testing.T) {
	w := newLogWriter(t)
	w.add(255, 190, &ardupilotmega.MessageHeartbeat{Type: ardupilotmega.MAV_TYPE_GCS,
		Autopilot: ardupilotmega.MAV_AUTOPILOT_INVALID})
	w.add(51, 68, &common.MessageRadioStatus{})
	w.add(3, 1, &common.MessageAttitude{})
	w.add(3, 1, arduPilot())
	w.add(3, 154, &ardupilotmega.MessageHeartbeat{Type: ardupilotmega.MAV_TYPE_GIMBAL,
		Autopilot: ardupilotmega.MAV_AUTOPILOT_INVALID})
	w.add(3, 154, &common.MessageAttitude{})
	w.add(9, 1, px4())
	w.add(9, 1, &common.MessageAttitude{})
	w.add(3, 1, &common.MessageAttitude{})
	o := logOptions()
	_, offered := w.run(o, map[string]int{"/mavros/imu/data": 2, "/uas9/imu/data": 1},
		entry{"mavros", &o.vehicleOptions})
	require.Equal(t, w.file.Name()+": 9 frames, 0 with a bad checksum, 5 messages published", w.summary)
	require.Len(t, offered, 2*int(mavros.TopicCount)+1)
	for name, qos := range offered {
		if name != "/diagnostics" { // no message may be lost at full speed
			require.Equal(t, [2]string{"reliable", "keep_all"}, [2]string{string(qos.Reliability), string(qos.History)},
				name)
		}
	}
}

func TestLogSystemsByName(t *testing.T) {
	w := newLogWriter(t)
	w.add(3, 1, arduPilot())
	w.add(4, 1, arduPilot())
	w.add(4, 1, arduPilot())
	w.add(5, 1, arduPilot())
	o := logOptions()
	a, b := o.vehicleOptions, o.vehicleOptions
	a.System, b.System = 3, 5
	_, offered := w.run(o, map[string]int{"/a/state": 1, "/b/state": 1}, entry{"a", &a}, entry{"b", &b})
	require.Len(t, offered, 2*int(mavros.TopicCount)+1)
	require.Equal(t, 1, strings.Count(strings.Join(w.lines, "\n"), "system 4 is not published"))
}

func TestLogSilence(t *testing.T) {
	w := newLogWriter(t)
	w.add(3, 1, arduPilot())
	w.now += 20e9
	w.add(255, 190, &ardupilotmega.MessageHeartbeat{Autopilot: ardupilotmega.MAV_AUTOPILOT_INVALID})
	w.add(3, 1, arduPilot())
	w.now += 20e9
	w.add(255, 190, &ardupilotmega.MessageHeartbeat{Autopilot: ardupilotmega.MAV_AUTOPILOT_INVALID})
	o := logOptions()
	o.Clock = 1
	// /clock is published at most once a second
	heard, _ := w.run(o, map[string]int{"/mavros/state": 4, "/clock": 3}, entry{"mavros", &o.vehicleOptions})
	var connected []bool
	for _, data := range heard["/mavros/state"] {
		var m mavros_msgs.State
		require.NoError(t, cdr.Unmarshal(data, &m))
		connected = append(connected, m.Connected)
	}
	require.Equal(t, []bool{true, false, true, false}, connected)
	var clock rosgraph_msgs.Clock
	require.NoError(t, cdr.Unmarshal(heard["/clock"][0], &clock))
	require.Equal(t, builtin_interfaces.TimeAt(began), clock.Clock)

	levels := map[string]byte{}
	for _, s := range w.statuses {
		name := strings.TrimPrefix(s.Name, "/mavlink_publisher: ")
		levels[strings.TrimSuffix(name, o.Source)] = s.Level
	}
	require.Equal(t, map[string]byte{
		"link ": diag.DiagnosticStatus_OK, "mavros: heartbeat": diag.DiagnosticStatus_ERROR,
		"mavros: GPS":     diag.DiagnosticStatus_STALE,
		"mavros: battery": diag.DiagnosticStatus_STALE, "mavros: clock": diag.DiagnosticStatus_OK,
	}, levels)
}

// A log at real speed is published with mavros' QoS.
func TestQoS(t *testing.T) {
	w := newLogWriter(t)
	w.add(3, 1, arduPilot())
	o := logOptions()
	o.Rate = 1
	_, offered := w.run(o, nil, entry{"mavros", &o.vehicleOptions})
	require.Equal(t, bridge.SensorDataQoS(), offered["/mavros/imu/data"])
	require.Equal(t, bridge.SensorDataQoS(), offered["/mavros/battery"])
	require.Equal(t, codec.DefaultQoS(), offered["/mavros/rc/in"])
	require.Equal(t, mavros.StateQoS(), offered["/mavros/state"])
	require.Equal(t, codec.TransientLocal, offered["/mavros/state"].Durability)

	w = newLogWriter(t)
	w.add(3, 1, arduPilot())
	o.Reliable = true
	_, offered = w.run(o, nil, entry{"mavros", &o.vehicleOptions})
	require.Equal(t, codec.Reliable, offered["/mavros/imu/data"].Reliability)
	require.Equal(t, 5, offered["/mavros/imu/data"].Depth)
}

// openNode opens a node on its own network until the test ends.
func openNode(t *testing.T) bridge.Node {
	node, err := new(bridgetest.Network).Open(bridge.Options{Name: "mavlink_publisher"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	return node
}

func TestInvalidSources(t *testing.T) {
	node := openNode(t)
	o := logOptions()
	o.AwaitSubs = false
	o.Source = "somewhere"
	_, err := newPublisher(node, time.Now(), &o, [][]entry{{{"mavros", &o.vehicleOptions}}})
	require.ErrorContains(t, err, "somewhere")
	o.Source = "/no/such/file.tlog"
	live := o.vehicleOptions
	live.Source = "udp://127.0.0.1:9" // never ends
	p, err := newPublisher(node, time.Now(), &o, [][]entry{{{"mavros", &o.vehicleOptions}}, {{"other", &live}}})
	require.NoError(t, err)
	require.ErrorContains(t, p.run(t.Context()), "no such file")
	require.NoError(t, p.close())
	o.Geoid = "/no/such/geoid.pgm"
	_, err = newPublisher(node, time.Now(), &o, [][]entry{{{"mavros", &o.vehicleOptions}}})
	require.ErrorContains(t, err, "geoid.pgm")
}

// An open port without an autopilot is a warning.
func TestSilentPort(t *testing.T) {
	node := openNode(t)
	o := defaultOptions()
	o.Source = "udp://127.0.0.1:9"
	p, err := newPublisher(node, time.Now(), &o, [][]entry{{{"mavros", &o.vehicleOptions}}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.run(ctx) }()
	require.Eventually(t, func() bool { return p.statuses()[0].Message == "nothing arrives" }, 90*time.Second,
		time.Millisecond)
	require.Equal(t, diag.DiagnosticStatus_WARN, p.statuses()[0].Level)
	cancel()
	require.NoError(t, <-ended)
	require.NoError(t, p.close())
}

// stuckNode is a node with a subscriber that blocks publishing.
type stuckNode struct {
	bridge.Node
	begun chan struct{} // closed when Publish begins to block
}

type stuckPublisher struct {
	bridge.Publisher
	begun  chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (n *stuckNode) Advertise(topic, typeName string, qos codec.QoS) (bridge.Publisher, error) {
	p, err := n.Node.Advertise(topic, typeName, qos)
	if topic != "mavros/state" {
		return p, err
	}
	return &stuckPublisher{Publisher: p, begun: n.begun, closed: make(chan struct{})}, err
}

func (n *stuckNode) Log(level bridge.LogLevel, format string, args ...any) {
	if level > bridge.Info {
		panic(fmt.Sprintf(format, args...)) // stopping must not log warnings
	}
}

func (p *stuckPublisher) Publish([]byte) error {
	close(p.begun)
	<-p.closed
	return errors.New("the publisher is closed")
}

func (p *stuckPublisher) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Publisher.Close()
}

func TestStopWithBlockedSubscriber(t *testing.T) {
	w := newLogWriter(t)
	w.add(3, 1, arduPilot())
	w.add(3, 1, &common.MessageAttitude{})
	require.NoError(t, w.file.Close())
	stuck := &stuckNode{Node: openNode(t), begun: make(chan struct{})}
	o := logOptions()
	o.AwaitSubs, o.Source = false, w.file.Name()
	p, err := newPublisher(stuck, time.Now(), &o, [][]entry{{{"mavros", &o.vehicleOptions}}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.run(ctx) }()
	<-stuck.begun
	cancel()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(90 * time.Second):
		t.Fatal("the publisher does not end")
	}
	require.NoError(t, p.close())
}
