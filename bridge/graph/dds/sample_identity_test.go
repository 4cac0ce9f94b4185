package dds

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
)

// The parameters by which Fast DDS knows an identity: the standard one, and its own from before.
const (
	standardPID = 0x0083
	customPID   = 0x800f
)

// echoRequest and echoReply are the DDS topics and types of a service /test/echo.
func echoEnds() (request, reply end) { return ends("/test/echo", echoType) }

// TestServeFastDDS has a client of Fast DDS make a call before the service knows of it, and lose the reply several
// times.
func TestServeFastDDS(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ size, fragments int }{{12, 0}, {13, 0}, {63_000, 0}, {150_000, 3}} {
		t.Run(fmt.Sprint(test.size), func(t *testing.T) {
			n := newNode(t, "callee")
			response := bridgetest.Pattern(test.size, 7)
			s, err := n.Serve("echo", echoType, func(_ context.Context, request []byte) ([]byte, error) {
				if string(request) != "\x00\x01\x00\x00\x01\x00\x00\x00" {
					return nil, fmt.Errorf("the request is %x", request)
				}
				return response, nil
			})
			require.NoError(t, err)
			p := newFastPeer(t, n)
			client := identity{guid: p.guid(peerReader), sequence: noSequence}
			p.write(peerWriter, related(slices.Concat(inlineIdentity(binary.LittleEndian, customPID, client),
				[]byte{1, 0, 0, 0}),
				[]byte{0, 1, 0, 0, 1, 0, 0, 0}))
			times := 1
			if test.fragments == 0 {
				times = 3
			}
			p.requestAgain = times
			request, reply := echoEnds()
			p.announce(request.topic, request.typeName, reply.topic, reply.typeName)

			want := identity{guid: p.guid(peerReader), sequence: 1}
			writer := s.(*service).writer.guid
			for range times {
				r := p.next(writer)
				require.Equal(t, int64(1), r.sequence)
				// The hole is for the keyhash and the end of the list as Cyclone DDS writes them. Its parameter
				// must be understood, so that clients on Cyclone DDS drop the sample.
				require.Equal(t, slices.Concat([]byte{0, 0x40, 20, 0}, make([]byte, 16), []byte{1, 0, 0, 0},
					inlineIdentity(binary.LittleEndian, standardPID, want),
					inlineIdentity(binary.LittleEndian, customPID, want),
					[]byte{1, 0, 0, 0}), r.inlineQoS)
				payload := r.payload
				for i := range test.fragments {
					require.Equal(t, byte(frag), r.kind)
					require.Equal(t, uint32(i+1), binary.LittleEndian.Uint32(r.fragment))
					require.Equal(t, uint32(test.size), binary.LittleEndian.Uint32(r.fragment[8:]))
					if i+1 < test.fragments {
						r = p.next(writer)
						require.Empty(t, r.inlineQoS)
						payload = append(payload, r.payload...)
					}
				}
				require.Equal(t, response, payload[:test.size])
				require.Less(t, len(payload), test.size+4)
			}
			require.True(t, p.asked.Load())
		})
	}
}

// witnessRole subscribes to the replies of a service and ends after the first.
func witnessRole() error {
	n, err := Open(bridge.Options{Name: "other", Namespace: "/test", Domain: -1})
	if err != nil {
		return err
	}
	defer n.Close()
	received := make(chan []byte, 100)
	if _, err := n.Subscribe("echo"+bridge.CallReplies, echoType+"_Response", bridgetest.KeepAll(),
		func(batch []bridge.Sample) { received <- bytes.Clone(batch[0].Data) }); err != nil {
		return err
	}
	select {
	case reply := <-received:
		if !bytes.Equal(reply, bridgetest.Pattern(16, 7)) {
			return fmt.Errorf("the reply is %x", reply)
		}
		return nil
	case <-time.After(patience):
		return errors.New("no reply comes")
	}
}

// TestSubscribeToRepliesToFastDDS checks that another process receives a reply for a client of Fast DDS.
func TestSubscribeToRepliesToFastDDS(t *testing.T) {
	t.Parallel()
	n := newNode(t, "callee")
	served, err := n.Serve("echo", echoType, echo)
	require.NoError(t, err)
	s := served.(*service)
	witness := start(t, "witness")
	await(t, func() bool { return len(s.writer.matched("")) == 1 })
	p := newFastPeer(t, n)
	p.write(peerWriter, plain(bridgetest.Pattern(16, 7)))
	request, reply := echoEnds()
	p.announce(request.topic, request.typeName, reply.topic, reply.typeName)
	require.Equal(t, bridgetest.Pattern(16, 7), p.next(s.writer.guid).payload)
	require.NoError(t, witness.Stop())
}

