package dds

import (
	"encoding/binary"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
)

// entity is the last 4 bytes of a GUID.
type entity uint32

// Entities of every participant, and entities of a fastPeer.
const (
	spdpWriter          entity = 0x000100c2
	spdpReader          entity = 0x000100c7
	publicationsWriter  entity = 0x000003c2
	publicationsReader  entity = 0x000003c7
	subscriptionsWriter entity = 0x000004c2
	subscriptionsReader entity = 0x000004c7
	peerWriter          entity = 0x00001203
	peerReader          entity = 0x00001104
)

// Submessages that the tests use, with their numbers in RTPS 2.3, section 9.4.5.
const (
	acknack   = 0x06
	heartbeat = 0x07
	infoDst   = 0x0e
	data      = 0x15
	frag      = 0x16
)

// fastPeer is a participant with one writer and one reader that behaves on the network like Fast DDS 2.6. The methods
// of fastPeer fail the test if an answer does not come.
type fastPeer struct {
	t      *testing.T
	socket *net.UDPConn
	prefix [12]byte
	node   bridge.GUID // participant of the node under test
	ports  []int       // UDP ports on which the node may listen

	mu     sync.Mutex
	sent   map[entity][][]byte // samples by writer, each the bytes of a Data submessage after the sequence number
	count  uint32              // count field of the last heartbeat or acknack
	told   []map[uint16][]byte // parameters of the endpoints that the node has announced
	missed int                 // number of further samples that peerReader claims to have missed

	described [][]byte // further parameters of the writer and the reader

	ignored map[entity]int // number of further AckNacks that a writer ignores, by writer

	heard    atomic.Bool // whether the node has sent the peer anything
	asked    atomic.Bool // whether the node has sent peerWriter an AckNack
	received chan sample // samples for peerReader
}

// sample is a Data or DataFrag submessage.
type sample struct {
	kind, flags byte
	writer      bridge.GUID
	sequence    int64
	fragment    []byte // fields of a DataFrag after the sequence number; nil for Data
	inlineQoS   []byte
	payload     []byte
}

func newFastPeer(t *testing.T, n *node) *fastPeer {
	t.Helper()
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	return newFastPeerOn(t, n, socket)
}

func newFastPeerOn(t *testing.T, n *node, socket *net.UDPConn) *fastPeer {
	t.Helper()
	require.NoError(t, socket.SetReadBuffer(1<<20))
	p := &fastPeer{
		t: t, socket: socket, prefix: [12]byte{0x01, 0x0f}, node: n.guid,
		sent: make(map[entity][][]byte), received: make(chan sample, 1000),
		ignored: make(map[entity]int),
	}
	binary.BigEndian.PutUint64(p.prefix[4:], uint64(time.Now().UnixNano()))
	for index := range 20 {
		p.ports = append(p.ports, 7400+250*n.domain.id+10+2*index, 7400+250*n.domain.id+11+2*index)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 1<<16)
		for {
			size, err := socket.Read(buffer)
			if err != nil {
				return
			}
			p.handle(slices.Clone(buffer[:size]))
		}
	}()
	t.Cleanup(func() {
		socket.Close()
		<-done
	})
	return p
}

func (p *fastPeer) guid(e entity) bridge.GUID {
	return bridge.GUID(binary.BigEndian.AppendUint32(p.prefix[:12:12], uint32(e)))
}

// announce makes the node discover the participant, its writer and its reader.
func (p *fastPeer) announce(writerTopic, writerType, readerTopic, readerType string) {
	// The node takes no notice of endpoints until it knows the participant, but must then ask for them.
	p.write(publicationsWriter, p.endpoint(peerWriter, writerTopic, writerType))
	p.write(subscriptionsWriter, p.endpoint(peerReader, readerTopic, readerType))
	own, locator := p.guid(0x000001c1), binary.LittleEndian.AppendUint32(nil, 1) // UDP over IPv4
	address := p.socket.LocalAddr().(*net.UDPAddr)
	locator = binary.LittleEndian.AppendUint32(locator, uint32(address.Port))
	locator = append(append(locator, make([]byte, 12)...), address.IP.To4()...)
	p.write(spdpWriter, plain(parameters(
		parameter(0x15, []byte{2, 2, 0, 0}), parameter(0x16, []byte{1, 15, 0, 0}), parameter(0x50, own[:]),
		parameter(0x32, locator), parameter(0x31, locator), parameter(0x02, []byte{0x10, 0x0e, 0, 0, 0, 0, 0, 0}),
		parameter(0x58, []byte{0x3f, 0, 0, 0}))))
}

