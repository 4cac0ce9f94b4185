package recorder

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
)

// Entity ids of the built-in endpoints of a participant.
const (
	spdpWriter          = 0x000100c2
	spdpReader          = 0x000100c7
	publicationsWriter  = 0x000003c2
	publicationsReader  = 0x000003c7
	subscriptionsWriter = 0x000004c2
	subscriptionsReader = 0x000004c7
	livelinessWriter    = 0x000200c2
	livelinessReader    = 0x000200c7
	statelessWriter     = 0x000201c3
	statelessReader     = 0x000201c4
	requestWriter       = 0x000300c3 // TypeLookup
	requestReader       = 0x000300c4
	replyWriter         = 0x000301c3
	replyReader         = 0x000301c4
)

// messagesOfParticipant is the number of messages until a participant leaves and another one appears. A damaged
// heartbeat or gap may announce high sequence numbers, after which receivers ignore the participant's messages.
const messagesOfParticipant = 200

// attacker imitates a participant that sends damaged discovery messages to the participants on 127.0.0.1: SPDP, SEDP,
// TypeLookup and the rest of RTPS, by the DDSI-RTPS specification 2.3 of OMG (chapters 8.3, 9.4 and 9.6) and DDS-XTypes
// 1.3 (chapter 7.6.3).
type attacker struct {
	// Replies are complete RTPS messages, which the attacker also damages and sends.
	Replies [][]byte

	random    *rand.Rand
	socket    *net.UDPConn
	ports     []int             // of the attacked participants
	prefix    [12]byte          // of the participant's GUIDs
	sequences map[uint32]uint32 // last sequence number, by writer
	left      int               // messages until the participant leaves
}

// newAttacker returns an attacker on a DDS domain. The seed decides which packets it sends.
func newAttacker(domain int, seed uint64) (*attacker, error) {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("open a socket to attack from: %w", err)
	}
	a := &attacker{random: rand.New(rand.NewPCG(seed, 1)), socket: socket}
	for index := range 4 {
		a.ports = append(a.ports, 7400+250*domain+10+2*index)
	}
	return a, nil
}

// Close closes the socket.
func (a *attacker) Close() error { return a.socket.Close() }

// Attack sends the next damaged message.
func (a *attacker) Attack() error {
	if a.left == 0 {
		if err := a.appear(); err != nil {
			return err
		}
	}
	a.left--
	if len(a.Replies) > 0 && a.random.IntN(8) == 0 {
		reply := slices.Clone(a.Replies[a.random.IntN(len(a.Replies))])
		copy(reply[8:20], a.prefix[:])
		return a.send(a.damage(reply, 20))
	}
	kinds := []func() []byte{a.spdp, a.spdp, a.endpoint, a.endpoint, a.endpoint, a.typeRequest, a.typeReply,
		a.typeReply, a.liveliness, a.stateless, a.control, a.fragment, a.disposal}
	message := a.message(kinds[a.random.IntN(len(kinds))]())
	return a.send(a.damage(message, 8))
}

// Leave lets the participant leave.
func (a *attacker) Leave() error {
	a.left = 0
	return a.send(a.message(a.disposal()))
}

// appear lets the participant leave, and announces another one with undamaged messages.
func (a *attacker) appear() error {
	if a.sequences != nil {
		if err := a.Leave(); err != nil {
			return err
		}
	}
	a.prefix = [12]byte{0x01, 0x0f}
	for i := 2; i < len(a.prefix); i++ {
		a.prefix[i] = byte(a.random.Uint32())
	}
	a.sequences = map[uint32]uint32{}
	a.left = messagesOfParticipant
	for range 2 {
		if err := a.send(a.message(a.spdp())); err != nil {
			return err
		}
	}
	return a.send(a.message(a.endpoint()))
}

// send sends an RTPS message to all ports.
func (a *attacker) send(message []byte) error {
	for _, port := range a.ports {
		to := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
		if _, err := a.socket.WriteToUDP(message, to); err != nil {
			return fmt.Errorf("attack %v: %w", to, err)
		}
	}
	return nil
}

