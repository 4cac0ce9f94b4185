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

// Kinds of submessages in RTPS 2.3, section 9.4.5.
const (
	acknack   = 0x06
	heartbeat = 0x07
	infoDst   = 0x0e
	data      = 0x15
	frag      = 0x16
)

// Parameter ids in RTPS 2.3, section 9.6.2.
const (
	pidSentinel              = 0x01
	pidLeaseDuration         = 0x02
	pidTopicName             = 0x05
	pidTypeName              = 0x07
	pidProtocolVersion       = 0x15
	pidVendorID              = 0x16
	pidReliability           = 0x1a
	pidDefaultUnicastLocator = 0x31
	pidMetatrafficLocator    = 0x32 // unicast
	pidParticipantGUID       = 0x50
	pidBuiltinEndpointSet    = 0x58
	pidEndpointGUID          = 0x5a
)

// fastPeer is a participant with one writer and one reader that behaves on the network like Fast DDS 2.6. It sends
// samples and announcements again only if the node requests them.
type fastPeer struct {
	t      *testing.T
	socket *net.UDPConn
	prefix [12]byte
	node   bridge.GUID // participant of the node under test
	ports  []int       // UDP ports on which the node may listen

	// Set before announce.
	extraParameters [][]byte // in the announcements of the writer and the reader

	mu           sync.Mutex
	sent         map[entity][][]byte // samples by writer: flags, then the bytes of Data after the sequence number
	count        uint32              // count field of the last Heartbeat or AckNack
	announced    []map[uint16][]byte // parameters of the endpoints that the node has announced
	requestAgain int                 // number of further samples that peerReader requests again
	ignored      map[entity]int      // number of further initial AckNacks that a writer ignores, by writer

	heard    atomic.Bool // whether the node has sent the peer anything
	asked    atomic.Bool // whether the node has sent peerWriter an initial AckNack
	received chan sample // samples of all writers of the node except the builtin ones
}

// sample is a Data or DataFrag submessage.
type sample struct {
	kind, flags byte
	writer      bridge.GUID
	sequence    int64  // sequence number
	fragment    []byte // fields of a DataFrag after the sequence number; nil for Data
	inlineQoS   []byte
	payload     []byte
}

// newFastPeer returns a peer of n at 127.0.0.1.
func newFastPeer(t *testing.T, n *node) *fastPeer {
	t.Helper()
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	return newFastPeerOn(t, n, socket)
}

// newFastPeerOn returns a peer of n that receives at the address of socket, and closes socket at the end of the test.
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
	// Until the node knows the participant, it ignores these announcements. Afterwards it must request them.
	p.write(publicationsWriter, p.endpoint(peerWriter, writerTopic, writerType))
	p.write(subscriptionsWriter, p.endpoint(peerReader, readerTopic, readerType))
	own, locator := p.guid(0x000001c1), binary.LittleEndian.AppendUint32(nil, 1) // UDP over IPv4
	address := p.socket.LocalAddr().(*net.UDPAddr)
	locator = binary.LittleEndian.AppendUint32(locator, uint32(address.Port))
	locator = append(append(locator, make([]byte, 12)...), address.IP.To4()...)
	p.write(spdpWriter, plain(parameters(
		parameter(pidProtocolVersion, []byte{2, 2, 0, 0}),
		parameter(pidVendorID, []byte{1, 15, 0, 0}), // Fast DDS
		parameter(pidParticipantGUID, own[:]),
		parameter(pidMetatrafficLocator, locator),
		parameter(pidDefaultUnicastLocator, locator),
		parameter(pidLeaseDuration, []byte{0x10, 0x0e, 0, 0, 0, 0, 0, 0}), // 3600 s
		parameter(pidBuiltinEndpointSet, []byte{0x3f, 0, 0, 0}),           // participants, publications, subscriptions
	)))
}

// endpoint returns the announcement of a writer or reader.
func (p *fastPeer) endpoint(e entity, topic, typeName string) []byte {
	guid := p.guid(e)
	return plain(parameters(append(p.extraParameters,
		parameter(pidEndpointGUID, guid[:]),
		parameter(pidTopicName, cdrString(topic)),
		parameter(pidTypeName, cdrString(typeName)),
		parameter(pidReliability, []byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), // reliable
	)...))
}

// parameter returns a parameter of a little-endian list. The size of value must be a multiple of 4.
func parameter(pid uint16, value []byte) []byte {
	b := binary.LittleEndian.AppendUint16(nil, pid)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
	return append(b, value...)
}

