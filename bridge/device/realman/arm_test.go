package realman_test

import (
	"context"
	"math"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/bridge/device/realman"
	"tapedeck/bridge/device/realman/realmantest"
)

const patience = 90 * time.Second

// updates records the last update of each kind, and the number of updates.
type updates struct {
	mu       sync.Mutex
	joints   []float64
	pushed   []float64
	gripper  []float64
	names    map[string]int
	stamps   []time.Time // of joints
	problems []string
}

func (s *updates) handle(u *realman.Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[u.Name]++
	if u.Joints != nil {
		if u.Pushed {
			s.pushed = append([]float64{}, u.Joints...)
		} else {
			s.joints = append([]float64{}, u.Joints...)
		}
		s.stamps = append(s.stamps, u.Stamp)
	}
	if u.Gripper != nil {
		s.gripper = append([]float64{}, u.Gripper.Positions...)
	}
}

func (s *updates) problem(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, err.Error())
}

func (s *updates) count(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names[name]
}

// pushedJoints returns the joints of the last packet.
func (s *updates) pushedJoints() []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pushed
}

func (s *updates) troubled(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(strings.Join(s.problems, "\n"), text)
}

// start starts a fake arm.
func start(t *testing.T, address string, fake *realmantest.Arm) *realmantest.Arm {
	require.NoError(t, fake.Start(address))
	t.Cleanup(fake.Close)
	return fake
}

// observe observes an arm until the test ends. It queries state and gripper.
func observe(t *testing.T, fake *realmantest.Arm, change func(*realman.Arm)) (*realman.Arm, *updates) {
	s := &updates{names: map[string]int{}}
	a := &realman.Arm{
		Host: fake.Host(), Port: fake.Port(), SpeedUnit: realman.CentidegreesPerSecond, Handle: s.handle,
		Problem: s.problem,
		Polls: []realman.Poll{{Command: "get_current_arm_state", Period: time.Millisecond},
			{Command: "get_gripper_state", Period: time.Millisecond}},
		Timeout: patience, Silence: patience, Retry: time.Millisecond, Fresh: patience,
	}
	if change != nil {
		change(a)
	}
	run(t, a)
	return a, s
}

func run(t *testing.T, a *realman.Arm) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { assert.NoError(t, a.Run(ctx)) })
	t.Cleanup(func() {
		cancel()
		done.Wait()
	})
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, patience, time.Millisecond, what)
}

func TestQueries(t *testing.T) {
	for name, fake := range map[string]*realmantest.Arm{
		"second generation":             {Generation: 2},
		"third generation":              {},
		"fourth generation, seven axes": {Generation: 4, Pose: realmantest.Moving(7)},
	} {
		t.Run(name, func(t *testing.T) {
			start(t, "127.0.0.1:0", fake)
			a, s := observe(t, fake, nil)
			eventually(t, "replies", func() bool {
				return s.count("current_arm_state") > 5 && s.count("get_gripper_state") > 5
			})
			c := a.Counts()
			require.True(t, c.Connected)
			require.EqualValues(t, 1, c.Connections)
			require.Zero(t, c.Bad+c.Timeouts+c.Unknown+c.Refused+c.Others)
			require.Positive(t, c.RoundTrip)
			require.ElementsMatch(t, []string{"get_current_arm_state", "get_gripper_state"}, fake.Commands(),
				"nothing but queries")
			s.mu.Lock()
			defer s.mu.Unlock()
			if fake.Generation != 4 {
				require.InDelta(t, -293.299*math.Pi/180, s.joints[5], 1e-9)
				require.Equal(t, []float64{150}, s.gripper)
			} else {
				require.Len(t, s.joints, 7)
			}
			for i, stamp := range s.stamps[1:] {
				require.True(t, stamp.After(s.stamps[i]), "stamps ascend")
			}
		})
	}
}

