package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/test/internal/process"
)

// TestNativeCARLA records and plays messages as CARLA publishes them without ROS 2. CARLA's participant is not a node,
// only CARLA knows the types, and it publishes before the recorder starts.
func TestNativeCARLA(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	source, err := filepath.Abs("testdata/native.c")
	require.NoError(t, err)
	out, err := exec.Command("cc", "-Wall", "-Werror", "-o", g.path("native"), source, "-lddsc").CombinedOutput()
	require.NoError(t, err, string(out))
	cmd := g.command(g.path("native"))
	cmd.Env = append(cmd.Env, "CYCLONEDDS_URI="+os.Getenv("CYCLONEDDS_URI")+`,<General><Interfaces><NetworkInterface `+
		`address="127.0.0.1"/></Interfaces></General>`+
		`<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>60</MaxAutoParticipantIndex>`+
		`<Peers><Peer address="127.0.0.1"/></Peers></Discovery>`)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	native := process.Start(t, cmd)
	native.Prints("ready")

	recorder := g.start("recorder", "--all", "-o", "live")
	recorder.Prints("recording /carla/hero/lane_invasion")
	listener := g.open("listener")
	heard := g.collect(listener, "/carla/hero/speedometer", "std_msgs/msg/Float32", bestEffort())
	await(t, func() bool { return len(heard()) > 20 })
	for topic, least := range map[string]int{
		"/carla/hero/speedometer": 5, "/clock": 6, "/carla/hero/lane_invasion": 1,
	} {
		await(t, func() bool { return g.active("live.record.00000", topic) >= least })
	}
	output := recorder.Interrupt()
	require.NotContains(t, output, "without a definition")
	require.NoError(t, in.Close())
	native.Wait(0)

	path := g.path("live.record.00000")
	all := messages(t, path)
	require.Greater(t, len(all["/clock"]), 5)
	require.Len(t, all["/carla/hero/lane_invasion"], 1)
	want := carla_msgs.LaneInvasionEvent{
		Header:              std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: 5, Nanosec: 6}, FrameId: "hero"},
		CrossedLaneMarkings: []int32{1, 2},
	}
	var got carla_msgs.LaneInvasionEvent
	require.NoError(t, cdr.Unmarshal(all["/carla/hero/lane_invasion"][0], &got))
	require.Equal(t, want, got)
	lane := channel(t, path, "/carla/hero/lane_invasion")
	require.Equal(t, "carla_msgs/msg/LaneInvasionEvent", lane.Type)
	require.Equal(t, codec.SchemaROS2Msg, lane.Schema.Encoding)
	require.Contains(t, string(lane.Schema.Data), "int32[] crossed_lane_markings")
	require.Equal(t, "RIHS01_1d81c780738761101e1b4cb165af96ed32b8aa5cd523713c9b28d1ee95af719b", lane.TypeHash)
	require.Equal(t, codec.TransientLocal, lane.QoS[0].Durability)
	require.Equal(t, 1, lane.QoS[0].Depth)
	require.Equal(t, "RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564",
		channel(t, path, "/clock").TypeHash)
	require.Equal(t, codec.BestEffort, channel(t, path, "/carla/hero/speedometer").QoS[0].Reliability)

	again := g.collect(listener, "/carla/hero/lane_invasion", lane.Type, lane.QoS[0])
	g.run(0, "player", path, "--immediate", "--wait-for-subscribers", "--topics", "/carla/hero/lane_invasion")
	await(t, func() bool { return len(again()) == 1 })
	require.NoError(t, cdr.Unmarshal(again()[0], &got))
	require.Equal(t, want, got)
}

// bestEffort returns the QoS of a subscription that matches every publisher.
func bestEffort() codec.QoS {
	qos := codec.DefaultQoS()
	qos.Reliability = codec.BestEffort
	return qos
}

// active returns the number of a topic's messages in a file that is being written.
func (g *graph) active(name, topic string) int {
	r, err := formats.Open(g.path(name))
	if err != nil {
		return 0
	}
	defer r.Close()
	info, err := r.Info()
	if err != nil {
		return 0
	}
	for _, t := range info.Topics {
		if t.Channel.Topic == topic {
			return int(t.MessageCount)
		}
	}
	return 0
}