// parameters returns a payload that is a little-endian list of parameters: PL_CDR_LE.
func parameters(list ...[]byte) []byte {
	return append(append([]byte{0, 3, 0, 0}, slices.Concat(list...)...), pidSentinel, 0, 0, 0)
}

// cdrString returns a little-endian CDR string, padded with zeros to a multiple of 4 bytes.
func cdrString(s string) []byte {
	b := append(binary.LittleEndian.AppendUint32(nil, uint32(len(s)+1)), s...)
	return append(b, make([]byte, 4-len(s)%4)...)
}

// parseParameters returns the values in a little-endian list of parameters by parameter id.
func parseParameters(list []byte) map[uint16][]byte {
	values := make(map[uint16][]byte)
	for len(list) >= 4 && list[0] != pidSentinel {
		size := int(binary.LittleEndian.Uint16(list[2:]))
		values[binary.LittleEndian.Uint16(list)] = list[4 : 4+size]
		list = list[4+size:]
	}
	return values
}

// plain returns a sample for write that consists of a payload: the flags of a little-endian Data submessage, then the
// payload.
func plain(payload []byte) []byte { return append([]byte{0x05}, payload...) }

// related returns a sample for write that has inline QoS, such as the identity of a related request: the flags of a
// little-endian Data submessage, the inline QoS and the payload.
func related(inlineQoS, payload []byte) []byte {
	return slices.Concat([]byte{0x07}, inlineQoS, payload)
}

// write sends a sample, made by plain or related. The peer sends the sample again when the node requests it.
func (p *fastPeer) write(writer entity, s []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent[writer] = append(p.sent[writer], s)
	p.send(p.data(writer, len(p.sent[writer])))
}

// data returns the Data submessage of a sample that was written. p.mu is held.
func (p *fastPeer) data(writer entity, sequence int) []byte {
	flags, rest := p.sent[writer][sequence-1][0], p.sent[writer][sequence-1][1:]
	order := binary.AppendByteOrder(binary.LittleEndian)
	if flags&1 == 0 {
		order = binary.BigEndian
	}
	reader := map[entity]entity{ // of others 0: all readers of the writer
		spdpWriter:          spdpReader,
		publicationsWriter:  publicationsReader,
		subscriptionsWriter: subscriptionsReader,
	}[writer]
	b := []byte{0, 0}
	b = order.AppendUint16(b, 16) // bytes from here to the inline QoS or the payload
	b = binary.BigEndian.AppendUint32(b, uint32(reader))
	b = binary.BigEndian.AppendUint32(b, uint32(writer))
	b = order.AppendUint32(b, uint32(sequence>>32))
	b = order.AppendUint32(b, uint32(sequence))
	b = append(b, rest...)
	head := order.AppendUint16([]byte{data, flags}, uint16(len(b)))
	return append(head, b...)
}