// message returns an RTPS message with these submessages.
func (a *attacker) message(submessages []byte) []byte {
	return slices.Concat([]byte("RTPS\x02\x03\x01\x0f"), a.prefix[:], submessages)
}

// damage changes bits, bytes, lengths or the end of a message. It keeps the bytes before the offset first.
func (a *attacker) damage(message []byte, first int) []byte {
	interesting := []uint32{0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff}
	for range 1 + a.random.IntN(3) {
		at := first + a.random.IntN(max(len(message)-first, 1))
		if at+4 > len(message) {
			continue
		}
		switch a.random.IntN(8) {
		case 0, 1:
			message[at] ^= 1 << a.random.IntN(8)
		case 2:
			message[at] = byte(a.random.Uint32())
		case 3:
			binary.LittleEndian.PutUint32(message[at&^3:], interesting[a.random.IntN(len(interesting))])
		case 4:
			binary.LittleEndian.PutUint16(message[at&^1:], uint16(interesting[a.random.IntN(len(interesting))]))
		case 5:
			number := message[at&^3:]
			binary.LittleEndian.PutUint32(number, binary.LittleEndian.Uint32(number)+a.random.Uint32N(9)-4)
		case 6:
			from := first + a.random.IntN(len(message)-first)
			size := min(len(message)-from, len(message)-at, 1+a.random.IntN(64))
			copy(message[at:at+size], slices.Clone(message[from:from+size]))
		case 7:
			if a.random.IntN(4) == 0 {
				message = message[:at]
			}
		}
	}
	return message
}

// guid returns the GUID of an entity of the participant.
func (a *attacker) guid(entity uint32) []byte {
	return binary.BigEndian.AppendUint32(slices.Clone(a.prefix[:]), entity)
}

// data returns the writer's next sample, after a heartbeat that announces no other sample.
func (a *attacker) data(writer, reader uint32, inlineQoS, payload []byte) []byte {
	a.sequences[writer]++
	sequence := a.sequences[writer]
	flags := byte(0x05)
	if inlineQoS != nil {
		flags |= 0x02
	}
	b := []byte{0, 0, 16, 0}
	b = binary.BigEndian.AppendUint32(b, reader)
	b = binary.BigEndian.AppendUint32(b, writer)
	b = words(b, 0, sequence)
	padding := make([]byte, -len(payload)&3)
	return append(a.heartbeat(writer, reader, sequence), submessage(0x15, flags, b, inlineQoS, payload, padding)...)
}

// heartbeat returns a heartbeat that announces the one sample first.
func (a *attacker) heartbeat(writer, reader, first uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, reader)
	b = binary.BigEndian.AppendUint32(b, writer)
	return submessage(0x07, 0x01, words(b, 0, first, 0, first, first))
}

// submessage returns a submessage of RTPS.
func submessage(kind, flags byte, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return append(binary.LittleEndian.AppendUint16([]byte{kind, flags}, uint16(len(body))), body...)
}

// words appends 32-bit numbers, little-endian.
func words(b []byte, values ...uint32) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// text returns a string as CDR, padded to 4 bytes.
func text(s string) []byte {
	b := append(words(nil, uint32(len(s)+1)), s...)
	return append(b, make([]byte, 4-len(s)%4)...)
}

// parameter returns a parameter of a parameter list.
func parameter(id uint16, parts ...[]byte) []byte {
	value := slices.Concat(parts...)
	b := binary.LittleEndian.AppendUint16(nil, id)
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(value))), value...)
}

// parameters returns a parameter list with its sentinel.
func parameters(list ...[]byte) []byte { return append(slices.Concat(list...), 1, 0, 0, 0) }

// locator returns the Locator of the attacker's socket.
func (a *attacker) locator() []byte {
	b := words(nil, 1, uint32(a.socket.LocalAddr().(*net.UDPAddr).Port))
	return append(b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 127, 0, 0, 1)
}

// parameterList is the encapsulation header PL_CDR_LE.
var parameterList = []byte{0, 3, 0, 0}

