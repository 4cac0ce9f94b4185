package e2e

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/dds"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/std_srvs"
	"tapedeck/test/internal/process"
)

// open returns a node of the test in the graph.
func (g *graph) open(name string) bridge.Node {
	node, err := dds.Open(bridge.Options{Name: name, Domain: g.domain})
	require.NoError(g.t, err)
	g.t.Cleanup(func() { require.NoError(g.t, node.Close()) })
	return node
}

// advertise creates a publisher and waits until it has a subscriber.
func (g *graph) advertise(node bridge.Node, topic, typeName string, qos codec.QoS) bridge.Publisher {
	p, err := node.Advertise(topic, typeName, qos)
	require.NoError(g.t, err)
	require.Eventually(g.t, func() bool { return p.Subscribers() > 0 }, patient, 5*time.Millisecond)
	return p
}

// marshal returns a message as CDR.
func marshal(t *testing.T, m msgs.Message) []byte {
	data, err := cdr.Marshal(m)
	require.NoError(t, err)
	return data
}

// await waits until a condition holds.
func await(t *testing.T, condition func() bool) {
	t.Helper()
	process.Await(t, condition)
}

// keepAll returns the QoS of reliable endpoints that keep all messages.
func keepAll() codec.QoS {
	qos := codec.DefaultQoS()
	qos.History, qos.Depth = codec.KeepAll, 0
	return qos
}

// readSoFar reads a recording that is still being written, which may be empty.
func readSoFar(t *testing.T, path string) map[string][][]byte {
	t.Helper()
	r, err := formats.Open(path)
	if errors.Is(err, codec.ErrUnknownFormat) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return messages(t, path)
}

// messages returns the payloads of a recording by topic, in order. The recording must be readable to its end.
func messages(t *testing.T, path string) map[string][][]byte {
	t.Helper()
	r, err := formats.Open(path)
	require.NoError(t, err)
	defer r.Close()
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	defer it.Close()
	all := map[string][][]byte{}
	for {
		m, err := it.Next()
		if err != nil {
			require.ErrorContains(t, err, "EOF")
			return all
		}
		all[m.Channel.Topic] = append(all[m.Channel.Topic], append([]byte(nil), m.Data...))
	}
}

// numbered returns a payload of 64 bytes with a number.
func numbered(i uint32) []byte {
	data := make([]byte, 64)
	data[1] = 1 // little-endian
	binary.LittleEndian.PutUint32(data[4:], i)
	return data
}

// TestRecorderLosesNothing checks that the recorder records all messages of two busy topics, in order.
func TestRecorderLosesNothing(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	recorder := g.start("recorder", "-o", "flood", "/a", "/b")
	node := g.open("publisher")
	a := g.advertise(node, "/a", "test_msgs/msg/Numbered", keepAll())
	b := g.advertise(node, "/b", "test_msgs/msg/Numbered", keepAll())
	const count = 50000
	for i := range uint32(count) {
		require.NoError(t, a.Publish(numbered(i)))
		require.NoError(t, b.Publish(numbered(i)))
	}
	require.NoError(t, a.Flush(t.Context()))
	require.NoError(t, b.Flush(t.Context()))
	summary := recorder.Interrupt()
	require.Contains(t, summary, fmt.Sprintf("%d messages", 2*count))
	require.Contains(t, summary, "0 dropped, 0 lost in transport")
	require.Equal(t, 1, strings.Count(summary, "test_msgs/msg/Numbered is recorded without")+strings.Count(summary,
		"recorded without the definition"),
		"there must be one warning for the type without a definition")
	all := messages(t, g.path("flood.record.00000"))
	for _, topic := range []string{"/a", "/b"} {
		require.Len(t, all[topic], count)
		for i, data := range all[topic] {
			require.Equal(t, numbered(uint32(i)), data)
		}
	}
}

