package bridgetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
)

// quiet is the time without a message after which tests assume that no message comes.
const quiet = 500 * time.Millisecond

// Open opens a node, or fails the test. The nodes of one test must find each other and run in the test's process.
type Open func(t *testing.T, o bridge.Options) bridge.Node

// conform runs the tests that every implementation of bridge.Node must pass. Each test opens nodes in its own namespace
// and closes them. oneType means that a node cannot have endpoints of two types on one topic, as with Fast DDS.
func conform(t *testing.T, openNode func(bridge.Options) (bridge.Node, error), oneType bool) {
	open := func(t *testing.T, o bridge.Options) bridge.Node {
		n, err := openNode(o)
		require.NoError(t, err)
		return n
	}
	tests := []struct {
		name string
		run  func(*testing.T, Open)
	}{
		{"Messages", testMessages},
		{"Order", testOrder},
		{"SourceTime", testSourceTime},
		{"SameNode", testSameNode},
		{"PublishFromHandler", testPublishFromHandler},
		{"Retain", testRetain},
		{"TransientLocal", testTransientLocal},
		{"Volatile", testVolatile},
		{"BestEffort", testBestEffort},
		{"TypesApart", func(t *testing.T, open Open) { testTypesApart(t, open, oneType) }},
		{"ManySubscriptions", testManySubscriptions},
		{"SlowHandler", testSlowHandler},
		{"SlowHandlers", testSlowHandlers},
		{"CloseFromHandler", testCloseFromHandler},
		{"Subscribers", testSubscribers},
		{"CloseSubscription", testCloseSubscription},
		{"CloseInTraffic", testCloseInTraffic},
		{"AfterClose", testAfterClose},
		{"InvalidNames", testInvalidNames},
		{"Remap", testRemap},
		{"Graph", testGraph},
		{"Watch", testWatch},
		{"Call", testCall},
		{"Client", testClient},
		{"ConcurrentCalls", testConcurrentCalls},
		{"TwoClients", testTwoClients},
		{"CallBeforeServer", testCallBeforeServer},
		{"LargeRequest", testLargeRequest},
		{"CallCancelled", testCallCancelled},
		{"ServerError", testServerError},
		{"CloseService", testCloseService},
		{"RemapService", testRemapService},
		{"Parameters", testParameters},
		{"DeclaredFirst", testDeclaredFirst},
		{"ParameterEvents", testParameterEvents},
		{"Rosout", testRosout},
		{"SimTime", testSimTime},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, open) })
	}
}

func TestNetwork(t *testing.T) {
	var network Network
	conform(t, network.Open, false)
}

// start opens a node in the test's namespace. The node is closed at the end of the test.
func start(t *testing.T, open Open, name string, with ...func(*bridge.Options)) bridge.Node {
	t.Helper()
	o := bridge.Options{Name: name, Namespace: namespace(t), Domain: -1, LogLevel: bridge.Fatal}
	for _, w := range with {
		w(&o)
	}
	n := open(t, o)
	t.Cleanup(func() { n.Close() })
	return n
}

// namespace returns the namespace of a test. Tests have different namespaces, so that they may run at the same time.
func namespace(t *testing.T) string {
	name := strings.Map(func(r rune) rune {
		if r == '/' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, t.Name())
	return "/" + strings.ToLower(name)
}

// pair opens two nodes in the test's namespace.
func pair(t *testing.T, open Open) (talker, listener bridge.Node) {
	t.Helper()
	return start(t, open, "talker"), start(t, open, "listener")
}

// patient returns a context with the timeout patience.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func advertise(t *testing.T, n bridge.Node, topic, typeName string, qos codec.QoS) bridge.Publisher {
	t.Helper()
	p, err := n.Advertise(topic, typeName, qos)
	require.NoError(t, err)
	return p
}

func subscribe(t *testing.T, n bridge.Node, topic, typeName string, qos codec.QoS) *inbox {
	t.Helper()
	b := new(inbox)
	var err error
	b.Subscription, err = n.Subscribe(topic, typeName, qos, b.handle)
	require.NoError(t, err)
	return b
}

