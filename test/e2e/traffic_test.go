package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rcl_interfaces"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/std_srvs"
	"tapedeck/msgs/tapedeck"
)

// TestRecorderTakesAllSizes checks that the recorder records messages of all sizes, and of several publishers of a
// topic at once.
func TestRecorderTakesAllSizes(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	recorder := g.start("recorder", "-o", "sizes", "/large", "/empty", "/crowd")
	node := g.open("publisher")
	large := g.advertise(node, "/large", "test_msgs/msg/Large", keepAll())
	empty := g.advertise(node, "/empty", "std_msgs/msg/Empty", keepAll())
	header, nothing := []byte{0, 1, 0, 0}, marshal(t, &std_msgs.Empty{})
	var sent [][]byte
	for i := range 6 {
		data := append(bytes.Clone(header), bytes.Repeat([]byte{byte(i + 1)}, 8<<20)...)
		sent = append(sent, data)
		require.NoError(t, large.Publish(data))
		require.NoError(t, empty.Publish(header))
		require.NoError(t, empty.Publish(nothing))
	}

	// Several publishers of one topic publish at once.
	const publishers, each = 5, 200
	var group sync.WaitGroup
	for n := range byte(publishers) {
		p := g.advertise(g.open(fmt.Sprintf("member%d", n)), "/crowd", "test_msgs/msg/Numbered", keepAll())
		group.Go(func() {
			for i := range uint32(each) {
				data := numbered(i)
				data[60] = n
				if p.Publish(data) != nil {
					return
				}
			}
			_ = p.Flush(t.Context())
		})
	}
	group.Wait()
	require.NoError(t, large.Flush(t.Context()))
	require.NoError(t, empty.Flush(t.Context()))
	require.Contains(t, recorder.Interrupt(), "0 dropped, 0 lost in transport")
	all := messages(t, g.path("sizes.record.00000"))
	require.Len(t, all["/large"], len(sent))
	for i := range sent {
		require.True(t, bytes.Equal(sent[i], all["/large"][i]), "message %d", i)
	}
	require.Len(t, all["/empty"], 2*len(sent))
	for i, data := range all["/empty"] {
		want := [][]byte{header, nothing}[i%2]
		require.Equal(t, want, data[:len(want)])
	}
	require.Len(t, all["/crowd"], publishers*each)
	var next [publishers]uint32
	for _, data := range all["/crowd"] {
		n := data[60]
		want := numbered(next[n])
		want[60] = n
		require.Equal(t, want, data, "messages of a publisher are out of order")
		next[n]++
	}
}

func TestPublishersComeAndGo(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	recorder := g.start("recorder", "-o", "changes", "/n")
	node := g.open("publisher")
	for i, typeName := range []string{"std_msgs/msg/UInt32", "std_msgs/msg/UInt32", "test_msgs/msg/Numbered",
		"std_msgs/msg/UInt32"} {
		p := g.advertise(node, "/n", typeName, keepAll())
		recorder.Prints("recording /n [" + typeName)
		require.NoError(t, p.Publish(g.number(uint32(i))))
		require.NoError(t, p.Flush(t.Context()))
		require.NoError(t, p.Close())
	}
	recorder.Interrupt()
	path := g.path("changes.record.00000")
	counts := map[string]uint64{}
	for _, topic := range infoOf(t, path).Topics {
		counts[topic.Channel.Type] = topic.MessageCount
	}
	require.Equal(t, map[string]uint64{"std_msgs/msg/UInt32": 3, "test_msgs/msg/Numbered": 1}, counts)
	require.Equal(t, [][]byte{g.number(0), g.number(1), g.number(2), g.number(3)}, messages(t, path)["/n"])
}

// TestPlayerLosesNothingOfABurst plays messages that were recorded at once. It checks that all of them arrive.
func TestPlayerLosesNothingOfABurst(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	path := g.path("burst.record")
	w, err := formats.Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/n", Type: "test_msgs/msg/Numbered", Encoding: codec.EncodingCDR}
	const count = 4000
	payload := func(i uint32) []byte { return append(numbered(i), make([]byte, 20_000)...) }
	for i := range uint32(count) {
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: epoch, Data: payload(i)}))
	}
	require.NoError(t, w.Close())
	recorder := g.start("recorder", "-o", "copy", "/n")
	g.run(0, "player", path, "--wait-for-subscribers")
	require.Contains(t, recorder.Interrupt(), "0 dropped, 0 lost in transport")
	got := messages(t, g.path("copy.record.00000"))["/n"]
	require.Len(t, got, count)
	for i, data := range got {
		require.Equal(t, payload(uint32(i))[:64], data[:64])
	}
}