// TestRecorderKilledKeepsWhatWasWritten checks that written messages can be read after the recorder was killed.
func TestRecorderKilledKeepsWhatWasWritten(t *testing.T) {
	t.Parallel()
	for _, storage := range []string{"record", "mcap"} {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			g := isolate(t)
			recorder := g.start("recorder", "-o", "killed", "-s", storage, "--chunk-duration", "200ms", "/n")
			p := g.advertise(g.open("publisher"), "/n", "test_msgs/msg/Numbered", keepAll())
			path := g.path("killed")
			if storage == "record" {
				path += ".record.00000"
			}
			sent, written := uint32(0), 0
			for began := time.Now(); written < 500; sent++ {
				require.Less(t, time.Since(began), patient)
				require.NoError(t, p.Publish(numbered(sent)))
				time.Sleep(time.Millisecond)
				if sent%100 == 0 {
					written = len(readSoFar(t, path)["/n"])
				}
			}
			recorder.Kill()
			kept := messages(t, path)["/n"]
			require.GreaterOrEqual(t, len(kept), written)
			for i, data := range kept {
				require.Equal(t, numbered(uint32(i)), data)
			}
			require.False(t, infoOf(t, path).Complete)
			require.Contains(t, g.run(0, "converter", "recover", path, "saved.record"), "saved")
			require.Len(t, messages(t, g.path("saved.record"))["/n"], len(kept))
		})
	}
}

// TestSnapshotOverService checks snapshots that the service /snapshot and 'recorder trigger' take, with and without a
// recording.
func TestSnapshotOverService(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"--snapshot", "--snapshot-mode"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			g := isolate(t)
			recorder := g.start("recorder", "-o", "drive", mode, "--snapshot-duration", "1h", "/n")
			node := g.open("publisher")
			p := g.advertise(node, "/n", "std_msgs/msg/UInt32", keepAll())
			publish := func(from, to uint32) {
				for i := from; i < to; i++ {
					require.NoError(t, p.Publish(marshal(t, &std_msgs.UInt32{Data: i})))
				}
				require.NoError(t, p.Flush(t.Context()))
			}
			paths := map[string]bool{}
			// holds takes snapshots until one has that many messages.
			holds := func(count int, take func() string) {
				await(t, func() bool {
					path := take()
					require.NotContains(t, paths, path)
					paths[path] = true
					got := len(messages(t, g.path(path))["/n"])
					require.LessOrEqual(t, got, count)
					return got == count
				})
			}
			publish(0, 100)
			holds(100, func() string {
				var answer std_srvs.Trigger_Response
				g.call(node, "/snapshot", "std_srvs/srv/Trigger", &std_srvs.Trigger_Request{}, &answer)
				require.True(t, answer.Success, answer.Message)
				return answer.Message
			})
			publish(100, 150)
			holds(150, func() string {
				trigger := g.start("recorder", "trigger")
				trigger.Wait(0)
				path := strings.TrimSpace(trigger.Stdout())
				require.True(t, filepath.IsAbs(path), path)
				return path
			})

			recorder.Signal(syscall.SIGTERM)
			recorder.Wait(0)
			if mode == "--snapshot" {
				require.Len(t, messages(t, g.path("drive.record.00000"))["/n"], 150)
			} else {
				require.NoFileExists(t, g.path("drive.record.00000"))
			}
		})
	}
}

// TestNameSaysTheFormat checks that the extension of the output selects the format, and that the name is used for
// splits.
func TestNameSaysTheFormat(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	recorder := g.start("recorder", "-o", "drive.mcap", "--max-bag-messages", "2", "/n")
	p := g.advertise(g.open("publisher"), "/n", "std_msgs/msg/UInt32", keepAll())
	for i := range uint32(3) {
		require.NoError(t, p.Publish(g.number(i)))
	}
	require.NoError(t, p.Flush(t.Context()))
	require.Contains(t, recorder.Interrupt(), "recorded drive.mcap: ")
	require.Len(t, messages(t, g.path("drive.mcap"))["/n"], 2)
	require.Len(t, messages(t, g.path("drive_1.mcap"))["/n"], 1)
	require.Contains(t, g.run(1, "recorder", "/n", "-s", "mcap", "-o", "drive.mcap"), "use --overwrite")
	require.Contains(t, g.run(2, "recorder", "/n", "-o", "drive.bag"), "converter NAME --to bag OUT")
	require.Contains(t, g.run(2, "recorder", "/n", "-s", "sqlite3"),
		"--storage: sqlite3 cannot be written while recording")
}

