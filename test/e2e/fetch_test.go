package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/msgs"
	rosbag2 "tapedeck/msgs/rosbag2_interfaces"
)

// TestDefinitionFromItsPublisher records types that only the publishing node defines. It checks that the recorder gets
// the definitions from this node and loses no message. On a busy machine the definition may come too late for the first
// recording.
func TestDefinitionFromItsPublisher(t *testing.T) {
	for _, storage := range []string{"record", "mcap"} {
		t.Run(storage, func(t *testing.T) {
			g := isolate(t)
			g.env = append(g.env, "AMENT_PREFIX_PATH=", "ROS_DISTRO=")
			recorder := g.start("recorder", "-s", storage, "-o", "types", "/n", "/m", "/known")

			path := g.path("share/test_msgs/msg/Numbered.msg")
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte("# Counts.\nuint32 number\nuint8[56] rest\n"), 0o644))
			t.Setenv("AMENT_PREFIX_PATH", g.dir) // lets the publisher's node announce the hash of the type
			node := g.open("publisher")
			bridgetest.ServeTypeDescriptions(t, node, msgs.Library(), nil)
			publish := func() {
				known := g.advertise(node, "/known", "std_msgs/msg/UInt32", keepAll())
				for _, topic := range []string{"/n", "/m"} {
					p := g.advertise(node, topic, "test_msgs/msg/Numbered", keepAll())
					for i := range uint32(100) {
						require.NoError(t, p.Publish(numbered(i)))
						require.NoError(t, known.Publish(g.number(i)))
					}
					require.NoError(t, p.Flush(t.Context()))
				}
				require.NoError(t, known.Flush(t.Context()))
			}
			publish()
			recorder.Prints("fetched the definition of test_msgs/msg/Numbered from /publisher")
			control(t, node, "stop", "Stop", &rosbag2.Stop_Request{}, &rosbag2.Stop_Response{})
			control(t, node, "record", "Record", &rosbag2.Record_Request{Uri: "again"}, &rosbag2.Record_Response{})
			publish()
			late := strings.Contains(recorder.Interrupt(), "too late for this file")

			for _, name := range []string{"types", "again"} {
				out := g.path(name)
				if storage == "record" {
					out += ".record.00000"
				}
				all := messages(t, out)
				require.Len(t, all["/known"], 200)
				for _, topic := range []string{"/n", "/m"} {
					require.Len(t, all[topic], 100)
					if name == "again" || !late {
						require.Equal(t, "# Counts.\nuint32 number\nuint8[56] rest\n",
							string(channel(t, out, topic).Schema.Data))
					}
				}
			}
		})
	}
}

// TestDefinitionFromThePlayer records played messages. It checks that the recorder gets the definition, which
// only the played recording has, from the player.
func TestDefinitionFromThePlayer(t *testing.T) {
	for _, storage := range []string{"record", "mcap"} {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			g := isolate(t)
			g.env = append(g.env, "AMENT_PREFIX_PATH=", "ROS_DISTRO=")
			text := "# Counts.\nCount number\nuint8[56] rest\n" + strings.Repeat("=", 80) +
				"\nMSG: test_msgs/Count\nuint32 value # of all\n"
			w, err := formats.Create(g.path("in.mcap"), codec.CreateOptions{})
			require.NoError(t, err)
			c := &codec.Channel{Topic: "/n", Type: "test_msgs/msg/Numbered", Encoding: codec.EncodingCDR,
				Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)}}
			for i := range uint32(100) {
				m := codec.Message{Channel: c, LogTime: epoch + int64(i)*1e6, Data: numbered(i)}
				require.NoError(t, w.Write(&m))
			}
			require.NoError(t, w.Close())

			recorder := g.start("recorder", "-s", storage, "-o", "again", "/n")
			player := g.start("player", "in.mcap", "--wait-for-subscribers", "--start-paused")
			recorder.Prints("fetched the definition of test_msgs/msg/Numbered from /player")
			g.remote(0, "player", "resume")
			player.Wait(0)
			late := strings.Contains(recorder.Interrupt(), "too late for this file")
			out := g.path("again")
			if storage == "record" {
				out += ".record.00000"
			}
			require.Len(t, messages(t, out)["/n"], 100)
			if !late { // the definition may be late on a busy machine
				require.Equal(t, text, string(channel(t, out, "/n").Schema.Data))
			}
		})
	}
}
