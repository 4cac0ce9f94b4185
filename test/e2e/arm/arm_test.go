// Package arm tests arm_publisher as a process on DDS, with simulated arms that reply over TCP and push over UDP.
package arm

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/bridge/device/realman/realmantest"
	"tapedeck/bridge/graph/dds"
	"tapedeck/codec"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/test/internal/process"
)

var bin string // folder of arm_publisher

func TestMain(m *testing.M) {
	process.Isolate()
	os.Exit(process.Main(m, &bin, "arm_publisher"))
}

// openNode returns a node.
func openNode(t *testing.T) bridge.Node {
	node, err := dds.Open(bridge.Options{Name: "listener", Domain: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	return node
}

// requireNear requires numbers within 1e-9.
func requireNear(t *testing.T, want, got []float64) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.InDelta(t, want[i], got[i], 1e-9, "number %d", i)
	}
}

// TestTwoArms checks the topics of a polled arm and of an arm that pushes, and that both reconnect.
func TestTwoArms(t *testing.T) {
	node := openNode(t)
	left := bridgetest.Listen[sensor_msgs.JointState](t, node, "/lab/left/joint_states", codec.DefaultQoS())
	right := bridgetest.Listen[sensor_msgs.JointState](t, node, "/lab/right/joint_states", codec.DefaultQoS())
	pose := bridgetest.Listen[geometry_msgs.PoseStamped](t, node, "/lab/right/tool_pose", codec.DefaultQoS())
	gripper := bridgetest.Listen[sensor_msgs.JointState](t, node, "/lab/left/gripper", codec.DefaultQoS())
	wrench := bridgetest.Listen[geometry_msgs.WrenchStamped](t, node, "/lab/right/wrench", codec.DefaultQoS())
	state := bridgetest.Listen[diag.DiagnosticArray](t, node, "/diagnostics", codec.DefaultQoS())

	seven := realmantest.Still
	seven.Joints, seven.Speeds = []int{1000, 2000, 3000, 4000, 5000, 6000, 200000}, []int{100, 0, 0, 0, 0, 0, -100}
	seven.Force, seven.Errors, seven.JointErrors = []int{1000, 2000, 3000, 400, 500, 600}, []int{0x100D},
		[]int{0, 0, 8, 0, 0, 0, 0}
	queried := &realmantest.Arm{Generation: 2}
	pushing := &realmantest.Arm{Generation: 4, Pose: func(time.Duration) realmantest.Posture { return seven }}
	require.NoError(t, queried.Start("127.0.0.1:0"))
	defer queried.Close()
	require.NoError(t, pushing.Start("127.0.0.2:0"))
	defer pushing.Close()
	file := filepath.Join(t.TempDir(), "arms.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `
/lab:
  arm_publisher:
    ros__parameters:
      push: none
      retry: 10ms
      arms:
        left: {host: %s, port: %d, rate: 200}
        right: {host: %s, port: %d, push: set, push_port: 0, base_frame: world, joint_names: [a, b, c, d, e, f, g]}
`, queried.Host(), queried.Port(), pushing.Host(), pushing.Port()), 0o666))
	p := process.Start(t, exec.Command(bin+"/arm_publisher", "--ros-args", "-r", "__ns:=/lab", "--params-file", file))

	m := left.Await(t, "joint states of the queried arm", func(sensor_msgs.JointState) bool { return true })
	require.Equal(t, []string{"joint1", "joint2", "joint3", "joint4", "joint5", "joint6"}, m.Name)
	const deg = math.Pi / 180
	requireNear(t, []float64{-1.968 * deg, -35.327 * deg, 62.138 * deg, 165.412 * deg, -9.854 * deg, -293.299 * deg},
		m.Position)
	require.Empty(t, m.Velocity)
	g := gripper.Await(t, "the gripper of the queried arm", func(sensor_msgs.JointState) bool { return true })
	require.Equal(t, []string{"position", "force", "status", "mode"}, g.Name)
	requireNear(t, []float64{150, 0.980665, 1, 1}, g.Position)

	m = right.Await(t, "packets of the arm that pushes",
		func(m sensor_msgs.JointState) bool { return len(m.Velocity) > 0 })
	require.Equal(t, []string{"a", "b", "c", "d", "e", "f", "g"}, m.Name)
	requireNear(t, []float64{1 * deg, 2 * deg, 3 * deg, 4 * deg, 5 * deg, 6 * deg, 200 * deg}, m.Position)
	requireNear(t, []float64{1 * deg, 0, 0, 0, 0, 0, -1 * deg}, m.Velocity)
	at := time.Unix(int64(m.Header.Stamp.Sec), int64(m.Header.Stamp.Nanosec))
	require.WithinDuration(t, time.Now(), at, process.Patience)
	require.True(t, at.Before(time.Now()))
	q := pose.Await(t, "the pose of the arm that pushes", func(geometry_msgs.PoseStamped) bool { return true })
	require.Equal(t, "world", q.Header.FrameId)
	require.Equal(t, geometry_msgs.Point{X: -0.086608, Y: 0.01175, Z: 0.820234}, q.Pose.Position)
	requireNear(t, []float64{1}, []float64{math.Hypot(math.Hypot(q.Pose.Orientation.X, q.Pose.Orientation.Y),
		math.Hypot(q.Pose.Orientation.Z, q.Pose.Orientation.W))})
	w := wrench.Await(t, "forces of the arm that pushes", func(geometry_msgs.WrenchStamped) bool { return true })
	require.Equal(t, "right_force_sensor", w.Header.FrameId)
	require.Equal(t, geometry_msgs.Vector3{X: 1, Y: 2, Z: 3}, w.Wrench.Force)

	status := func(name string) func(diag.DiagnosticArray) bool {
		return func(a diag.DiagnosticArray) bool {
			for _, s := range a.Status {
				if s.Name == "/lab/arm_publisher: right" && strings.Contains(s.Message, name) {
					return true
				}
			}
			return false
		}
	}
	state.Await(t, "the errors of the arm that pushes", status("it collided (0x100d); joint 3: too hot (0x0008)"))

	// Both reconnect.
	for i := range 3 {
		queried.Reset()
		pushing.Reset()
		pushing.Silence()
		require.Eventually(t, func() bool {
			// The publisher configures the push again.
			return queried.Connections() > i+1 && pushing.Requests("set_realtime_push") > i+1
		}, process.Patience, 5*time.Millisecond)
		_, l := left.Get()
		_, r := right.Get()
		require.Eventually(t, func() bool {
			_, nl := left.Get()
			_, nr := right.Get()
			return nl > l+5 && nr > r+5
		}, process.Patience, 5*time.Millisecond)
	}
	p.Interrupt()
}

// TestUsage checks the messages for missing arms, and the help.
func TestUsage(t *testing.T) {
	out := process.Start(t, exec.Command(bin+"/arm_publisher")).Wait(2)
	require.Contains(t, out, "name the host of an arm, such as 192.168.1.18, or configure arms in a parameter file")
	file := filepath.Join(t.TempDir(), "arms.yaml")
	require.NoError(t, os.WriteFile(file, []byte("arm_publisher: {ros__parameters: {arms: {a: {host: x}}}}"), 0o666))
	out = process.Start(t, exec.Command(bin+"/arm_publisher", "--ros-args", "-r", "__ns:=/lab", "--params-file",
		file)).Wait(2)
	require.Contains(t, out, "name the host of an arm")
	require.Contains(t, out, "arms.yaml", "the message does not name the parameter file")
	out = process.Start(t, exec.Command(bin+"/arm_publisher", "--help", "all")).Wait(0)
	for _, text := range []string{"Requests", "--gripper-rate", "arms.NAME.OPTION"} {
		require.Contains(t, out, text)
	}
}
