package dds

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
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
	t.Parallel()
	n := newNode(t, "observer")
	got := make(chan []byte, 1)
	_, err := n.Subscribe("numbers", "std_msgs/msg/String", bridge.SensorDataQoS(), func(batch []bridge.Sample) {
		select {
		case got <- append([]byte{}, batch[0].Data...):
		default:
		}
	})
	require.NoError(t, err)
	start(t, "server")
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

// TestForeignParticipantInfo checks that announcements about other participants are ignored.
func TestForeignParticipantInfo(t *testing.T) {
	t.Parallel()
	n, other := newNode(t, "observer"), newNode(t, "other")
	w, err := other.newWriter(discoveryTopic, discoveryType, discoveryQoS(), "")
	require.NoError(t, err)
	defer func() { require.NoError(t, w.close()) }()
	for _, guid := range []bridge.GUID{{1}, n.guid, other.guid} {
		info := participantInfo{guid: guid, nodes: []nodeInfo{{namespace: "/", name: "liar",
			readers: []bridge.GUID{{2}}}}}
		require.NoError(t, w.write(info.append(nil, newGID), -1))
	}
	told := func(participant bridge.GUID) []nodeInfo {
		n.graph.mu.Lock()
		defer n.graph.mu.Unlock()
		return n.graph.infos[participant].nodes
	}
	liar := func() bool { nodes := told(other.guid); return len(nodes) == 1 && nodes[0].name == "liar" }
	require.Eventually(t, liar, patience, time.Millisecond)
	n.graph.mu.Lock()
	named := n.graph.nodes()
	n.graph.mu.Unlock()
	require.NotContains(t, named, bridge.GUID{2}, "an endpoint of another participant")
	require.NotEqual(t, "liar", told(n.guid)[0].name)
	require.Empty(t, told(bridge.GUID{1}))
}

// wholeData returns an RTPS message with a sample by writer.
func wholeData(writer bridge.GUID, sequence uint64, payload []byte) []byte {
	b := append([]byte("RTPS\x02\x01\x01\x10"), writer[:12]...)
	b = append(b, 0x15, 0x05) // DATA, little-endian with a payload
	b = binary.LittleEndian.AppendUint16(b, uint16(20+len(payload)))
	b = append(b, 0, 0, 16, 0, 0, 0, 0, 0) // distance to the payload, all readers
	b = append(b, writer[12:]...)
	b = binary.LittleEndian.AppendUint32(b, uint32(sequence>>32))
	b = binary.LittleEndian.AppendUint32(b, uint32(sequence))
	return append(b, payload...)
}

// TestForgedSamples has somebody send in the name of a publisher: payloads without or with a wrong encapsulation, and
// sequence numbers that jump. Others lose nothing by that.
func TestForgedSamples(t *testing.T) {
	t.Parallel()
	n := newNode(t, "observer")
	var most, taken, numbers atomic.Uint64
	forged, err := n.Subscribe("numbers", "std_msgs/msg/String", bridge.SensorDataQoS(), func(batch []bridge.Sample) {
		for _, s := range batch {
			if len(s.Data) < 4 {
				panic("a payload without encapsulation")
			}
			taken.Add(1)
			most.Store(max(most.Load(), s.Sequence))
		}
	})
	require.NoError(t, err)
	other := newNode(t, "talker")
	out, err := other.Advertise("other", "std_msgs/msg/String", bridgetest.KeepAll())
	require.NoError(t, err)
	in, err := n.Subscribe("other", "std_msgs/msg/String", bridgetest.KeepAll(), func(batch []bridge.Sample) {
		numbers.Add(uint64(len(batch)))
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return out.Subscribers() == 1 }, patience, time.Millisecond)
	start(t, "server")
	topic := topicOf(t, n, "/test/numbers", func(topic bridge.Topic) bool { return len(topic.Publishers) == 1 })

	socket, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer socket.Close()
	send := func(sequence uint64, payload []byte) {
		for index := range 10 {
			to := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7400 + 250*n.domain.id + 11 + 2*index}
			_, err := socket.WriteTo(wholeData(topic.Publishers[0].GUID, sequence, payload), to)
			require.NoError(t, err)
		}
	}
	sequence, sent := uint64(0), 0
	for deadline := time.Now().Add(patience); most.Load() < 1<<60; sent++ {
		require.True(t, time.Now().Before(deadline), "nothing arrives")
		for _, payload := range [][]byte{nil, {0}, {0, 1, 0}, {0, 1, 0, 0}, {0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4},
			{0, 3, 0, 0, 0xff, 0xff, 0xff, 0xff}, {0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff}} {
			sequence++
			send(sequence, payload)
		}
		if taken.Load() > 10 {
			sequence += 1 << 58
		}
		require.NoError(t, out.Publish([]byte{0, 1, 0, 0, 2, 0, 0, 0, 'a', 0}))
		time.Sleep(time.Millisecond)
	}
	require.Less(t, forged.Lost(), uint64(1<<40))
	require.Eventually(t, func() bool { return numbers.Load() == uint64(sent) }, patience, time.Millisecond)
	require.Zero(t, in.Lost())
}