// TestCallFastDDS calls a server of Fast DDS that also answers other clients.
func TestCallFastDDS(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		order binary.AppendByteOrder
		flags byte
		pid   uint16
	}{
		{"little-endian", binary.LittleEndian, 7, customPID},
		{"big-endian", binary.BigEndian, 6, customPID},
		{"standard", binary.LittleEndian, 7, standardPID},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := newNode(t, "caller")
			p := newFastPeer(t, n)
			request, reply := echoEnds()
			p.announce(reply.topic, reply.typeName, request.topic, request.typeName)
			type result struct {
				response []byte
				err      error
			}
			for i := range 3 {
				done := make(chan result)
				go func() {
					response, err := n.Call(t.Context(), "echo", echoType, bridgetest.Pattern(12, i))
					done <- result{response, err}
				}()
				c, err := n.clients.Get(n.owned, "/test/echo", echoType, n.newClient)
				require.NoError(t, err)
				r := p.next(c.writer.guid)
				require.Equal(t, int64(i+1), r.sequence)
				require.Equal(t, bridgetest.Pattern(12, i), r.payload)
				require.Contains(t, string(r.inlineQoS),
					string(inlineIdentity(binary.LittleEndian, customPID, identity{c.reader.guid, noSequence})))
				answer := func(id identity, payload []byte) {
					p.write(peerWriter, slices.Concat([]byte{test.flags}, inlineIdentity(test.order, test.pid, id),
						test.order.AppendUint16(nil, 1), []byte{0, 0}, payload))
				}
				answer(identity{p.guid(peerReader), r.sequence}, bridgetest.Pattern(16, 100))
				answer(identity{c.reader.guid, r.sequence + 1}, bridgetest.Pattern(16, 101))
				p.write(peerWriter, plain(bridgetest.Pattern(16, 102)))
				answer(identity{c.reader.guid, r.sequence}, bridgetest.Pattern(16, i))
				got := <-done
				require.NoError(t, got.err)
				require.Equal(t, bridgetest.Pattern(16, i), got.response)
			}
		})
	}
}

// TestInlineQoS has inline QoS that is cut off, or lies about sizes. Requests of others are answered.
func TestInlineQoS(t *testing.T) {
	t.Parallel()
	id := func(pid uint16) []byte {
		return inlineIdentity(binary.LittleEndian, pid, identity{guid: bridge.GUID{1, 15, 9}, sequence: 1 << 40})
	}
	request := []byte{0, 1, 0, 0, 1, 0, 0, 0}
	for _, test := range []struct {
		name string
		rest []byte
	}{
		{"nothing", []byte{7}},
		{"half a header", []byte{7, 0x0f}},
		{"no end", related(id(customPID), nil)},
		{"no payload", related(slices.Concat(id(customPID), []byte{1, 0, 0, 0}), nil)},
		{"payload of a byte", related(slices.Concat(id(customPID), []byte{1, 0, 0, 0}), []byte{0})},
		{"short", related([]byte{0x0f, 0x80, 20, 0, 1, 0, 0, 0}, make([]byte, 40))},
		{"long", related([]byte{0x0f, 0x80, 0xfc, 0xff}, make([]byte, 40))},
		{"odd", related([]byte{0x0f, 0x80, 25, 0}, make([]byte, 40))},
		{"value is shorter", related([]byte{0x0f, 0x80, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 0, 0, 0}, request)},
		{"empty value", related([]byte{0x83, 0, 0, 0, 1, 0, 0, 0}, request)},
		{"both", related(slices.Concat(id(standardPID), id(customPID), []byte{1, 0, 0, 0}), request)},
		{"others first", related(slices.Concat([]byte{0x70, 0, 16, 0}, make([]byte, 16), id(standardPID),
			[]byte{1, 0, 9, 9}),
			request)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, "callee")
			s, err := n.Serve("echo", echoType, echo)
			require.NoError(t, err)
			p := newFastPeer(t, n)
			request, reply := echoEnds()
			p.announce(request.topic, request.typeName, reply.topic, reply.typeName)
			p.write(peerWriter, test.rest)
			p = newFastPeer(t, n)
			p.announce(request.topic, request.typeName, reply.topic, reply.typeName)
			p.write(peerWriter, plain(bridgetest.Pattern(32, 5)))
			for r := p.next(s.(*service).writer.guid); string(r.payload) != string(bridgetest.Pattern(32, 5)); {
				r = p.next(s.(*service).writer.guid)
			}
		})
	}
}