func TestFramingOfReplies(t *testing.T) {
	const state = `{"state":"current_arm_state","arm_state":{"joint":[100,200,300,400,500,600],"pose":[100000,200000,` +
		`30000,400,500,600],"arm_err":0,"sys_err":0}}`
	const grip = `{"command":"get_gripper_state","enable":1,"status":1,"error":0,"mode":1,"current_force":100,` +
		`"temperature":40,"actpos":77}`
	const arrived = `{"state":"current_trajectory_state","trajectory_state":true,"device":1}`
	for name, test := range map[string]struct {
		pieces      []string
		bad, others uint64
	}{
		"lines":                       {[]string{state + "\r\n", grip + "\r\n"}, 0, 0},
		"the last one first, at once": {[]string{grip + "\r\n" + state + "\r\n"}, 0, 0},
		"pieces of lines": {[]string{state[:30], state[30:40], state[40:] + "\r", "\n" + grip[:5], grip[5:],
			"\r\n"}, 0, 0},
		"line feeds":                    {[]string{state + "\n", grip + "\n"}, 0, 0},
		"no ends of lines":              {[]string{state, grip}, 0, 0},
		"news between":                  {[]string{arrived + "\r\n" + state + "\r\n" + arrived, "\r\n" + grip}, 0, 2},
		"garbage between":               {[]string{"\x01\x02ready\r\n" + state + "}}\r\n", "[]\r\n" + grip}, 3, 0},
		"a line that was cut off first": {[]string{state[:50] + "\r\n" + state, "\r\n" + grip}, 1, 0},
		"one that makes no sense first": {[]string{`{"state":"current_trajectory_state",}` + "\r\n" + state + "\r\n",
			grip},
			1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			fake := start(t, "127.0.0.1:0", &realmantest.Arm{Answer: func(string, string) string { return "" }})
			a, s := observe(t, fake, nil)
			eventually(t, "requests", func() bool {
				return fake.Requests("get_current_arm_state") == 1 && fake.Requests("get_gripper_state") == 1
			})
			for _, piece := range test.pieces {
				fake.Send(piece)
			}
			eventually(t, "replies", func() bool {
				return s.count("current_arm_state") == 1 &&
					s.count("get_gripper_state") == 1
			})
			require.InDelta(t, 0.6*math.Pi/180, s.joints[5], 1e-9)
			require.Equal(t, []float64{77}, s.gripper)
			eventually(t, "both are queried again", func() bool {
				return fake.Requests("get_current_arm_state") > 1 && fake.Requests("get_gripper_state") > 1
			})
			c := a.Counts()
			require.Equal(t, test.others, c.Others)
			require.Equal(t, test.bad, c.Bad, c.Problem)
			require.EqualValues(t, 1, c.Connections)
		})
	}
}

func TestReconnects(t *testing.T) {
	fake := start(t, "127.0.0.1:0", &realmantest.Arm{})
	a, s := observe(t, fake, nil)
	eventually(t, "replies", func() bool { return s.count("current_arm_state") > 0 })
	for i := range 3 {
		fake.Reset()
		eventually(t, "another connection", func() bool { return fake.Connections() == i+2 })
		before := s.count("current_arm_state")
		eventually(t, "replies on it", func() bool { return s.count("current_arm_state") > before })
	}
	require.True(t, s.troubled("reset") || s.troubled("closed"), "the lost connection is reported")
	require.EqualValues(t, 4, a.Counts().Connections)
	fake.Close()
	eventually(t, "the loss of the arm is reported",
		func() bool { return s.troubled("connection refused") && !a.Counts().Connected })
}

func TestSilentArm(t *testing.T) {
	fake := start(t, "127.0.0.1:0", &realmantest.Arm{Answer: func(string, string) string { return "" }})
	a, s := observe(t, fake, func(a *realman.Arm) { a.Timeout, a.Silence = 5*time.Millisecond, 50*time.Millisecond })
	eventually(t, "a silent arm is connected again",
		func() bool { return fake.Connections() > 2 && a.Counts().Timeouts > 0 })
	require.True(t, s.troubled(a.Address()+": no data for 51ms"))
	require.Zero(t, a.Counts().Replies)
}

