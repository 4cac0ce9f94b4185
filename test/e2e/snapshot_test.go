package e2e

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/tapedeck"
)

func TestTakeSnapshot(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	recorder := g.start("recorder", "-o", "drive", "-s", "mcap", "--snapshot", "/n", "--ros-args", "-r", "__ns:=/robot")
	node := g.open("publisher")
	p := g.advertise(node, "/n", "std_msgs/msg/UInt32", keepAll())
	publish := func(n uint32) {
		require.NoError(t, p.Publish(marshal(t, &std_msgs.UInt32{Data: n})))
		require.NoError(t, p.Flush(t.Context()))
	}
	take := func(request tapedeck.TakeSnapshot_Request) (answer tapedeck.TakeSnapshot_Response) {
		reply, err := node.Call(t.Context(), "/robot/recorder/take_snapshot", "tapedeck/srv/TakeSnapshot",
			marshal(t, &request))
		require.NoError(t, err)
		require.NoError(t, cdr.Unmarshal(reply, &answer))
		return answer
	}
	answer := take(tapedeck.TakeSnapshot_Request{Before: -1})
	require.False(t, answer.Success)
	require.Contains(t, answer.Message, "before is -1")

	began := time.Now()
	publish(1)
	await(t, func() bool { return take(tapedeck.TakeSnapshot_Request{}).MessageCount == 1 })
	time.Sleep(1500 * time.Millisecond)
	path, tries := "", 0
	await(t, func() bool { // until a snapshot is taken soon enough
		publish(2)
		tries++
		path = fmt.Sprint("crash", tries)
		answer = take(tapedeck.TakeSnapshot_Request{Before: 1, Path: path, Cause: "emergency stop"})
		require.True(t, answer.Success, answer.Message)
		return answer.MessageCount > 0
	})
	require.Equal(t, g.path(path), answer.Path)
	require.WithinRange(t, time.Unix(int64(answer.Start.Sec), int64(answer.Start.Nanosec)), began, time.Now())
	got := messages(t, g.path(path))["/n"]
	require.Len(t, got, int(answer.MessageCount))
	require.NotContains(t, got, g.number(1), "the snapshot has a message from before")
	require.Equal(t, "emergency stop", infoOf(t, g.path(path)).Metadata["cause"])

	answer = take(tapedeck.TakeSnapshot_Request{Path: path})
	require.False(t, answer.Success)
	require.Contains(t, answer.Message, "create "+path+": file already exists")
	recorder.Interrupt()
}

// recorded is a numbered message of a recording.
type recorded struct {
	time   int64 // LogTime
	number uint32
}

// readSnapshot returns the numbered messages of a recording by topic, and the event with the cause of the snapshot.
func readSnapshot(t *testing.T, path string) (all map[string][]recorded, trigger codec.Event) {
	t.Helper()
	r, err := formats.Open(path)
	require.NoError(t, err)
	defer r.Close()
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	defer it.Close()
	all = map[string][]recorded{}
	for {
		m, err := it.Next()
		if err == io.EOF {
			return all, trigger
		}
		require.NoError(t, err)
		if e, ok := codec.ParseEvent(m); !ok {
			all[m.Channel.Topic] = append(all[m.Channel.Topic],
				recorded{m.LogTime, binary.LittleEndian.Uint32(m.Data[4:])})
		} else if e.Kind == codec.EventSnapshot && trigger.Kind == "" {
			trigger = e
		} else {
			require.NotEqual(t, codec.EventDrop, e.Kind, "%s: %s", path, e.Text)
		}
	}
}