// TestHangupCompletesTheRecording checks that the recorder completes its recording at SIGHUP and SIGQUIT.
func TestHangupCompletesTheRecording(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGQUIT} {
		g := isolate(t)
		recorder := g.start("recorder", "-s", "mcap", "-o", "drive", "/n")
		p := g.advertise(g.open("publisher"), "/n", "std_msgs/msg/UInt32", keepAll())
		require.NoError(t, p.Publish(g.number(1)))
		require.NoError(t, p.Flush(t.Context()))
		recorder.Signal(signal)
		require.NotContains(t, recorder.Wait(0), "goroutine", signal)
		require.FileExists(t, g.path("drive/metadata.yaml"))
		require.Len(t, messages(t, g.path("drive"))["/n"], 1)
	}
}

func TestTriggerWithoutRecorder(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	require.Contains(t, g.run(1, "recorder", "trigger", "--timeout", "1s"), "no recorder was found within 1s")
}

// TestRecorderPicksUpNewTopicsAndPublishers checks that the recorder records topics and publishers that appear while it
// records, and replaces subscriptions that do not match a new publisher's QoS.
func TestRecorderPicksUpNewTopicsAndPublishers(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	recorder := g.start("recorder", "-o", "all", "--all", "--exclude-regex", "rosout|parameter_events",
		"--chunk-duration", "50ms")
	node := g.open("publisher")
	first := g.advertise(node, "/first", "std_msgs/msg/UInt32", keepAll())
	sent := uint32(0)
	publish := func() {
		require.NoError(t, first.Publish(g.number(sent)))
		sent++
	}
	publish()
	second := g.advertise(node, "/second", "std_msgs/msg/UInt32", keepAll())
	require.NoError(t, second.Publish(marshal(t, &std_msgs.UInt32{Data: 2})))

	// The reliable subscription of /first does not match a best-effort publisher.
	qos := codec.DefaultQoS()
	qos.Reliability = codec.BestEffort
	weak, err := node.Advertise("/first", "std_msgs/msg/UInt32", qos)
	require.NoError(t, err)
	path, last := g.path("all.record.00000"), g.number(1<<31)
	await(t, func() bool { // until a best-effort subscription has replaced the reliable one
		for range 5 {
			publish()
			time.Sleep(2 * time.Millisecond)
		}
		require.NoError(t, weak.Publish(last))
		isLast := func(data []byte) bool { return bytes.Equal(data, last) }
		return first.Subscribers() == 1 && slices.ContainsFunc(readSoFar(t, path)["/first"], isLast)
	})
	before := sent
	isLater := func(data []byte) bool { return numberOf(data) >= before && !bytes.Equal(data, last) }
	// Wait for a message that is sent later: best-effort readers do not wait for lost messages.
	await(t, func() bool {
		publish()
		return slices.ContainsFunc(readSoFar(t, path)["/first"], isLater)
	})
	out := recorder.Interrupt()
	all := messages(t, path)
	require.Equal(t, [][]byte{g.number(2)}, all["/second"])
	got := slices.DeleteFunc(all["/first"], func(data []byte) bool { return bytes.Equal(data, last) })
	require.NotEmpty(t, got)
	if strings.Contains(out, " 0 lost in transport") { // a best-effort subscription may lose messages
		require.Len(t, got, int(numberOf(got[len(got)-1]))+1, "recorded messages have a gap")
	}
	next := uint32(0)
	for _, data := range got {
		require.GreaterOrEqual(t, numberOf(data), next, "a message is recorded twice")
		next = numberOf(data) + 1
	}
}