func TestRefusedQuery(t *testing.T) {
	fake := start(t, "127.0.0.1:0", &realmantest.Arm{Answer: func(command, usual string) string {
		if command == "get_gripper_state" {
			return `{"command":"get_gripper_state","state":false}` + "\r\n"
		}
		return usual
	}})
	a, s := observe(t, fake, nil)
	eventually(t, "replies", func() bool { return s.count("current_arm_state") > 100 })
	require.Less(t, fake.Requests("get_gripper_state"), 50, "a refused query is seldom repeated")
	require.Positive(t, a.Counts().Refused)
}

func TestInvalidPolls(t *testing.T) {
	for want, poll := range map[string]realman.Poll{
		`unknown query "movej"`:                                 {Command: "movej", Period: time.Second},
		`query "get_joint_degree": period 0s, want more than 0`: {Command: "get_joint_degree"},
	} {
		require.EqualError(t, (&realman.Arm{Polls: []realman.Poll{poll}}).Run(t.Context()), want)
	}
}

func listen(t *testing.T, arms func() []*realman.Arm) *realman.Listener {
	l, err := realman.Listen("127.0.0.1:0")
	require.NoError(t, err)
	var done sync.WaitGroup
	done.Go(func() { assert.ErrorIs(t, l.Serve(arms()...), net.ErrClosed) })
	t.Cleanup(func() {
		l.Close()
		done.Wait()
	})
	return l
}

func TestPushReplacesQueries(t *testing.T) {
	fake := start(t, "127.0.0.1:0", &realmantest.Arm{})
	ready := make(chan *realman.Arm, 1)
	l := listen(t, func() []*realman.Arm { return []*realman.Arm{<-ready} })
	a, s := observe(t, fake, func(a *realman.Arm) {
		a.Push = &realman.Push{Cycle: 10 * time.Millisecond, Port: l.Port(), Fields: []string{"joint_speed"}}
	})
	ready <- a
	eventually(t, "packets", func() bool { return s.count("realtime_arm_joint_state") > 5 })
	require.Equal(t, 1, fake.Requests("set_realtime_push"))
	asked := fake.Requests("get_current_arm_state")
	grips := fake.Requests("get_gripper_state")
	eventually(t, "fields that are not pushed are queried",
		func() bool { return fake.Requests("get_gripper_state") > grips+50 })
	require.LessOrEqual(t, fake.Requests("get_current_arm_state"), asked+1, "pushed fields are not queried")
	require.InDelta(t, -293.299*math.Pi/180, s.pushedJoints()[5], 1e-9)

	fake.Silence()
	eventually(t, "the state is queried again after pushes end", func() bool {
		a.Forget()
		return fake.Requests("get_current_arm_state") > asked+5
	})
	fake.Reset()
	eventually(t, "the push is configured on a new connection",
		func() bool { return fake.Requests("set_realtime_push") == 2 })
}

func TestPushOfSeveralArms(t *testing.T) {
	one, two := start(t, "127.0.0.1:0", &realmantest.Arm{}),
		start(t, "127.0.0.2:0", &realmantest.Arm{Pose: realmantest.Moving(7)})
	stranger := start(t, "127.0.0.3:0", &realmantest.Arm{})
	silent := func(a *realman.Arm) { a.Polls = nil }
	a, s := observe(t, one, silent)
	b, r := observe(t, two, silent)
	l := listen(t, func() []*realman.Arm { return []*realman.Arm{a, b} })
	address := (&net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: l.Port()}).String()
	for _, fake := range []*realmantest.Arm{one, two, stranger} {
		require.NoError(t, fake.PushTo(address, time.Millisecond))
	}
	eventually(t, "packets", func() bool {
		return s.count("realtime_arm_joint_state") > 5 && r.count("realtime_arm_joint_state") > 5 &&
			len(l.Strangers()) > 0
	})
	require.Len(t, s.pushedJoints(), 6)
	require.Len(t, r.pushedJoints(), 7)
	require.Zero(t, one.Connections()+two.Connections(), "nothing is queried")
	require.Len(t, l.Strangers(), 1)

	require.NoError(t, one.Packet(address, `{"state":"realtime_arm_joint_state"`))
	require.NoError(t, one.Packet(address, "?\r\n"))
	require.NoError(t, one.Packet(address, `{"state":"realtime_arm_joint_state"}`))
	eventually(t, "bad packets", func() bool { return a.Counts().Bad == 3 })
	require.Zero(t, b.Counts().Bad)
}

