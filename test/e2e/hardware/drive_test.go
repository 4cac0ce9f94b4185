package hardware

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/dds"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/codec/format/session"
	"tapedeck/msgs"
	"tapedeck/msgs/diagnostic_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/test/internal/process"
)

var formats = codec.Formats{rosbag2.Format, session.Format}

// TestDrive checks the bag that a recorder writes of cameras, arms and a vehicle, whose nodes are in a namespace.
func TestDrive(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	arms := g.hardware("/lab")
	start := func(name string, args ...string) *process.Process {
		return g.start(name, append(args, "--ros-args", "-r", "__ns:=/lab", "--params-file", "hardware.yaml")...)
	}
	recorder := start("recorder", "-s", "mcap", "-o", "drive", "--limit", fmt.Sprint(enough),
		"camera_0/image_raw/compressed", "camera_0/camera_info", "camera_2/image_raw", "camera_2/camera_info",
		"arm_0/joint_states", "arm_0/tool_pose", "arm_1/joint_states", "arm_1/tool_pose", "mavros/imu/data")
	publishers := []*process.Process{start("camera_publisher"), start("arm_publisher"), start("mavlink_publisher")}
	g.awaitDiagnostics("/lab/camera_publisher: camera_2", "/lab/arm_publisher: arm_1",
		"/lab/mavlink_publisher: mavros: heartbeat")
	recorder.Wait(0) // the recorder ends at its limit of messages on each topic
	for _, p := range publishers {
		require.NotContains(t, p.Interrupt(), "not one that")
	}

	compressed := messages[sensor_msgs.CompressedImage](g, "/lab/camera_0/image_raw/compressed")
	require.Len(t, compressed, enough)
	stamps, sent := []std_msgs.Header{}, map[string]bool{}
	for _, m := range compressed {
		require.Equal(t, "camera_0_optical_frame", m.Header.FrameId)
		stamps = append(stamps, m.Header)
		sent[string(m.Data)] = true
	}
	require.Len(t, sent, pictures)
	for i := range pictures {
		require.True(t, sent[string(g.jpeg(i))])
	}
	var infos []std_msgs.Header
	for _, m := range messages[sensor_msgs.CameraInfo](g, "/lab/camera_0/camera_info") {
		infos = append(infos, m.Header)
	}
	requireEqualHeaders(t, stamps, infos)
	raw := messages[sensor_msgs.Image](g, "/lab/camera_2/image_raw")
	require.Len(t, raw, enough)
	require.Equal(t, "overhead", raw[0].Header.FrameId)
	require.Equal(t, [3]any{"rgb8", uint32(16), uint32(8)}, [3]any{raw[0].Encoding, raw[0].Width, raw[0].Height})

	for i, name := range []string{"arm_0", "arm_1"} {
		joints := messages[sensor_msgs.JointState](g, "/lab/"+name+"/joint_states")
		require.Len(t, joints, enough)
		seen := map[int]bool{}
		for _, m := range joints {
			require.Len(t, m.Position, arms[i].joints)
			n := int(math.Round(m.Position[0] * 180 / math.Pi * 1000 / stepOfJoint))
			require.False(t, seen[n], "posture %d was recorded twice", n)
			seen[n] = true
			require.InDelta(t, float64(arms[i].posture(n).Joints[5])/1000*math.Pi/180, m.Position[5], 1e-9)
		}
		require.Len(t, messages[geometry_msgs.PoseStamped](g, "/lab/"+name+"/tool_pose"), enough)
	}

	before := math.NaN()
	for i, m := range messages[sensor_msgs.Imu](g, "/lab/mavros/imu/data") {
		require.Equal(t, "base_link", m.Header.FrameId)
		require.InDelta(t, -0.2, m.AngularVelocity.Z, 1e-6)
		heading := math.Pi/2 - 2*math.Atan2(m.Orientation.Z, m.Orientation.W)
		if i > 0 { // by one step, or by several if the recorder was far behind
			turn := math.Remainder(heading-before, 2*math.Pi)
			require.Greater(t, turn, headingStep/2)
			require.InDelta(t, 0, math.Remainder(turn, headingStep), 1e-5)
		}
		before = heading
	}
}

// awaitDiagnostics waits for diagnostics with the given names.
func (g *graph) awaitDiagnostics(names ...string) {
	node, err := dds.Open(bridge.Options{Name: "monitor", Domain: g.domain})
	require.NoError(g.t, err)
	defer func() { require.NoError(g.t, node.Close()) }()
	told := make(chan string)
	done := make(chan struct{})
	defer close(done)
	_, err = node.Subscribe("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", codec.DefaultQoS(),
		func(samples []bridge.Sample) {
			for _, s := range samples {
				var m diagnostic_msgs.DiagnosticArray
				if cdr.Unmarshal(s.Data, &m) != nil {
					continue
				}
				for _, status := range m.Status {
					select {
					case told <- status.Name:
					case <-done:
					}
				}
			}
		})
	require.NoError(g.t, err)
	late := time.After(process.Patience)
	for len(names) > 0 {
		select {
		case name := <-told:
			names = slices.DeleteFunc(names, func(n string) bool { return n == name })
		case <-late:
			require.Empty(g.t, names, "names without diagnostics")
		}
	}
}

// messages returns the messages of a topic in the recording drive.
func messages[T any, P interface {
	*T
	msgs.Message
}](g *graph, topic string) (list []P) {
	r, err := formats.Open(g.path("drive"))
	require.NoError(g.t, err)
	defer r.Close()
	it, err := r.Read(codec.Query{Topics: func(c *codec.Channel) bool { return c.Topic == topic }})
	require.NoError(g.t, err)
	defer it.Close()
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(g.t, err)
		p := P(new(T))
		require.Equal(g.t, p.TypeName(), m.Channel.Type)
		require.NoError(g.t, cdr.Unmarshal(m.Data, p))
		list = append(list, p)
	}
}

// requireEqualHeaders requires that two topics of a camera have equal headers while both are recorded.
func requireEqualHeaders(t *testing.T, a, b []std_msgs.Header) {
	i, k := slices.Index(a, b[0]), slices.Index(b, a[0])
	if i < 0 && k < 0 {
		return // the topics were not recorded at once
	}
	a, b = a[max(i, 0):], b[max(k, 0):]
	n := min(len(a), len(b))
	require.Equal(t, a[:n], b[:n])
}