// TestOverlappingSnapshots takes twenty snapshots in a few seconds, in all ways, and compares each of them with the
// recording, message by message.
func TestOverlappingSnapshots(t *testing.T) {
	t.Parallel()
	for _, storage := range []string{"record", "mcap"} {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			g := isolate(t)
			const before, after, short = 2 * time.Second, time.Second, 500 * time.Millisecond
			recorder := g.start("recorder", "-o", "drive", "-s", storage, "/fast", "/large", "/short",
				"--snapshot", "--snapshot-duration", before.String(), "--snapshot-after", after.String(),
				"--snapshot-folder",
				"snapshots",
				"--snapshot-topic-limits", "/short="+short.String(), "--snapshot-condition", "/alarm abs(data) > 10",
				"--snapshot-cooldown", "0s")
			node := g.open("publisher")
			flow := func(topic string, size int, period time.Duration) (stop func() int) {
				p := g.advertise(node, topic, "test_msgs/msg/Numbered", keepAll())
				ctx, cancel := context.WithCancel(context.Background())
				sent := make(chan int)
				go func() {
					data := make([]byte, size)
					data[1] = 1
					n := 0
					for tick := time.Tick(period); ctx.Err() == nil; n++ {
						binary.LittleEndian.PutUint32(data[4:], uint32(n))
						_ = p.Publish(data)
						<-tick
					}
					_ = p.Flush(t.Context())
					sent <- n
				}()
				return func() int {
					cancel()
					return <-sent
				}
			}
			stops := map[string]func() int{
				"/fast":  flow("/fast", 64, 500*time.Microsecond),
				"/large": flow("/large", 200000, 10*time.Millisecond),
				"/short": flow("/short", 1000, 2*time.Millisecond),
			}
			alarm := g.advertise(node, "/alarm", "std_msgs/msg/Float64", keepAll())
			time.Sleep(before)

			type span struct{ before, after time.Duration }
			asked := map[string]span{} // by cause
			var mu sync.Mutex
			var triggers sync.WaitGroup
			later := func(do func()) {
				at := time.Duration(rand.IntN(4000)) * time.Millisecond
				triggers.Go(func() {
					time.Sleep(at)
					do()
				})
			}
			for i := range 12 {
				s := span{time.Duration(rand.IntN(2500)) * time.Millisecond,
					time.Duration(rand.IntN(1500)) * time.Millisecond}
				cause := "call " + string(rune('a'+i))
				asked[cause] = s
				later(func() {
					request := tapedeck.TakeSnapshot_Request{Before: s.before.Seconds(), After: s.after.Seconds(),
						Cause: cause}
					reply, err := node.Call(t.Context(), "/recorder/take_snapshot", "tapedeck/srv/TakeSnapshot",
						marshal(t, &request))
					var answer tapedeck.TakeSnapshot_Response
					if err == nil {
						err = cdr.Unmarshal(reply, &answer)
					}
					if err != nil || !answer.Success {
						t.Errorf("%s: %v %s", cause, err, answer.Message)
					}
				})
			}
			for i := range 3 {
				cause := "command " + string(rune('a'+i))
				asked[cause] = span{time.Second, 300 * time.Millisecond}
				later(func() {
					p := g.start("recorder", "trigger", "--before", "1s", "--after", "300ms", "--cause", cause)
					p.Ended()
					mu.Lock()
					defer mu.Unlock()
					if path := strings.TrimSpace(p.Stdout()); !strings.HasPrefix(path,
						g.path("snapshots/snapshot_drive_")) {
						t.Errorf("%s printed %s", cause, p.Output())
					}
				})
				later(func() { g.start("recorder", "trigger", "--topic", "/snapshot_trigger").Ended() })
			}
			for range 2 {
				later(func() {
					mu.Lock()
					defer mu.Unlock()
					for _, v := range []float64{9, -11, -12, 0} { // meets the condition once
						_ = alarm.Publish(marshal(t, &std_msgs.Float64{Data: v}))
					}
				})
			}
			triggers.Wait()
			time.Sleep(after)
			sent := map[string]int{}
			for topic, stop := range stops {
				sent[topic] = stop()
			}
			var paths []string
			require.Eventually(t, func() bool {
				paths, _ = filepath.Glob(g.path("snapshots/*"))
				return len(paths) == 20 && strings.Count(recorder.Output(), " messages in ") == 20
			}, patient, 10*time.Millisecond, "20 snapshots")
			require.Contains(t, recorder.Interrupt(), "0 dropped, 0 lost in transport")

			drive := "drive"
			if storage == "record" {
				drive += ".record.00000"
			}
			all, _ := readSnapshot(t, g.path(drive))
			for topic, n := range sent {
				require.Len(t, all[topic], n)
				for i, m := range all[topic] {
					require.EqualValues(t, i, m.number)
				}
			}
			for _, path := range paths {
				got, trigger := readSnapshot(t, path)
				cause, _, _ := strings.Cut(trigger.Text, " (")
				s, known := asked[cause]
				delete(asked, cause)
				if !known {
					require.Contains(t, []string{
						"message on /snapshot_trigger (2s before, 1s after)",
						"condition /alarm abs(data) > 10: abs(data) = 11 (2s before, 1s after)",
					}, trigger.Text)
					s = span{before, after}
				}
				if s.before == 0 || s.before > before {
					s.before = before
				}
				for topic := range sent {
					since := s.before
					if topic == "/short" {
						since = min(since, short)
					}
					var want []recorded
					for _, m := range all[topic] {
						if m.time >= trigger.Time-int64(since) && m.time <= trigger.Time+int64(s.after) {
							want = append(want, m)
						}
					}
					have := got[topic]
					require.LessOrEqual(t, len(have), len(want), "%s in %s, %s", topic, path, trigger.Text)
					// On a busy machine the last messages may arrive after the end of the snapshot.
					require.True(t, slices.Equal(want[:len(have)], have), "%s in %s, %s:\n%v\n%v", topic, path,
						trigger.Text, want,
						have)
					require.False(t, len(have) == 0 && len(want) > 100, "%s in %s, %s", topic, path, trigger.Text)
				}
			}
			require.Empty(t, asked)
		})
	}
}
