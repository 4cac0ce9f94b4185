package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/bridge/device/realman"
	"tapedeck/bridge/device/realman/realmantest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/rcl_interfaces"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/nodes/internal/graph/rospub"
	"tapedeck/nodes/internal/hardware"
)

const patience = 90 * time.Second

// eventually waits until a condition holds. The condition runs in the goroutine of the test, so that it may use
// require.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for began := time.Now(); !condition(); time.Sleep(2 * time.Millisecond) {
		require.Less(t, time.Since(began), patience, what)
	}
}

// listener keeps the messages of a topic.
type listener[T any] struct {
	mu       sync.Mutex
	messages []T
}

func (e *listener[T]) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.messages)
}

func (e *listener[T]) last(t *testing.T) T {
	t.Helper()
	eventually(t, "a message", func() bool { return e.count() > 0 })
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.messages[len(e.messages)-1]
}

// has reports whether a message meets a condition.
func (e *listener[T]) has(condition func(T) bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.messages, condition)
}

// listen subscribes to a topic.
func listen[T any, P interface {
	*T
	msgs.Message
}](t *testing.T, node bridge.Node, topic string) *listener[T] {
	e := &listener[T]{}
	_, err := node.Subscribe(topic, P(new(T)).TypeName(), codec.DefaultQoS(), func(samples []bridge.Sample) {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, s := range samples {
			var m T
			if err := cdr.Unmarshal(s.Data, P(&m)); err != nil {
				panic(err)
			}
			e.messages = append(e.messages, m)
		}
	})
	require.NoError(t, err)
	return e
}

// network is a graph in memory with a node for listeners.
type network struct {
	t    *testing.T
	net  bridgetest.Network
	node bridge.Node
}

func newNetwork(t *testing.T) *network {
	g := &network{t: t}
	var err error
	g.node, err = g.net.Open(bridge.Options{Name: "listener"})
	require.NoError(t, err)
	t.Cleanup(func() { g.node.Close() })
	return g
}

// publish publishes arms until the test ends.
func (g *network) publish(arms map[string]*hardware.Arm) *publisher {
	node, err := g.net.Open(bridge.Options{Name: "arm_publisher"})
	require.NoError(g.t, err)
	p, err := newPublisher(arms, node)
	require.NoError(g.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.run(ctx) }()
	g.t.Cleanup(func() {
		cancel()
		require.NoError(g.t, <-done)
		node.Close()
	})
	return p
}

func start(t *testing.T, address string, fake *realmantest.Arm) *realmantest.Arm {
	require.NoError(t, fake.Start(address))
	t.Cleanup(fake.Close)
	return fake
}

// pollOptions returns the options of a fake arm that is only queried. change, which may be nil, changes them.
func pollOptions(fake *realmantest.Arm, change func(*hardware.Arm)) *hardware.Arm {
	return entry(fake.Host(), func(a *hardware.Arm) {
		a.Port, a.Push, a.Rate, a.GripperRate, a.StatusRate = fake.Port(), "none", 500, 500, 100
		a.ReplyTimeout, a.Silence, a.Retry = patience, patience, time.Millisecond
		if change != nil {
			change(a)
		}
	})
}

func requireNumbers(t *testing.T, want, got []float64) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.InDelta(t, want[i], got[i], 1e-9, "number %d", i)
	}
}

// stillJoints returns the joint positions of realmantest.Still in rad.
func stillJoints() []float64 {
	list := []float64{-1.968, -35.327, 62.138, 165.412, -9.854, -293.299}
	for i := range list {
		list[i] *= math.Pi / 180
	}
	return list
}