// spdp returns the participant's announcement.
func (a *attacker) spdp() []byte {
	return a.data(spdpWriter, spdpReader, nil, append(slices.Clone(parameterList), parameters(
		parameter(0x15, []byte{2, 3, 0, 0}), parameter(0x16, []byte{1, 15, 0, 0}), parameter(0x50, a.guid(0x000001c1)),
		parameter(0x31, a.locator()), parameter(0x32, a.locator()), parameter(0x02, words(nil, 10, 0)),
		parameter(0x58, words(nil, 0xfc3f)), parameter(0x62, text("/attacker")), parameter(0x2c, text("enclave=/;")),
		parameter(0x59, words(nil, 1), text("PARTICIPANT_TYPE"), text("SIMPLE"), words(nil, 0)))...))
}

// endpoint returns the announcement of a publisher or a subscriber.
func (a *attacker) endpoint() []byte {
	writer, reader, entity := uint32(publicationsWriter), uint32(publicationsReader), uint32(0x00001203)
	if a.random.IntN(2) == 0 {
		writer, reader, entity = subscriptionsWriter, subscriptionsReader, 0x00001104
	}
	return a.data(writer, reader, nil, append(slices.Clone(parameterList), parameters(
		parameter(0x5a, a.guid(entity)), parameter(0x50, a.guid(0x000001c1)), parameter(0x05, text("rt/attacked")),
		parameter(0x07, text("std_msgs::msg::dds_::String_")), parameter(0x2f, a.locator()),
		parameter(0x1a, words(nil, 2, 0, 0x19999999)), parameter(0x1d, words(nil, 1)),
		parameter(0x40, words(nil, 0, 10)), parameter(0x23, words(nil, 0x7fffffff, 0xffffffff)),
		parameter(0x2b, words(nil, 0x7fffffff, 0xffffffff)), parameter(0x1b, words(nil, 0, 0x7fffffff, 0xffffffff)),
		parameter(0x29, words(nil, 1), text("")), parameter(0x2c, text("typehash=RIHS01_0;")),
		parameter(0x73, words(nil, 1, 0)), parameter(0x74, words(nil, 1, 0x100)),
		parameter(0x75, a.typeInformation()), parameter(0x70, slices.Repeat([]byte{7}, 16)))...))
}

// hash returns a TypeIdentifier with a hash of a TypeObject.
func hash(kind byte) []byte { return append([]byte{kind}, slices.Repeat([]byte{0x5a}, 14)...) }

// sized returns an appendable value of XCDR2: its size in bytes, and its parts.
func sized(parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return append(words(nil, uint32(len(body))), body...)
}

// typeInformation returns a TypeInformation of DDS-XTypes: a minimal and a complete TypeIdentifier, each with one
// dependency.
func (a *attacker) typeInformation() []byte {
	identifier := func(kind byte) []byte { return sized(hash(kind), []byte{0}, words(nil, 100)) }
	withDependency := func(member uint32, kind byte) []byte {
		return append(words(nil, 0x40000000|member), sized(sized(identifier(kind), words(nil, 1),
			sized(words(nil, 1), identifier(kind))))...)
	}
	return sized(withDependency(0x1001, 0xf1), withDependency(0x1002, 0xf2))
}

// identity returns the SampleIdentity at the beginning of requests and replies.
func (a *attacker) identity() []byte { return words(a.guid(requestWriter), 0, 1) }

// typeRequest returns a request for a TypeObject.
func (a *attacker) typeRequest() []byte {
	call := sized(words(nil, 0x018252d3), sized(words(nil, 0x52804ad1), sized(words(nil, 1), hash(0xf2))))
	return a.data(requestWriter, requestReader, nil, slices.Concat([]byte{0, 7, 0, 0}, a.identity(), text("instance"),
		call))
}