// TestTopicsAppearAndVanish checks that nothing remains of a participant's topics that appear and vanish.
func TestTopicsAppearAndVanish(t *testing.T) {
	t.Parallel()
	topics, rounds := 2000, 5
	if testing.Short() {
		topics, rounds = 500, 2
	}
	n, crowd := newNode(t, "observer"), newNode(t, "crowd")
	out, err := crowd.Advertise("numbers", "std_msgs/msg/String", bridgetest.KeepAll())
	require.NoError(t, err)
	var received atomic.Int64
	in, err := n.Subscribe("numbers", "std_msgs/msg/String", bridgetest.KeepAll(), func(batch []bridge.Sample) {
		received.Add(int64(len(batch)))
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return out.Subscribers() == 1 }, patience, time.Millisecond)
	known := func() int {
		n.graph.mu.Lock()
		defer n.graph.mu.Unlock()
		count := 0
		for _, e := range n.graph.endpoints {
			if e.Type == "liar/msg/Type" {
				count++
			}
		}
		return count
	}
	sent := int64(0)
	for range rounds {
		var writers []*writer
		for i := range topics {
			w, err := crowd.newWriter(fmt.Sprintf("rt/t%d", i), "liar::msg::dds_::Type_", toC(codec.DefaultQoS()), "")
			require.NoError(t, err)
			writers = append(writers, w)
			if i%10 == 0 {
				require.NoError(t, out.Publish([]byte{0, 1, 0, 0, 2, 0, 0, 0, 'a', 0}))
				sent++
			}
		}
		require.Eventually(t, func() bool { return known() == topics }, patience, 10*time.Millisecond)
		for _, w := range writers {
			require.NoError(t, w.close())
		}
		require.Eventually(t, func() bool { return known() == 0 }, patience, 10*time.Millisecond)
	}
	require.Eventually(t, func() bool { return received.Load() == sent }, patience, time.Millisecond)
	require.Zero(t, in.Lost())
}

// TestManyCalls has clients call a service that does not answer: it takes only so many calls, says so a few times, and
// other services go on.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	server, err := Open(bridge.Options{Name: "server", Namespace: "/test", Domain: domainOf(t), Console: &log})
	require.NoError(t, err)
	closed := false
	defer func() {
		if !closed {
			require.NoError(t, server.Close())
		}
	}()
	release := make(chan struct{})
	var running, most atomic.Int64
	slow, err := server.Serve("slow", echoType, func(_ context.Context, request []byte) ([]byte, error) {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		<-release
		return request, nil
	})
	require.NoError(t, err)
	_, err = server.Serve("quick", echoType, echo)
	require.NoError(t, err)
	client := newNode(t, "client")
	calls, err := client.Client("slow", echoType)
	require.NoError(t, err)
	require.Eventually(t, calls.Available, patience, time.Millisecond)
	limits := slow.(*service).calls
	request := append([]byte{0, 1, 0, 0}, make([]byte, 1000)...)
	for deadline := time.Now().Add(patience); limits.Failed() < 100; {
		require.True(t, time.Now().Before(deadline), "%d calls", most.Load())
		for range 8 {
			_, err := calls.Send(request)
			require.NoError(t, err)
		}
		time.Sleep(time.Millisecond)
	}
	require.LessOrEqual(t, most.Load(), int64(1000))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err = client.Call(ctx, "quick", echoType, request)
	require.NoError(t, err)
	close(release)
	require.Eventually(t, func() bool { return running.Load() == 0 }, patience, time.Millisecond)
	_, err = client.Call(ctx, "slow", echoType, request)
	require.NoError(t, err)
	closed = true
	require.NoError(t, server.Close())
	require.LessOrEqual(t, bytes.Count(log.Bytes(), []byte("are being answered already")), 10)
	require.Contains(t, log.String(), "of which few more are logged")
}