func TestAskedArm(t *testing.T) {
	for name, generation := range map[string]int{"second generation": 2, "third generation": 3,
		"fourth generation": 4} {
		t.Run(name, func(t *testing.T) {
			g := newNetwork(t)
			joints := listen[sensor_msgs.JointState](t, g.node, "/left/joint_states")
			pose := listen[geometry_msgs.PoseStamped](t, g.node, "/left/tool_pose")
			gripper := listen[sensor_msgs.JointState](t, g.node, "/left/gripper")
			wrench := listen[geometry_msgs.WrenchStamped](t, g.node, "/left/wrench")
			before := time.Now()
			still := realmantest.Still
			still.Force = []int{1000, 2000, 3000, 400, 500, 600}
			fake := start(t, "127.0.0.1:0", &realmantest.Arm{Generation: generation,
				Pose: func(time.Duration) realmantest.Posture { return still }})
			g.publish(map[string]*hardware.Arm{"left": pollOptions(fake, func(a *hardware.Arm) { a.ForceRate = 100 })})
			m := joints.last(t)
			require.Equal(t, []string{"joint1", "joint2", "joint3", "joint4", "joint5", "joint6"}, m.Name)
			requireNumbers(t, stillJoints(), m.Position)
			require.Empty(t, m.Velocity)
			require.Empty(t, m.Effort)
			stamp := time.Unix(int64(m.Header.Stamp.Sec), int64(m.Header.Stamp.Nanosec))
			require.True(t, stamp.After(before) && stamp.Before(time.Now()), stamp)
			p := pose.last(t)
			require.Equal(t, "left_base_link", p.Header.FrameId)
			require.Equal(t, geometry_msgs.Point{X: -0.086608, Y: 0.01175, Z: 0.820234}, p.Pose.Position)
			require.InDelta(t, 0.3167, p.Pose.Orientation.W, 1e-3)
			require.InDelta(t, 0.8852, p.Pose.Orientation.Z, 1e-3)
			s := gripper.last(t)
			require.Equal(t, []string{"position", "force", "status", "mode"}, s.Name)
			requireNumbers(t, []float64{150, 0.980665, 1, 1}, s.Position)
			w := wrench.last(t)
			require.Equal(t, "left_force_sensor", w.Header.FrameId)
			require.Equal(t, geometry_msgs.Wrench{Force: geometry_msgs.Vector3{X: 1, Y: 2, Z: 3},
				Torque: geometry_msgs.Vector3{X: 0.4, Y: 0.5, Z: 0.6}}, w.Wrench)
			for _, command := range fake.Commands() {
				require.Regexp(t, "^get_", command, "the node must only observe the arm")
			}
		})
	}
}

func TestPushedArms(t *testing.T) {
	g := newNetwork(t)
	left := listen[sensor_msgs.JointState](t, g.node, "/left/joint_states")
	right := listen[sensor_msgs.JointState](t, g.node, "/right/joint_states")
	gripper := listen[sensor_msgs.JointState](t, g.node, "/right/gripper")
	wrench := listen[geometry_msgs.WrenchStamped](t, g.node, "/left/wrench")
	pose := listen[geometry_msgs.PoseStamped](t, g.node, "/left/tool_pose")
	still := realmantest.Still
	still.Force = []int{1000, 2000, 3000, 400, 500, 600}
	one := start(t, "127.0.0.1:0", &realmantest.Arm{Pose: func(time.Duration) realmantest.Posture { return still }})
	two := start(t, "127.0.0.2:0", &realmantest.Arm{Generation: 4, Pose: realmantest.Moving(7)})
	set := func(a *hardware.Arm) {
		a.Push, a.PushPort, a.GripperRate, a.JointNames = "set", 0, 0, nil
		a.Effort, a.BaseFrame, a.ForceFrame = "current", "world", "sensor"
	}
	g.publish(map[string]*hardware.Arm{
		"left": pollOptions(one, set),
		"right": pollOptions(two, func(a *hardware.Arm) {
			set(a)
			a.JointNames = []string{"a", "b", "c", "d", "e", "f", "g"}
		}),
	})
	var m, other sensor_msgs.JointState // messages from replies, between late packets, have no velocities
	eventually(t, "velocities and quaternions, which only packets have", func() bool {
		m, other = left.last(t), right.last(t)
		return len(m.Velocity) > 0 && len(other.Velocity) > 0 &&
			math.Abs(pose.last(t).Pose.Orientation.W-0.316706) < 1e-6
	})
	requireNumbers(t, stillJoints(), m.Position)
	requireNumbers(t, []float64{0, 0, 0, 0, 0, 0.01 * math.Pi / 180}, m.Velocity)
	requireNumbers(t, []float64{-0.079, -0.079, -0.079, -0.079, -0.079, -0.079}, m.Effort)
	require.Equal(t, []string{"a", "b", "c", "d", "e", "f", "g"}, other.Name)
	require.Len(t, other.Position, 7)
	require.Len(t, other.Velocity, 7)
	require.Equal(t, []string{"position", "force", "status", "mode"}, gripper.last(t).Name)
	require.Equal(t, "sensor", wrench.last(t).Header.FrameId)
	require.Equal(t, "world", pose.last(t).Header.FrameId)

	// When packets stop, the arm is queried again.
	one.Silence()
	n := left.count()
	eventually(t, "more joint states", func() bool { return left.count() > n+100 && len(left.last(t).Velocity) == 0 })
}

