package e2e

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	rosbag2 "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/tapedeck"
)

// control calls a service of rosbag2's recorder.
func control(t *testing.T, node bridge.Node, service, typeName string, request, response msgs.Message) {
	t.Helper()
	payload, err := node.Call(t.Context(), "/recorder/"+service, "rosbag2_interfaces/srv/"+typeName,
		marshal(t, request))
	require.NoError(t, err)
	require.NoError(t, cdr.Unmarshal(payload, response))
}

// collect subscribes to a topic and returns a function that returns the payloads so far.
func (g *graph) collect(node bridge.Node, topic, typeName string, qos codec.QoS) func() [][]byte {
	var mu sync.Mutex
	var list [][]byte
	_, err := node.Subscribe(topic, typeName, qos, func(samples []bridge.Sample) {
		mu.Lock()
		defer mu.Unlock()
		for _, s := range samples {
			list = append(list, slices.Clone(s.Data))
		}
	})
	require.NoError(g.t, err)
	return func() [][]byte {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}
}

// TestControl splits, pauses and resumes a recording while numbered messages come. It checks that all messages are
// recorded once, except during the pause.
func TestControl(t *testing.T) {
	t.Parallel()
	for _, storage := range []string{"record", "mcap"} {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			g := isolate(t)
			g.env = append(g.env, "AMENT_PREFIX_PATH=", "ROS_DISTRO=")
			recorder := g.start("recorder", "-s", storage, "-o", "drive", "--publish", "/n", "--snapshot",
				"--snapshot-duration", "1s")
			node := g.open("operator")
			begun := g.collect(node, "/begin_write", "std_msgs/msg/String", latched())
			closed := g.collect(node, "/events/write_split", "rosbag2_interfaces/msg/WriteSplitEvent", keepAll())
			p := g.advertise(node, "/n", "test_msgs/msg/Numbered", keepAll())
			var sent atomic.Uint32
			stop, stopped := make(chan struct{}), make(chan error, 1)
			go func() {
				for {
					select {
					case <-stop:
						stopped <- p.Flush(t.Context())
						return
					default:
					}
					if err := p.Publish(numbered(sent.Load())); err != nil {
						stopped <- err
						return
					}
					if sent.Add(1)%10 == 0 {
						time.Sleep(time.Millisecond)
					}
				}
			}()
			// awaitNext waits until the recorder has received a message that was sent after the call.
			awaitNext := func() {
				now := sent.Load()
				await(t, func() bool {
					var answer tapedeck.TakeSnapshot_Response
					g.call(node, "/recorder/take_snapshot", "tapedeck/srv/TakeSnapshot",
						&tapedeck.TakeSnapshot_Request{}, &answer)
					require.True(t, answer.Success, answer.Message)
					list := messages(t, g.path(answer.Path))["/n"]
					return len(list) > 0 && numberOf(list[len(list)-1]) > now
				})
			}
			// Without waiting, the first split might come before the first message, and the first file would be empty.
			awaitNext()
			const splits = 12
			var from, until uint32 // number of sent messages before and after the pause
			for i := range splits {
				var split rosbag2.SplitBagfile_Response
				control(t, node, "split_bagfile", "SplitBagfile", &rosbag2.SplitBagfile_Request{}, &split)
				require.Equal(t, rosbag2.SplitBagfile_Response{}, split)
				if i == splits/2 {
					from = sent.Load()
					control(t, node, "pause", "Pause", &rosbag2.Pause_Request{}, &rosbag2.Pause_Response{})
					awaitNext()
					var paused rosbag2.IsPaused_Response
					control(t, node, "is_paused", "IsPaused", &rosbag2.IsPaused_Request{}, &paused)
					require.True(t, paused.Paused)
					control(t, node, "resume", "Resume", &rosbag2.Resume_Request{}, &rosbag2.Resume_Response{})
					until = sent.Load()
				}
				awaitNext()
			}
			close(stop)
			require.NoError(t, <-stopped)
			require.Contains(t, recorder.Interrupt(), "0 dropped, 0 lost in transport")

			var files []string
			for i := range splits + 1 {
				name := fmt.Sprintf("drive.record.%05d", i)
				if storage == "mcap" {
					name = fmt.Sprintf("drive/drive_%d.mcap", i)
				}
				files = append(files, name)
			}
			var got, skipped []uint32
			var pauses []codec.Event
			for i, name := range files {
				list := messages(t, g.path(name))["/n"]
				require.NotEmpty(t, list, name)
				for _, data := range list {
					got = append(got, numberOf(data))
				}
				pauses = append(pauses, eventsOf(t, g.path(name), codec.EventPause)...)
				require.Len(t, eventsOf(t, g.path(name), codec.EventSplit), min(i, 1))
			}
			for i, want := 0, uint32(0); want < sent.Load(); want++ {
				if i < len(got) && got[i] == want {
					i++
				} else {
					skipped = append(skipped, want)
				}
			}
			require.Len(t, got, int(sent.Load())-len(skipped), "messages are recorded twice or out of order")
			require.NotEmpty(t, skipped)
			require.Equal(t, len(skipped), int(skipped[len(skipped)-1]-skipped[0])+1, "there are several gaps")
			require.Less(t, skipped[0], until)
			require.Greater(t, skipped[len(skipped)-1], from)
			require.Len(t, pauses, 1)
			require.Greater(t, pauses[0].Until, pauses[0].Time)

			names := func(list [][]byte, name func(data []byte) string) (all []string) {
				for _, data := range list {
					all = append(all, name(data))
				}
				return all
			}
			var last []string
			await(t, func() bool {
				last = names(begun(), func(data []byte) string { // each message replaces the latched message before
					var name std_msgs.String
					require.NoError(t, cdr.Unmarshal(data, &name))
					return name.Data
				})
				return len(closed()) == len(files) && slices.Contains(last, files[splits])
			})
			require.Subset(t, files, last)
			require.Equal(t, files[splits], last[len(last)-1])
			require.ElementsMatch(t, files, names(closed(), func(data []byte) string {
				var e rosbag2.WriteSplitEvent
				require.NoError(t, cdr.Unmarshal(data, &e))
				require.Equal(t, "/recorder", e.NodeName)
				return e.ClosedFile
			}))
		})
	}
}

// TestControlAcrossReleases checks that recorders understand clients of ROS 2 Humble and of later releases, whatever
// release the recorder has.
func TestControlAcrossReleases(t *testing.T) {
	t.Parallel()
	empty := []byte{0, 1, 0, 0, 0}
	for _, release := range []string{"", "humble"} {
		t.Run("recorder of "+release, func(t *testing.T) {
			t.Parallel()
			g := isolate(t)
			g.env = append(g.env, "AMENT_PREFIX_PATH=", "ROS_DISTRO="+release)
			recorder := g.start("recorder", "-o", "drive", "/n", "--allow-unmatched")
			node := g.open("operator")
			call := func(service, typeName string, request []byte) []byte {
				response, err := node.Call(t.Context(), "/recorder/"+service, "rosbag2_interfaces/srv/"+typeName,
					request)
				require.NoError(t, err)
				return response
			}
			for range 2 {
				require.LessOrEqual(t, len(call("resume", "Resume", empty)), 8,
					"a client of Humble cannot decode the response")
				var response rosbag2.Resume_Response
				require.NoError(t, cdr.Unmarshal(call("resume", "Resume", marshal(t, &rosbag2.Resume_Request{})),
					&response))
				require.LessOrEqual(t, len(call("split_bagfile", "SplitBagfile", empty)), 8)
			}
			recorder.Interrupt()
			require.FileExists(t, g.path("drive.record.00002"))
		})
	}
}