// TestTwoTypesOnOneTopic checks that the recorder records all types of a topic, with a warning.
func TestTwoTypesOnOneTopic(t *testing.T) {
	t.Parallel()
	for _, storage := range []string{"record", "mcap"} {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			g := isolate(t)
			recorder := g.start("recorder", "-o", "both", "-s", storage, "/twin")
			node := g.open("publisher")
			imu := g.advertise(node, "/twin", "sensor_msgs/msg/Imu", keepAll())
			number := g.advertise(node, "/twin", "std_msgs/msg/UInt32", keepAll())
			require.NoError(t, imu.Publish(marshal(t, &sensor_msgs.Imu{})))
			require.NoError(t, number.Publish(marshal(t, &std_msgs.UInt32{Data: 5})))
			require.NoError(t, imu.Flush(t.Context()))
			require.NoError(t, number.Flush(t.Context()))
			require.Contains(t, recorder.Interrupt(), "several types")
			path := g.path("both")
			if storage == "record" {
				path += ".record.00000"
			}
			var types []string
			for _, topic := range infoOf(t, path).Topics {
				require.Equal(t, "/twin", topic.Channel.Topic)
				require.Equal(t, uint64(1), topic.MessageCount)
				types = append(types, topic.Channel.Type)
			}
			require.ElementsMatch(t, []string{"sensor_msgs/msg/Imu", "std_msgs/msg/UInt32"}, types)
		})
	}
}

func TestRecorderWithSimulatedTime(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	node := g.open("simulator")
	clock, err := node.Advertise("/clock", "rosgraph_msgs/msg/Clock", codec.DefaultQoS())
	require.NoError(t, err)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				data, _ := cdr.Marshal(&rosgraph_msgs.Clock{Clock: builtin_interfaces.Time{Sec: 42}})
				_ = clock.Publish(data)
			}
		}
	}()
	recorder := g.start("recorder", "-o", "sim", "/n", "--ros-args", "-p", "use_sim_time:=true")
	p := g.advertise(node, "/n", "std_msgs/msg/UInt32", keepAll())
	require.NoError(t, p.Publish(marshal(t, &std_msgs.UInt32{})))
	require.NoError(t, p.Flush(t.Context()))
	recorder.Interrupt()
	info := infoOf(t, g.path("sim.record.00000"))
	require.Equal(t, uint64(1), info.MessageCount)
	require.Equal(t, int64(42e9), info.StartTime)
}

// free returns the free bytes on the disk of a folder.
func free(t *testing.T, folder string) int64 {
	var stat syscall.Statfs_t
	require.NoError(t, syscall.Statfs(folder, &stat))
	return int64(stat.Bavail) * stat.Bsize
}

func TestRecorderStopsWhenTheTimeIsUp(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	g.run(0, "recorder", "-o", "short", "--all", "--max-duration", "500ms")
	require.True(t, infoOf(t, g.path("short.record.00000")).Complete)
}

// TestRecorderRequiresAContract checks that a missing required topic changes the recorder's exit code, and that 'check'
// finds the requirement in the recording.
func TestRecorderRequiresAContract(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	topics := []byte("topics: {/there: {messages: 2}, /absent: {}}")
	require.NoError(t, os.WriteFile(g.path("drive.yaml"), topics, 0o644))
	recorder := g.start("recorder", "-o", "drive", "--expect", "drive.yaml", "--require", "--all")
	p := g.advertise(g.open("publisher"), "/there", "std_msgs/msg/String", keepAll())
	require.NoError(t, p.Publish(marshal(t, &std_msgs.String{Data: "a"})))
	require.NoError(t, p.Publish(marshal(t, &std_msgs.String{Data: "b"})))
	require.NoError(t, p.Flush(t.Context()))
	await(t, func() bool {
		return strings.Contains(recorder.Output(), "/absent: missing: expected messages, seen none")
	})
	recorder.Signal(os.Interrupt)
	const verdict = "does not meet drive.yaml: 1 finding, first /absent: missing: expected messages, seen none"
	require.Contains(t, recorder.Wait(3), "recorder: the recording "+verdict)
	path := g.path("drive.record.00000")
	list := infoOf(t, path).Events
	require.Equal(t, codec.EventCheck, list[len(list)-1].Kind)
	require.Equal(t, verdict, list[len(list)-1].Text)
	require.Regexp(t, `/absent +missing`, g.run(3, "converter", "check", path, "--expect", "drive.yaml"))
}