func TestListener(t *testing.T) {
	g := newNetwork(t)
	joints := listen[sensor_msgs.JointState](t, g.node, "/arm_0/joint_states")
	state := listen[diag.DiagnosticArray](t, g.node, "/diagnostics")
	log := listen[rcl_interfaces.Log](t, g.node, "/rosout")
	fake, stranger := start(t, "127.0.0.2:0", &realmantest.Arm{}), start(t, "127.0.0.3:0", &realmantest.Arm{})
	p := g.publish(map[string]*hardware.Arm{"arm_0": pollOptions(fake,
		func(a *hardware.Arm) { a.Push, a.PushPort, a.Rate = "listen", 0, 0 })})
	for l := range p.listeners {
		to := fmt.Sprintf("127.0.0.1:%d", l.Port())
		require.NoError(t, fake.PushTo(to, 5*time.Millisecond))
		require.NoError(t, stranger.PushTo(to, 5*time.Millisecond))
	}
	requireNumbers(t, stillJoints(), joints.last(t).Position)
	eventually(t, "status", func() bool { return message(state, "arm_0") == "pushing" })
	require.Zero(t, fake.Connections(), "no queries")
	eventually(t, "a warning of the stranger", func() bool {
		return log.has(func(m rcl_interfaces.Log) bool {
			return strings.HasPrefix(m.Msg, "ignoring packets of 127.0.0.3 to UDP port ")
		})
	})
}

func TestReconnect(t *testing.T) {
	g := newNetwork(t)
	joints := listen[sensor_msgs.JointState](t, g.node, "/arm_0/joint_states")
	state := listen[diag.DiagnosticArray](t, g.node, "/diagnostics")
	var mu sync.Mutex
	mute := false
	fake := start(t, "127.0.0.1:0", &realmantest.Arm{Answer: func(_, usual string) string {
		mu.Lock()
		defer mu.Unlock()
		if mute {
			return ""
		}
		return usual
	}})
	g.publish(map[string]*hardware.Arm{"arm_0": pollOptions(fake, func(a *hardware.Arm) { a.Silence = time.Second })})
	joints.last(t)
	eventually(t, "status", func() bool { // a warning if replies are late on a busy machine
		s, ok := last(state, "arm_0")
		return ok && s.Level != diag.DiagnosticStatus_ERROR
	})
	fake.Reset()
	eventually(t, "a second connection", func() bool { return fake.Connections() > 1 })
	n := joints.count()
	eventually(t, "more joint states", func() bool { return joints.count() > n })
	mu.Lock()
	mute = true
	mu.Unlock()
	c := fake.Connections()
	eventually(t, "silent connections are closed", func() bool { return fake.Connections() > c+1 })
	eventually(t, "the silence is reported as an error", func() bool {
		s, ok := last(state, "arm_0")
		return ok && s.Level == diag.DiagnosticStatus_ERROR
	})
	mu.Lock()
	mute = false
	mu.Unlock()
	n = joints.count()
	eventually(t, "more joint states", func() bool { return joints.count() > n+10 })
	fake.Close()
	eventually(t, "the loss is reported", func() bool {
		s, ok := last(state, "arm_0")
		return ok && s.Level == diag.DiagnosticStatus_ERROR && len(s.Message) > 0
	})
}

// last returns the latest status of an arm.
func last(e *listener[diag.DiagnosticArray], name string) (diag.DiagnosticStatus, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := len(e.messages) - 1; i >= 0; i-- {
		for _, s := range e.messages[i].Status {
			if s.Name == "/arm_publisher: "+name {
				return s, true
			}
		}
	}
	return diag.DiagnosticStatus{}, false
}

func message(e *listener[diag.DiagnosticArray], name string) string {
	s, _ := last(e, name)
	return s.Message
}

func TestTakenPort(t *testing.T) {
	l, err := realman.Listen(":0")
	require.NoError(t, err)
	defer l.Close()
	g := newNetwork(t)
	node, err := g.net.Open(bridge.Options{Name: "arm_publisher"})
	require.NoError(t, err)
	defer node.Close()
	arms := map[string]*hardware.Arm{"a": entry("x", func(a *hardware.Arm) { a.Push, a.PushPort = "set", l.Port() })}
	_, err = newPublisher(arms, node)
	require.ErrorContains(t, err, "arm a: listen for pushed packets: listen udp")
	require.ErrorContains(t, err, "address already in use; choose another push_port")
	arms["a"].Push = "listen"
	p, err := newPublisher(arms, node)
	require.NoError(t, err, "an arm without a push port is queried")
	require.Empty(t, p.listeners)
}

