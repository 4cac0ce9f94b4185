package dds

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
)

// TestTypeInformation has a peer describe the types of its endpoints as DDS-XTypes 1.3 has it, by TypeIdentifiers that
// are hashes, and by one of a kind that Cyclone DDS does not expect there: it would abort.
func TestTypeInformation(t *testing.T) {
	t.Parallel()
	sized := func(parts ...[]byte) []byte { // XCDR2 puts its size before an appendable value
		b := slices.Concat(parts...)
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
	}
	const minimal, complete, both = 0xf1, 0xf2, 0xf3
	for name, kinds := range map[string][2]byte{"hashes": {minimal, complete}, "unexpected": {both, both}} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, "observer")
			p := newFastPeer(t, n)
			var list []byte
			for i, kind := range kinds {
				identifier := append(append([]byte{kind}, bytes.Repeat([]byte{7}, 14)...), 0, 100, 0, 0, 0)
				noDependencies := []byte{0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0}
				list = append(list, byte(1+i), 0x10, 0, 0x40)
				list = append(list, sized(sized(sized(identifier), noDependencies))...)
			}
			p.extraParameters = [][]byte{parameter(0x75, sized(list))}
			p.announce(bridge.TopicToDDS("/test/described"), bridge.TypeToDDS(bridgetest.BytesType),
				bridge.TopicToDDS("/test/other"), bridge.TypeToDDS(bridgetest.BytesType))
			topicOf(t, n, "/test/described", func(topic bridge.Topic) bool { return len(topic.Publishers) == 1 })
		})
	}
}

// TestAnnouncedEndpoints checks the announcements of endpoints with KeepAll. Fast DDS 3 reads a negative depth as a
// number near 2^64, and finds no node for an endpoint without a participant.
func TestAnnouncedEndpoints(t *testing.T) {
	t.Parallel()
	n := newNode(t, "node")
	p := newFastPeer(t, n)
	p.announce(bridge.TopicToDDS("/test/other"), bridge.TypeToDDS(bridgetest.BytesType),
		bridge.TopicToDDS("/test/other"), bridge.TypeToDDS(bridgetest.BytesType))
	topicOf(t, n, "/test/other", func(topic bridge.Topic) bool { return len(topic.Publishers) == 1 })
	latched := bridgetest.KeepAll()
	latched.Durability = codec.TransientLocal
	_, err := n.Advertise("kept", bridgetest.BytesType, latched)
	require.NoError(t, err)
	_, err = n.Subscribe("kept", bridgetest.BytesType, bridgetest.KeepAll(), func([]bridge.Sample) {})
	require.NoError(t, err)
	const durabilityService, history = 0x1e, 0x40 // parameter ids
	all := []byte{1, 0, 0, 0, 1, 0, 0, 0}         // keep all, 1
	var publisher, subscription map[uint16][]byte
	await(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, endpoint := range p.announced {
			if !bytes.Equal(endpoint[pidTopicName], cdrString(bridge.TopicToDDS("/test/kept"))) {
				continue
			}
			if endpoint[durabilityService] != nil {
				publisher = endpoint
			} else {
				subscription = endpoint
			}
		}
		return publisher != nil && subscription != nil
	})
	require.Equal(t, all, publisher[history])
	require.Equal(t, all, publisher[durabilityService][8:16])
	require.Equal(t, all, subscription[history])
	require.Equal(t, n.guid[:], publisher[pidParticipantGUID])
	require.Equal(t, n.guid[:], subscription[pidParticipantGUID])
}

// TestPeerAtItsOwnAddress has a peer that was there before the node, and that receives at an address of this machine
// but not at 127.0.0.1, as participants of Cyclone DDS 11 do.
func TestPeerAtItsOwnAddress(t *testing.T) {
	addresses := thisMachine().addresses
	if len(addresses) == 0 {
		t.Skip("this machine has no address but those of the loopback interface")
	}
	t.Setenv("ROS_LOCALHOST_ONLY", "")
	t.Setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
	domain := domainOf(t)
	var socket *net.UDPConn
	var err error
	for index := range 33 {
		address := &net.UDPAddr{IP: net.ParseIP(addresses[0]), Port: 7400 + 250*domain + 10 + 2*index}
		socket, err = net.ListenUDP("udp4", address)
		if err == nil {
			break
		}
	}
	require.NoError(t, err)
	n := newNode(t, "observer")
	p := newFastPeerOn(t, n, socket)
	await(t, func() bool { return p.heard.Load() })
	p.announce(bridge.TopicToDDS("/test/there"), bridge.TypeToDDS(bridgetest.BytesType),
		bridge.TopicToDDS("/test/other"), bridge.TypeToDDS(bridgetest.BytesType))
	topicOf(t, n, "/test/there", func(topic bridge.Topic) bool { return len(topic.Publishers) == 1 })
}