// awaitMatch waits until p has the given number of subscribers and each of the nodes knows p.
func awaitMatch(t *testing.T, p bridge.Publisher, subscribers int, nodes ...bridge.Node) {
	t.Helper()
	eventually(t, "publisher and subscribers match", func() bool { return p.Subscribers() == subscribers })
	for _, n := range nodes {
		eventually(t, "the publisher is in the graph", func() bool { return len(topic(n, p.Topic()).Publishers) > 0 })
	}
}

// topic returns a topic of the graph, or the zero value if there is none.
func topic(n bridge.Node, name string) bridge.Topic {
	for _, t := range n.Topics() {
		if t.Name == name {
			return t
		}
	}
	return bridge.Topic{}
}

// keepAll returns a QoS with which no message may be lost.
func keepAll() codec.QoS {
	q := codec.DefaultQoS()
	q.History = codec.KeepAll
	return q
}

// received is a sample with a copy of its payload.
type received struct {
	data      []byte
	sent, got int64 // ns since the Unix epoch
	monotonic int64 // time of reception by bridge.Monotonic
	lost      uint64
	publisher bridge.GUID
	sequence  uint64
}

// inbox is a subscription that stores all samples.
type inbox struct {
	bridge.Subscription

	mu      sync.Mutex
	samples []received
}

func (b *inbox) handle(batch []bridge.Sample) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range batch {
		b.samples = append(b.samples, received{
			data: bytes.Clone(s.Data), sent: s.SourceTime, got: s.ReceiveTime, monotonic: s.Received, lost: s.Lost,
			publisher: s.Publisher, sequence: s.Sequence,
		})
	}
}

func (b *inbox) all() []received {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.samples)
}

// wait returns all samples as soon as there are n.
func (b *inbox) wait(t *testing.T, n int) []received {
	t.Helper()
	var samples []received
	require.Eventually(t, func() bool {
		samples = b.all()
		return len(samples) >= n
	}, patience, time.Millisecond, "%d samples on %s", n, b.Topic())
	return samples
}

// payload returns a little-endian encapsulation header and body.
func payload(body ...byte) []byte { return append([]byte{0, 1, 0, 0}, body...) }

// text returns a std_msgs/msg/String.
func text(s string) []byte {
	b := binary.LittleEndian.AppendUint32(payload(), uint32(len(s)+1))
	return append(append(b, s...), 0)
}

// number returns a std_msgs/msg/UInt64.
func number(n int) []byte { return binary.LittleEndian.AppendUint64(payload(), uint64(n)) }

// numbers returns the numbers in samples of std_msgs/msg/UInt64.
func numbers(t *testing.T, samples []received) []int {
	t.Helper()
	list := make([]int, len(samples))
	for i, s := range samples {
		require.Len(t, s.data, 12)
		list[i] = int(binary.LittleEndian.Uint64(s.data[4:]))
	}
	return list
}

// count returns the integers from from up to to-1.
func count(from, to int) []int {
	var list []int
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

// blob returns a std_msgs/msg/UInt8MultiArray with size bytes of data.
func blob(size int) []byte {
	b := append(payload(), make([]byte, 8)...)
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	for i := range size {
		b = append(b, byte(i*7+i>>8))
	}
	return b
}

func marshal(t *testing.T, m msgs.Message) []byte {
	t.Helper()
	data, err := cdr.Marshal(m)
	require.NoError(t, err)
	return data
}

// requirePayload compares payloads. The middleware may have added padding, and the length of the padding in the
// encapsulation header.
func requirePayload(t *testing.T, want, got []byte) {
	t.Helper()
	require.GreaterOrEqual(t, len(got), len(want))
	require.Less(t, len(got)-len(want), 4, "padding")
	require.Equal(t, want[:2], got[:2], "encapsulation")
	if !bytes.Equal(want[4:], got[4:len(want)]) {
		require.FailNow(t, "payloads differ", "%d bytes sent, %d received", len(want), len(got))
	}
}