// send sends submessages to all ports on which the node may listen.
func (p *fastPeer) send(submessages ...[]byte) {
	message := append([]byte("RTPS\x02\x02\x01\x0f"), p.prefix[:]...)
	message = append(message, slices.Concat(submessages...)...)
	for _, port := range p.ports {
		// An error does not matter: the network may lose the message, too.
		_, _ = p.socket.WriteToUDP(message, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	}
}

// heartbeat announces all samples of a writer that were written. p.mu is held.
func (p *fastPeer) heartbeat(writer entity) {
	p.count++
	b := binary.BigEndian.AppendUint32([]byte{heartbeat, 1, 28, 0, 0, 0, 0, 0}, uint32(writer))
	for _, x := range []uint32{0, 1, 0, uint32(len(p.sent[writer])), p.count} {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	p.send(b)
}

// acknowledge acknowledges the samples of a writer of the node before base, and requests those whose bits are set, of
// which the first is base. p.mu is held.
func (p *fastPeer) acknowledge(reader, writer entity, base uint32, bits ...uint32) {
	p.count++
	b := binary.BigEndian.AppendUint32([]byte{acknack, 3, byte(24 + 4*len(bits)), 0}, uint32(reader))
	b = binary.BigEndian.AppendUint32(b, uint32(writer))
	for _, x := range slices.Concat([]uint32{0, base, uint32(len(bits))}, bits, []uint32{p.count}) {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	p.send(slices.Concat([]byte{infoDst, 1, 12, 0}, p.node[:12], b))
}

// handle answers a message of the node, and ignores messages of other participants.
func (p *fastPeer) handle(message []byte) {
	if len(message) < 20 || [12]byte(message[8:20]) != [12]byte(p.node[:]) {
		return
	}
	p.heard.Store(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	for rest := message[20:]; len(rest) >= 4; {
		kind, flags, size := rest[0], rest[1], int(binary.LittleEndian.Uint16(rest[2:]))
		if size == 0 {
			size = len(rest) - 4 // the last submessage may have size 0: it takes the rest of the message
		}
		body := rest[4 : 4+size]
		rest = rest[4+size:]
		switch kind {
		case acknack:
			p.onAckNack(body)
		case heartbeat:
			p.onHeartbeat(body)
		case data, frag:
			p.onData(kind, flags, body)
		}
	}
}

// onAckNack sends the requested samples again. It answers an initial AckNack, which acknowledges and requests nothing,
// with a Heartbeat unless the writer ignores it. p.mu is held.
func (p *fastPeer) onAckNack(body []byte) {
	u32 := binary.LittleEndian.Uint32
	writer, base, bits := entityAt(body, 4), u32(body[12:]), u32(body[16:])
	if bits == 0 && base == 0 {
		p.ignored[writer]--
		if p.ignored[writer] < 0 {
			p.heartbeat(writer)
		}
		if writer == peerWriter {
			p.asked.Store(true)
		}
	}
	for i := range bits {
		requested := u32(body[20+i/32*4:])<<(i%32)>>31 == 1
		if requested && int(base+i) <= len(p.sent[writer]) {
			p.send(p.data(writer, int(base+i)))
		}
	}
}

// onHeartbeat acknowledges all samples of the writer. For peerReader it requests the last one again while requestAgain
// is positive. p.mu is held.
func (p *fastPeer) onHeartbeat(body []byte) {
	writer, last := entityAt(body, 4), binary.LittleEndian.Uint32(body[20:])
	readers := map[entity]entity{
		publicationsWriter:  publicationsReader,
		subscriptionsWriter: subscriptionsReader,
	}
	reader, builtin := readers[writer]
	switch {
	case builtin:
		p.acknowledge(reader, writer, last+1)
	case p.requestAgain > 0 && last > 0:
		p.acknowledge(peerReader, writer, last, 1<<31)
	default:
		p.acknowledge(peerReader, writer, last+1)
	}
}

// onData keeps the announcements of endpoints in announced, and passes samples of writers that are not builtin to
// received. kind is data or frag. p.mu is held.
func (p *fastPeer) onData(kind, flags byte, body []byte) {
	u32 := binary.LittleEndian.Uint32
	writer := entityAt(body, 8)
	s := sample{
		kind: kind, flags: flags,
		writer:   bridge.GUID(slices.Concat(p.node[:12], body[8:12])),
		sequence: int64(u32(body[12:]))<<32 | int64(u32(body[16:])),
		payload:  body[20:],
	}
	if kind == frag {
		s.fragment, s.payload = s.payload[:12], s.payload[12:]
	}
	if flags&2 != 0 { // with inline QoS
		end := 0
		for binary.LittleEndian.Uint16(s.payload[end:]) != pidSentinel {
			end += 4 + int(binary.LittleEndian.Uint16(s.payload[end+2:]))
		}
		s.inlineQoS, s.payload = s.payload[:end+4], s.payload[end+4:]
	}
	const userWriter = 0x03 // kind of a writer without key that is not builtin
	switch {
	case writer&0xff == userWriter:
		p.requestAgain--
		p.received <- s
	case (writer == publicationsWriter || writer == subscriptionsWriter) && len(s.payload) > 4:
		p.announced = append(p.announced, parseParameters(s.payload[4:]))
	}
}

// entityAt returns the entity at offset in the body of a submessage.
func entityAt(body []byte, offset int) entity { return entity(binary.BigEndian.Uint32(body[offset:])) }

// next returns the next sample of a writer of the node. It skips samples of other writers, and fails the test if none
// arrives in time.
func (p *fastPeer) next(writer bridge.GUID) sample {
	p.t.Helper()
	for {
		select {
		case s := <-p.received:
			if s.writer == writer {
				return s
			}
		case <-time.After(patience):
			require.FailNow(p.t, "no sample arrived")
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
		ignored int // number of initial AckNacks that each writer of the publisher ignores
	}{
		{"answers each AckNack", 0},
		{"ignores the first AckNacks", 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := newNode(t, "listener")
			const count, before = 5, 3 // samples; those written before the publisher announces its writer
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
				if i == before {
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
					require.FailNow(t, "sample did not arrive", "%d", i)
				}
			}
		})
	}
}