// endpoint returns the announcement of a writer or reader.
func (p *fastPeer) endpoint(e entity, topic, kind string) []byte {
	guid := p.guid(e)
	return plain(parameters(append(p.described, parameter(0x5a, guid[:]), parameter(0x05, cdrString(topic)),
		parameter(0x07, cdrString(kind)), parameter(0x1a, []byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}))...))
}

func parameter(pid uint16, value []byte) []byte {
	b := binary.LittleEndian.AppendUint16(nil, pid)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
	return append(b, value...)
}

func parameters(list ...[]byte) []byte {
	return append(append([]byte{0, 3, 0, 0}, slices.Concat(list...)...), 1, 0, 0, 0)
}

func cdrString(s string) []byte {
	b := append(binary.LittleEndian.AppendUint32(nil, uint32(len(s)+1)), s...)
	return append(b, make([]byte, 4-len(s)%4)...)
}

// parseParameters returns the values in a list of parameters.
func parseParameters(list []byte) map[uint16][]byte {
	values := make(map[uint16][]byte)
	for len(list) >= 4 && list[0] != 1 {
		size := int(binary.LittleEndian.Uint16(list[2:]))
		values[binary.LittleEndian.Uint16(list)] = list[4 : 4+size]
		list = list[4+size:]
	}
	return values
}

// plain returns the rest of a Data submessage, which begins here with the flags, with a payload alone; related, one
// with inline QoS before it.
func plain(payload []byte) []byte { return append([]byte{0x05}, payload...) }

func related(inlineQoS, payload []byte) []byte {
	return slices.Concat([]byte{0x07}, inlineQoS, payload)
}

// write sends a sample. The peer sends the sample again when the node requests it.
func (p *fastPeer) write(writer entity, rest []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent[writer] = append(p.sent[writer], rest)
	p.send(p.data(writer, len(p.sent[writer])))
}

func (p *fastPeer) data(writer entity, sequence int) []byte {
	rest := p.sent[writer][sequence-1]
	order := binary.AppendByteOrder(binary.LittleEndian)
	if rest[0]&1 == 0 {
		order = binary.BigEndian
	}
	b := []byte{0, 0}
	b = order.AppendUint16(b, 16)
	b = binary.BigEndian.AppendUint32(b, map[entity]uint32{spdpWriter: uint32(spdpReader),
		publicationsWriter:  uint32(publicationsReader),
		subscriptionsWriter: uint32(subscriptionsReader)}[writer])
	b = binary.BigEndian.AppendUint32(b, uint32(writer))
	b = order.AppendUint32(b, uint32(sequence>>32))
	b = order.AppendUint32(b, uint32(sequence))
	b = append(b, rest[1:]...)
	head := order.AppendUint16([]byte{data, rest[0]}, uint16(len(b)))
	return append(head, b...)
}