func TestArmWithAName(t *testing.T) {
	fake := start(t, "127.0.0.1:0", &realmantest.Arm{})
	a, s := observe(t, fake, func(a *realman.Arm) { a.Host, a.Polls = "localhost", nil })
	b, r := observe(t, fake, func(a *realman.Arm) { a.Host = "localhost" })
	nobody, n := observe(t, fake, func(a *realman.Arm) { a.Host, a.Polls = "nobody..invalid", nil })
	for _, arm := range []*realman.Arm{a, b} {
		l := listen(t, func() []*realman.Arm { return []*realman.Arm{nobody, arm} })
		require.NoError(t, fake.PushTo((&net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: l.Port()}).String(),
			time.Millisecond))
	}
	eventually(t, "packets of the address that the name stands for", func() bool {
		return s.count("realtime_arm_joint_state") > 0 && r.count("realtime_arm_joint_state") > 0
	})
	eventually(t, "the invalid name is reported", func() bool { return n.troubled("nobody..invalid") })
}

func TestRefusedPush(t *testing.T) {
	fake := start(t, "127.0.0.1:0", &realmantest.Arm{Answer: func(command, usual string) string {
		if command == "set_realtime_push" {
			return `{"command":"set_realtime_push","state":false}` + "\r\n"
		}
		return usual
	}})
	_, s := observe(t, fake, func(a *realman.Arm) { a.Push = &realman.Push{IP: "127.0.0.9", Port: 1} })
	eventually(t, "the refusal is reported",
		func() bool { return s.troubled("the arm refused the push configuration") })
	eventually(t, "the arm is queried despite the refusal", func() bool { return s.count("current_arm_state") > 0 })
}

// Packets of an arm that is given by a name are recognised even if it refuses connections.
func TestArmWithANameThatOnlyPushes(t *testing.T) {
	fake := start(t, "127.0.0.1:0", &realmantest.Arm{})
	// A socket that does not listen keeps its port from processes that might listen.
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(socket)
	require.NoError(t, unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	address, err := unix.Getsockname(socket)
	require.NoError(t, err)
	a, s := observe(t, fake, func(a *realman.Arm) { a.Host, a.Port = "localhost", address.(*unix.SockaddrInet4).Port })
	l := listen(t, func() []*realman.Arm { return []*realman.Arm{a} })
	require.NoError(t, fake.PushTo((&net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: l.Port()}).String(),
		time.Millisecond))
	eventually(t, "packets", func() bool { return s.count("realtime_arm_joint_state") > 0 })
	eventually(t, "the arm is no longer a stranger", func() bool { return len(l.Strangers()) == 0 })
	require.False(t, a.Counts().Connected)
}

// Replies and packets may overtake each other. Older states are dropped.
func TestStampsAscend(t *testing.T) {
	const packet = `{"state":"realtime_arm_joint_state","joint_status":{"joint_position":[1,2,3,4,5,6],` +
		`"joint_en_flag":[1,1,1,1,1,1]}}`
	begin := time.Unix(1_700_000_000, 0)
	var joints, others []time.Duration
	a := &realman.Arm{Problem: func(err error) { t.Error(err) }, Handle: func(u *realman.Update) {
		if u.Joints != nil {
			joints = append(joints, u.Stamp.Sub(begin))
		}
		others = append(others, u.Stamp.Sub(begin))
	}}
	for _, at := range []time.Duration{5, 10, 10, 8, 15, -time.Hour, 5 - time.Hour} {
		a.Receive([]byte(packet), begin.Add(at))
	}
	require.Equal(t, []time.Duration{5, 10, 15, -time.Hour, 5 - time.Hour}, joints,
		"stamps follow a clock that was set back")
	require.Len(t, others, 7, "fields without stamps are delivered")
	require.EqualValues(t, 2, a.Counts().Late)
	require.EqualValues(t, 7, a.Counts().Packets)
}