// TestPlayerStopsBesideASubscriberThatHangs checks that an interrupt ends a player whose publisher is blocked.
func TestPlayerStopsBesideASubscriberThatHangs(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	path := g.path("large.record")
	w, err := formats.Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/n", Type: "test_msgs/msg/Large", Encoding: codec.EncodingCDR}
	for i := range int64(200) {
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: epoch + i*1e6,
			Data: append([]byte{0, 1, 0, 0}, make([]byte, 1<<20)...)}))
	}
	require.NoError(t, w.Close())
	recorder := g.start("recorder", "-o", "hung", "/n", "--allow-unmatched")
	player := g.start("player", path, "--wait-for-subscribers", "--loop")
	recorder.Prints("recording /n ")
	recorder.Signal(syscall.SIGSTOP)
	time.Sleep(time.Second)
	require.Contains(t, player.Interrupt(), "played ")
	recorder.Signal(syscall.SIGCONT)
	recorder.Interrupt()
}

func TestPlayerPlaysROSOwnTopics(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	path := g.path("own.record")
	w, err := formats.Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	line := marshal(t, &rcl_interfaces.Log{Name: "car", Msg: "as recorded"})
	event := marshal(t, &rcl_interfaces.ParameterEvent{Node: "/car"})
	require.NoError(t, w.Write(&codec.Message{LogTime: epoch, Data: line, Channel: &codec.Channel{
		Topic: "/rosout", Type: "rcl_interfaces/msg/Log", Encoding: codec.EncodingCDR}}))
	require.NoError(t, w.Write(&codec.Message{LogTime: epoch, Data: event, Channel: &codec.Channel{
		Topic: "/parameter_events", Type: "rcl_interfaces/msg/ParameterEvent", Encoding: codec.EncodingCDR}}))
	require.NoError(t, w.Close())
	recorder := g.start("recorder", "-o", "copy", "--all")
	recorder.Prints("recording /rosout ")
	recorder.Prints("recording /parameter_events ")
	require.Contains(t, g.run(0, "player", path, "--wait-for-subscribers"), "played 2 messages")
	recorder.Interrupt()
	all := messages(t, g.path("copy.record.00000"))
	require.Contains(t, all["/rosout"], line)
	require.Contains(t, all["/parameter_events"], event)
}

func TestPlayerOfDamagedRecordings(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	path := g.path("whole.record")
	w, err := formats.Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
	var ends []int64
	for i := range uint32(30) {
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: epoch + int64(i)*1e6, Data: g.number(i)}))
		if i%10 == 9 {
			require.NoError(t, w.Sync())
			stat, err := os.Stat(path + codec.ActiveSuffix)
			require.NoError(t, err)
			ends = append(ends, stat.Size())
		}
	}
	require.NoError(t, w.Close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(g.path("cut.record"), data[:ends[1]+20], 0o644))
	out := g.run(0, "player", "cut.record", "--delay", "0s")
	require.Contains(t, out, "cut.record is unfinished")
	require.Contains(t, out, "played 20 messages")

	holed := bytes.Clone(data)
	clear(holed[ends[0]+30 : ends[1]])
	require.NoError(t, os.WriteFile(g.path("holed.record"), holed, 0o644))
	out = g.run(0, "player", "holed.record", "--delay", "0s")
	require.Contains(t, out, "damaged")
	require.Contains(t, out, "played 20 messages")
	require.Contains(t, g.run(1, "player", "holed.record", "--delay", "0s", "--stop-at-damage"), "holed.record")
}

func TestSnapshotWhileTheRecordingStops(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	recorder := g.start("recorder", "-o", "drive", "--snapshot", "--snapshot-duration", "0", "/n")
	node := g.open("publisher")
	p := g.advertise(node, "/n", "test_msgs/msg/Large", keepAll())
	const count = 60
	data := append([]byte{0, 1, 0, 0}, make([]byte, 1<<20)...)
	for range count {
		require.NoError(t, p.Publish(data))
	}
	require.NoError(t, p.Flush(t.Context()))
	tries := 0
	await(t, func() bool { // until all messages are in the ring
		tries++
		var answer tapedeck.TakeSnapshot_Response
		g.call(node, "/recorder/take_snapshot", "tapedeck/srv/TakeSnapshot",
			&tapedeck.TakeSnapshot_Request{Path: fmt.Sprint("try", tries)}, &answer)
		require.True(t, answer.Success, answer.Message)
		return answer.MessageCount == count
	})
	replied := make(chan std_srvs.Trigger_Response, 1)
	go func() {
		var answer std_srvs.Trigger_Response
		reply, err := node.Call(t.Context(), "/snapshot", "std_srvs/srv/Trigger",
			marshal(t, &std_srvs.Trigger_Request{}))
		if err == nil {
			err = cdr.Unmarshal(reply, &answer)
		}
		if err != nil {
			answer.Message = err.Error()
		}
		replied <- answer
	}()
	var found []string
	require.Eventually(t, func() bool {
		found, _ = filepath.Glob(g.path("snapshot_drive_*"))
		return len(found) == 1
	}, patient, 100*time.Microsecond, "it is being written")
	recorder.Interrupt()
	snapshot := strings.TrimSuffix(found[0], codec.ActiveSuffix)
	require.True(t, infoOf(t, snapshot).Complete)
	require.Len(t, messages(t, snapshot)["/n"], count)
	require.Len(t, messages(t, g.path("drive.record.00000"))["/n"], count)
	answer := <-replied
	require.True(t, answer.Success, answer.Message)
}