// TestRecorderRefuses checks the messages and exit codes for wrong arguments.
func TestRecorderRefuses(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	require.NoError(t, os.WriteFile(g.path("taken.record.00000"), []byte("precious"), 0o644))
	require.NoError(t, os.Mkdir(g.path("bag"), 0o755))
	for _, test := range []struct {
		code int
		says string
		args []string
	}{
		{2, "nothing to record", nil},
		{2, "regex", []string{"--regex", "("}},
		{2, "queue-size", []string{"--all", "--queue-size", "-1"}},
		{2, "storage", []string{"--all", "-s", "vhs"}},
		{2, "max-duration", []string{"--all", "--max-duration", "soon"}},
		{2, "bogus", []string{"--all", "--bogus"}},
		{1, "--overwrite", []string{"--all", "-o", "taken"}},
		{1, "--overwrite", []string{"--all", "-o", "bag", "-s", "mcap"}},
		{1, "the folder nowhere does not exist", []string{"--all", "-o", "nowhere/drive"}},
		{1, "no such file", []string{"--all", "--qos-profile-overrides-path", "nowhere.yaml"}},
	} {
		out := g.run(test.code, "recorder", test.args...)
		require.Contains(t, out, test.says, test.args)
		require.NotContains(t, out, "goroutine")
	}
	data, err := os.ReadFile(g.path("taken.record.00000"))
	require.NoError(t, err)
	require.Equal(t, "precious", string(data))
}

// countReadable returns the number of readable messages in a recording that is being written.
func countReadable(path string) (n int) {
	r, err := formats.Open(path)
	if err != nil {
		return 0
	}
	defer r.Close()
	it, err := r.Read(codec.Query{})
	if err != nil {
		return 0
	}
	defer it.Close()
	for {
		if _, err := it.Next(); err != nil {
			return n
		}
		n++
	}
}

// TestRecorderOnAFullDisk checks that the recording on a full disk is readable, and that the summary matches it.
func TestRecorderOnAFullDisk(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	small := g.path("small")
	require.NoError(t, os.Mkdir(small, 0o755))
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=4m"); err != nil {
		t.Skip("a small tmpfs cannot be mounted here, only root may: ", err)
	}
	defer func() { require.NoError(t, syscall.Unmount(small, 0)) }()
	data := make([]byte, 1<<20)
	data[1] = 1
	for storage, path := range map[string]string{"record": "small/full.record.00000", "mcap": "small/full"} {
		for _, chunk := range []string{"50ms", "1h"} {
			t.Run(storage+" "+chunk, func(t *testing.T) {
				g := isolate(t)
				g.dir = filepath.Dir(small)
				recorder := g.start("recorder", "-o", "small/full", "-s", storage, "/big", "--chunk-duration", chunk,
					"--min-space", "0")
				p := g.advertise(g.open("publisher"), "/big", "test_msgs/msg/Big", keepAll())
				for i := range 8 {
					require.NoError(t, p.Publish(data))
					if chunk != "1h" && i < 2 {
						// The recorder writes whole chunks.
						await(t, func() bool { return countReadable(g.path(path)) > i })
					}
				}
				out := recorder.Wait(1)
				require.Equal(t, 1, strings.Count(out, "no space left on device"), out)
				require.NotContains(t, out, " 0 dropped")
				kept := messages(t, g.path(path))["/big"]
				require.Contains(t, out, fmt.Sprintf(" %d messages,", len(kept)),
					"the summary does not have the number of messages in the file")
				if chunk != "1h" {
					require.GreaterOrEqual(t, len(kept), 2, "messages before the full disk are missing")
				}
				require.NoError(t, os.RemoveAll(g.path(path)))
			})
		}
	}
}