// typeReply returns a reply with the TypeObject of a struct that has an array of 16 TK_UINT8.
func (a *attacker) typeReply() []byte {
	member := sized(words(nil, 0), []byte{1, 0, 0x90, 0xf3, 1, 0, 0, 0, 1, 0, 0, 0, 16, 0x0d, 0, 0}, text("id"),
		[]byte{0, 0})
	object := sized([]byte{0xf2, 0x51, 1, 0}, sized(words(nil, 0), text("Abc")), sized(words(nil, 1), member))
	types := sized(words(nil, 1), hash(0xf2), []byte{0}, object)
	return a.data(replyWriter, replyReader, nil, slices.Concat([]byte{0, 7, 0, 0}, a.identity(), words(nil, 0),
		sized(words(nil, 0x018252d3), sized(words(nil, 0), sized(words(nil, 0x52804ad1), types)))))
}

// liveliness returns a ParticipantMessageData.
func (a *attacker) liveliness() []byte {
	return a.data(livelinessWriter, livelinessReader, nil, slices.Concat([]byte{0, 1, 0, 0}, a.prefix[:],
		[]byte{0, 0, 0, 1}, words(nil, 1), []byte{1, 0, 0, 0}))
}

// stateless returns a ParticipantStatelessMessage, the first message of authentication.
func (a *attacker) stateless() []byte {
	return a.data(statelessWriter, statelessReader, nil, slices.Concat([]byte{0, 1, 0, 0}, a.guid(statelessWriter),
		words(nil, 0, 1), a.guid(0), words(nil, 0, 0), a.guid(0x1c1), a.guid(0), a.guid(0), text("dds.sec.auth"),
		words(nil, 0)))
}

// disposal returns the announcement that the participant leaves.
func (a *attacker) disposal() []byte {
	gone := parameters(parameter(0x71, []byte{0, 0, 0, 3})) // disposed and unregistered
	return a.data(spdpWriter, spdpReader, gone, append(slices.Clone(parameterList),
		parameters(parameter(0x50, a.guid(0x000001c1)))...))
}

// control returns a submessage that carries no sample.
func (a *attacker) control() []byte {
	writers := []uint32{publicationsWriter, subscriptionsWriter, livelinessWriter, replyWriter, 0x00001203}
	ids := binary.BigEndian.AppendUint32(nil, 0)
	ids = binary.BigEndian.AppendUint32(ids, writers[a.random.IntN(len(writers))])
	switch a.random.IntN(8) {
	case 0:
		return submessage(0x06, 0x01, ids, words(nil, 0, 1, 64, 0xffffffff, 0xffffffff, 1)) // AckNack
	case 1:
		return submessage(0x07, 0x01, ids, words(nil, 0, 1, 0, 5, 1))
	case 2:
		return submessage(0x08, 0x01, ids, words(nil, 0, 1, 0, 5, 32, 0xffffffff)) // Gap
	case 3:
		return submessage(0x12, 0x01, ids, words(nil, 0, 1, 1, 32, 0xffffffff, 1)) // NackFrag
	case 4:
		return submessage(0x13, 0x01, ids, words(nil, 0, 1, 3, 1)) // HeartbeatFrag
	case 5:
		return append(submessage(0x0c, 0x01, words(nil, 0, 0x0f010302), a.prefix[:]), a.endpoint()...) // InfoSource
	case 6:
		return append(submessage(0x0f, 0x01, words(nil, 1), a.locator()), a.endpoint()...) // InfoReply
	default:
		return append(submessage(0x09, 0x01, words(nil, 1, 1)), a.endpoint()...) // InfoTimestamp
	}
}

// fragment returns an SEDP sample in two fragments.
func (a *attacker) fragment() []byte {
	const heartbeat, header, size = 32, 24, 128 // bytes of submessages, and of a fragment
	sample := a.endpoint()
	ids, payload := sample[heartbeat+8:heartbeat+header], sample[heartbeat+header:]
	payload = payload[:min(len(payload), 2*size)]
	out := slices.Clone(sample[:heartbeat])
	for i := range 2 {
		fragment := slices.Concat([]byte{0, 0, 28, 0}, ids, words(nil, uint32(i+1)), []byte{1, 0, size, 0},
			words(nil, uint32(len(payload))), payload[i*size:min((i+1)*size, len(payload))])
		out = append(out, submessage(0x16, 0x01, fragment)...)
	}
	return out
}