func TestForces(t *testing.T) {
	a := &arm{base: "base", tool: "tool", sensor: "sensor", options: entry("x", nil)}
	f := &realman.Force{Raw: [6]float64{1, 2, 3, 4, 5, 6}, External: [6]float64{6, 5, 4, 3, 2, 1}}
	for frame, want := range map[realman.Frame]string{realman.SensorFrame: "sensor", realman.WorkFrame: "base",
		realman.ToolFrame: "tool"} {
		f.Frame = frame
		a.setForce(f)
		require.Equal(t, want, a.wrench.Header.FrameId)
		require.Equal(t, geometry_msgs.Vector3{X: 3, Y: 2, Z: 1}, a.wrench.Wrench.Torque)
	}
	a.options.Wrench = "raw"
	a.setForce(f)
	require.Equal(t, "sensor", a.wrench.Header.FrameId)
	require.Equal(t, geometry_msgs.Vector3{X: 1, Y: 2, Z: 3}, a.wrench.Wrench.Force)
}

func TestHands(t *testing.T) {
	a := &arm{}
	a.setGripper(&realman.Gripper{Online: true, Positions: []float64{1, 2}, Forces: []float64{3, 4}, Mode: -1})
	require.Equal(t, []string{"position_0", "position_1", "force_0", "force_1", "status"}, a.gripper.Name)
	require.Equal(t, []float64{1, 2, 3, 4, 1}, a.gripper.Position)
}

func TestPolls(t *testing.T) {
	commands := func(change func(*hardware.Arm)) (list []string) {
		for _, p := range polls(entry("x", change)) {
			list = append(list, p.Command)
		}
		return list
	}
	require.Equal(t, []string{
		"get_current_arm_state", "get_gripper_state", "get_controller_state", "get_joint_err_flag",
		"get_joint_en_state",
		"get_current_joint_temperature",
		"get_current_joint_current", "get_current_joint_voltage", "get_arm_software_info", "get_arm_software_version",
	}, commands(nil))
	require.Equal(t, []string{"get_joint_degree", "get_force_data", "get_arm_software_info",
		"get_arm_software_version"},
		commands(func(a *hardware.Arm) {
			a.Query, a.GripperRate, a.StatusRate, a.ForceRate = "joints", 0, 0, 20
		}))
	require.Empty(t, commands(func(a *hardware.Arm) { a.Rate = 0 }))
	require.Equal(t, 20*time.Millisecond, polls(entry("x", nil))[0].Period)
	require.Equal(t, time.Hour, polls(entry("x", func(a *hardware.Arm) { a.Rate = 1e-300 }))[0].Period)
}

