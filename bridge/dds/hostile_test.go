package dds

import (
	"encoding/binary"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
)

// dataFrag returns an RTPS message with one fragment, counted from 1, of a sample by writer.
func dataFrag(writer bridge.GUID, sequence, fragment, sampleSize uint32, payload []byte) []byte {
	b := append([]byte("RTPS\x02\x01\x01\x10"), writer[:12]...)
	b = append(b, 0x16, 0x01) // DATA_FRAG, little-endian
	b = binary.LittleEndian.AppendUint16(b, uint16(32+len(payload)))
	b = append(b, 0, 0, 28, 0, 0, 0, 0, 0) // no flags, distance to the payload, all readers
	b = append(b, writer[12:]...)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint32(b, sequence)
	b = binary.LittleEndian.AppendUint32(b, fragment)
	b = binary.LittleEndian.AppendUint16(b, 1)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, sampleSize)
	return append(b, payload...)
}

// TestFragmentBeyondSample has a peer whose last fragment tells another size of the sample and reaches far beyond the
// first.
func TestFragmentBeyondSample(t *testing.T) {
	n := newNode(t, "observer")
	got := make(chan []byte, 1)
	_, err := n.Subscribe("numbers", "std_msgs/msg/String", bridge.SensorDataQoS(), func(batch []bridge.Sample) {
		select {
		case got <- append([]byte{}, batch[0].Data...):
		default:
		}
	})
	require.NoError(t, err)
	bridgetest.Start(t, "server")
	topic := topicOf(t, n, "/test/numbers", func(topic bridge.Topic) bool { return len(topic.Publishers) == 1 })
	writer := topic.Publishers[0].GUID

	const fragmentSize, sampleSize = 60_000, 130_900
	content := bridgetest.Pattern(3*fragmentSize, 7)
	socket, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer socket.Close()
	for sequence := uint32(1); ; sequence++ {
		for i := range uint32(3) {
			size := uint32(sampleSize)
			if i == 2 {
				size = 1_000_000
			}
			message := dataFrag(writer, sequence, i+1, size, content[i*fragmentSize:][:fragmentSize])
			for index := range 10 { // of the participant on this machine
				to, err := net.ResolveUDPAddr("udp4", fmt.Sprintf("127.0.0.1:%d", 7400+250*n.domain.id+11+2*index))
				require.NoError(t, err)
				_, err = socket.WriteTo(message, to)
				require.NoError(t, err)
			}
		}
		select {
		case data := <-got:
			require.Equal(t, content[:sampleSize], data)
			return
		case <-time.After(100 * time.Millisecond):
			require.Less(t, sequence, uint32(patience/(100*time.Millisecond)), "nothing arrives")
		}
	}
}

// TestForeignParticipantInfo has a participant that tells something of others.
func TestForeignParticipantInfo(t *testing.T) {
	n, other := newNode(t, "observer"), newNode(t, "other")
	w, err := other.newWriter(discoveryTopic, discoveryType, discoveryQoS(), "")
	require.NoError(t, err)
	defer func() { require.NoError(t, w.close()) }()
	for _, guid := range []bridge.GUID{{1}, n.guid, other.guid} {
		info := participantInfo{guid: guid, nodes: []nodeInfo{{namespace: "/", name: "liar",
			readers: []bridge.GUID{{2}}}}}
		require.NoError(t, w.write(info.marshal(newGID), -1))
	}
	told := func(participant bridge.GUID) string {
		n.graph.mu.Lock()
		defer n.graph.mu.Unlock()
		return n.graph.nodes[participant][bridge.GUID{2}]
	}
	require.Eventually(t, func() bool { return told(other.guid) == "/liar" }, patience, time.Millisecond)
	require.Empty(t, told(n.guid))
	require.Empty(t, told(bridge.GUID{1}))
}