// send sends submessages to the node.
func (p *fastPeer) send(submessages ...[]byte) {
	message := append([]byte("RTPS\x02\x02\x01\x0f"), p.prefix[:]...)
	message = append(message, slices.Concat(submessages...)...)
	for _, port := range p.ports {
		// the network may lose it
		_, _ = p.socket.WriteToUDP(message, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	}
}

func (p *fastPeer) heartbeat(writer entity) {
	p.count++
	b := binary.BigEndian.AppendUint32([]byte{heartbeat, 1, 28, 0, 0, 0, 0, 0}, uint32(writer))
	for _, x := range []uint32{0, 1, 0, uint32(len(p.sent[writer])), p.count} {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	p.send(b)
}

func (p *fastPeer) acknowledge(reader, writer entity, base uint32, bits ...uint32) {
	p.count++
	b := binary.BigEndian.AppendUint32([]byte{acknack, 3, byte(24 + 4*len(bits)), 0}, uint32(reader))
	b = binary.BigEndian.AppendUint32(b, uint32(writer))
	for _, x := range slices.Concat([]uint32{0, base, uint32(len(bits))}, bits, []uint32{p.count}) {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	p.send(slices.Concat([]byte{infoDst, 1, 12, 0}, p.node[:12], b))
}

// handle answers the messages of the node.
func (p *fastPeer) handle(message []byte) {
	if len(message) < 20 || [12]byte(message[8:20]) != [12]byte(p.node[:]) {
		return
	}
	p.heard.Store(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	u32 := binary.LittleEndian.Uint32
	id := func(b []byte) entity { return entity(binary.BigEndian.Uint32(b)) }
	for rest := message[20:]; len(rest) >= 4; {
		kind, flags, size := rest[0], rest[1], int(binary.LittleEndian.Uint16(rest[2:]))
		if size == 0 {
			size = len(rest) - 4
		}
		body := rest[4 : 4+size]
		rest = rest[4+size:]
		switch kind {
		case acknack:
			writer, base, bits := id(body[4:]), u32(body[12:]), u32(body[16:])
			if bits == 0 && base == 0 {
				p.ignored[writer]--
				if p.ignored[writer] < 0 {
					p.heartbeat(writer)
				}
				p.asked.Store(p.asked.Load() || writer == peerWriter)
			}
			for i := range bits {
				if u32(body[20+i/32*4:])<<(i%32)>>31 == 1 && int(base+i) <= len(p.sent[writer]) {
					p.send(p.data(writer, int(base+i)))
				}
			}
		case heartbeat:
			writer, last := id(body[4:]), u32(body[20:])
			switch reader, builtin := map[entity]entity{publicationsWriter: publicationsReader,
				subscriptionsWriter: subscriptionsReader}[writer]; {
			case builtin:
				p.acknowledge(reader, writer, last+1)
			case p.missed > 0 && last > 0:
				p.acknowledge(peerReader, writer, last, 1<<31)
			default:
				p.acknowledge(peerReader, writer, last+1)
			}
		case data, frag:
			s := sample{kind: kind, flags: flags, writer: bridge.GUID(slices.Concat(message[8:20], body[8:12])),
				sequence: int64(u32(body[12:]))<<32 | int64(u32(body[16:]))}
			s.payload = body[20:]
			if kind == frag {
				s.fragment, s.payload = s.payload[:12], s.payload[12:]
			}
			if flags&2 != 0 {
				end := 0
				for binary.LittleEndian.Uint16(s.payload[end:]) != 1 {
					end += 4 + int(binary.LittleEndian.Uint16(s.payload[end+2:]))
				}
				s.inlineQoS, s.payload = s.payload[:end+4], s.payload[end+4:]
			}
			if body[11] != 0x03 { // of a builtin writer
				w := id(body[8:])
				if (w == publicationsWriter || w == subscriptionsWriter) && len(s.payload) > 4 {
					p.told = append(p.told, parseParameters(s.payload[4:]))
				}
				continue
			}
			p.missed--
			p.received <- s
		}
	}
}

// next returns the next sample of a writer.
func (p *fastPeer) next(writer bridge.GUID) sample {
	p.t.Helper()
	for {
		select {
		case s := <-p.received:
			if s.writer == writer {
				return s
			}
		case <-time.After(patience):
			require.FailNow(p.t, "no sample comes")
		}
	}
}

// inlineIdentity returns an identity as Fast DDS encodes identities in the inline QoS.
func inlineIdentity(order binary.AppendByteOrder, pid uint16, id identity) []byte {
	b := order.AppendUint16(nil, pid)
	b = order.AppendUint16(b, 24)
	b = append(b, id.guid[:]...)
	b = order.AppendUint32(b, uint32(id.sequence>>32))
	return order.AppendUint32(b, uint32(id.sequence))
}

// TestFirstSamplesOfFastDDS checks that a subscription receives samples that a Fast DDS publisher wrote before the
// subscription discovered the publisher. The publisher repeats samples and announcements only on request.
func TestFirstSamplesOfFastDDS(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		ignored int
	}{
		{"knows the node", 0},
		{"ignores the first questions", 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := newNode(t, "listener")
			const count = 5
			received := make(chan []byte, count)
			_, err := n.Subscribe("bytes", bridgetest.BytesType, codec.DefaultQoS(), func(batch []bridge.Sample) {
				for _, s := range batch {
					received <- slices.Clone(s.Data)
				}
			})
			require.NoError(t, err)
			p := newFastPeer(t, n)
			for _, writer := range []entity{publicationsWriter, subscriptionsWriter, peerWriter} {
				p.ignored[writer] = test.ignored
			}
			for i := range count {
				if i == 3 {
					p.announce(bridge.TopicToDDS("/test/bytes"), bridge.TypeToDDS(bridgetest.BytesType),
						bridge.TopicToDDS("/test/other"), bridge.TypeToDDS(bridgetest.BytesType))
				}
				p.write(peerWriter, plain(bridgetest.Pattern(16, i)))
			}
			for i := range count {
				select {
				case data := <-received:
					require.Equal(t, bridgetest.Pattern(16, i), data)
				case <-time.After(patience):
					require.FailNow(t, "samples are missing", "%d", i)
				}
			}
		})
	}
}