func TestStatus(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	healthy := latest{joints: 6, at: now, enabled: []bool{true, true}}
	for want, test := range map[string]struct {
		change func(*arm, *realman.Counts)
		level  byte
	}{
		"replying": {func(*arm, *realman.Counts) {}, diag.DiagnosticStatus_OK},
		"pushing":  {func(_ *arm, c *realman.Counts) { c.LastPacket = now }, diag.DiagnosticStatus_OK},
		"connection refused": {func(a *arm, c *realman.Counts) {
			a.latest.at, c.Connected, c.Problem, c.ProblemAt = time.Time{}, false, "connection refused", now
		}, diag.DiagnosticStatus_ERROR},
		"nothing came for 3s": {func(a *arm, c *realman.Counts) { // while connecting again
			a.latest.at, c.Problem, c.ProblemAt = time.Time{}, "nothing came for 3s", now
		}, diag.DiagnosticStatus_ERROR},
		"no data yet": {func(a *arm, _ *realman.Counts) { a.latest.at = time.Time{} }, diag.DiagnosticStatus_WARN},
		"no data for 7": {func(a *arm, c *realman.Counts) {
			a.latest.at, c.Problem, c.ProblemAt = now.Add(-7*time.Second), "odd", now.Add(-time.Minute)
		}, diag.DiagnosticStatus_ERROR},
		"it collided (0x100d); joint 2: too hot (0x0008); joint 3: communication failed (0xf000); controller: " +
			"unknown error (0x0007); lift: encoder failed (0x0020); gripper: blocked": {
			func(a *arm, _ *realman.Counts) {
				a.latest.errors, a.latest.jointErrors = []int{0x100D}, []int{0, 8, 0xF000}
				a.latest.controller, a.latest.lift, a.latest.grip = &realman.Controller{Error: 7},
					&realman.Lift{Error: 0x20},
					&realman.Gripper{Fault: "blocked"}
			}, diag.DiagnosticStatus_ERROR,
		},
		"it does not push as configured": {func(a *arm, _ *realman.Counts) { a.options.Push = "set" },
			diag.DiagnosticStatus_WARN},
		"pushing, but not connected: x": {func(_ *arm, c *realman.Counts) {
			c.LastPacket, c.Connected, c.Problem = now, false, "x"
		}, diag.DiagnosticStatus_WARN},
		"joints are disabled: 2, 3": {func(a *arm,
			_ *realman.Counts) {
			a.latest.enabled = []bool{true, false, false}
		}, diag.DiagnosticStatus_WARN},
		"joints move 12.00 times as fast as reported; set speed_unit": {func(a *arm,
			_ *realman.Counts) {
			a.latest.speeds.ratio = 12
		}, diag.DiagnosticStatus_WARN},
		"3 bad replies, 2 timeouts, 1 connection: odd": {func(a *arm, c *realman.Counts) {
			a.watch.trouble, c.Bad, c.Timeouts, c.Problem = now.Add(1), 3, 2, "odd"
		}, diag.DiagnosticStatus_WARN},
	} {
		a := &arm{options: entry("x", nil), latest: healthy}
		c := realman.Counts{Connected: true, Connections: 1}
		test.change(a, &c)
		level, got := a.judge(now, &c)
		require.Contains(t, got, want)
		require.Equal(t, test.level, level, want)
	}
}

func TestErrorLog(t *testing.T) {
	g := newNetwork(t)
	log := listen[rcl_interfaces.Log](t, g.node, "/rosout")
	d, err := rospub.NewDiagnostics(g.node)
	require.NoError(t, err)
	a := &arm{name: "arm_0", node: g.node, options: entry("x", nil), arm: &realman.Arm{}}
	for _, errors := range [][]int{{0x100D}, {0x100D}, nil, nil} {
		a.latest.errors = errors
		a.status(time.Now(), d)
	}
	eventually(t, "the end is logged", func() bool {
		return log.has(func(m rcl_interfaces.Log) bool { return m.Msg == "arm_0: all errors are gone" })
	})
	require.Equal(t, 2, log.count(), "once each")
	require.True(t, log.has(func(m rcl_interfaces.Log) bool { return m.Msg == "arm_0: it collided (0x100d)" }))
}

func TestLatest(t *testing.T) {
	var k latest
	k.update(&realman.Update{
		Joints: make([]float64, 6), Temperatures: []float64{35, 36.5}, Voltages: []float64{23},
		Currents: []float64{-0.079},
		Motion:   "idle", Model: "RM65",
		Controller: &realman.Controller{Voltage: 24, Current: 1.5, Temperature: 42},
		Gripper:    &realman.Gripper{Online: true, Mode: 4, Positions: []float64{1}},
		Lift:       &realman.Lift{Height: 1.25}, Handle: &realman.Handle{false, true},
	})
	k.update(&realman.Update{Errors: []int{1}})
	want := map[string]string{
		"joints": "6", "joint temperatures (°C)": "35.0 36.5", "joint voltages (V)": "23.0",
		"joint currents (A)": "-0.079",
		"motion":             "idle",
		"controller":         "24.0 V, 1.50 A, 42.0 °C", "gripper": "closing", "lift (m)": "1.250",
		"handle": "false true",
	}
	got := map[string]string{}
	for _, v := range k.values() {
		got[v.Key] = v.Value
	}
	require.Equal(t, want, got)
	require.Equal(t, "unknown error (0x0001)", k.troubles())
	require.Nil(t, k.grip.Positions, "valid only during the call")
}

func TestProblemLog(t *testing.T) {
	var s problemLog
	now := time.Now()
	require.True(t, s.due("a", now))
	require.False(t, s.due("a", now.Add(29*time.Second)))
	require.False(t, s.due("b", now.Add(900*time.Millisecond)))
	require.True(t, s.due("b", now.Add(time.Second)))
	require.True(t, s.due("b", now.Add(31*time.Second)))
	g := newNetwork(t)
	a := &arm{name: "arm_0", node: g.node}
	a.problem(errors.New("odd"))
	require.Equal(t, "odd", a.problems.text)
}
