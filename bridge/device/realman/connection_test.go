package realman

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// at is a time, in ms.
func at(ms int) time.Time { return time.UnixMilli(1_700_000_000_000 + int64(ms)) }

func testConnection(t *testing.T, polls ...Poll) *connection {
	a := &Arm{Polls: polls, Timeout: time.Second, Silence: 3 * time.Second}
	c := newConnection(a, nil)
	for _, q := range c.polls {
		q.due = at(0)
	}
	c.heard = at(0)
	return c
}

func (c *connection) due(ms int) (string, int) {
	due, wait := c.next(nil, at(ms))
	var lines strings.Builder
	for _, q := range due {
		lines.Write(q.line)
	}
	return lines.String(), int(wait.Milliseconds())
}

func TestStampIsHalfway(t *testing.T) {
	c := testConnection(t, Poll{"get_joint_degree", 100 * time.Millisecond})
	lines, wait := c.due(0)
	require.Equal(t, "{\"command\":\"get_joint_degree\"}\r\n", lines)
	require.Equal(t, 100, wait, "then the query is due again")
	u := &Update{Name: "joint_degree", Received: at(8)}
	require.Equal(t, at(4), c.match(u))
	require.Equal(t, 8*time.Millisecond, c.arm.Counts().RoundTrip)
	require.Equal(t, at(8), c.match(u), "a reply without a query")
	c.due(100)
	require.Equal(t, at(99), c.match(&Update{Name: "joint_degree", Received: at(99)}),
		"the reply came before the query")
	require.Equal(t, at(8), c.match(&Update{Name: "controller_state", Received: at(8)}))
}

func TestCommandsAreDue(t *testing.T) {
	c := testConnection(t, Poll{"get_joint_degree", 100 * time.Millisecond}, Poll{"get_controller_state", time.Second})
	reply := func(name string, ms int) { c.match(&Update{Name: name, Received: at(ms)}) }
	lines, _ := c.due(0)
	require.Equal(t, "{\"command\":\"get_joint_degree\"}\r\n{\"command\":\"get_controller_state\"}\r\n", lines,
		"all queries are due at once")
	lines, wait := c.due(150)
	require.Empty(t, lines, "only one query of a kind is sent at a time")
	require.Equal(t, 850, wait)
	reply("joint_degree", 160)
	lines, _ = c.due(160)
	require.Equal(t, "{\"command\":\"get_joint_degree\"}\r\n", lines, "a late query is sent at once")
	reply("joint_degree", 170)
	lines, wait = c.due(170)
	require.Empty(t, lines)
	require.Equal(t, 30, wait, "the next query is due at its regular time")
	_, wait = c.due(200)
	require.Equal(t, 100, wait)
	reply("joint_degree", 201)

	lines, _ = c.due(1000)
	require.Equal(t, "{\"command\":\"get_joint_degree\"}\r\n", lines)
	require.EqualValues(t, 1, c.arm.Counts().Unknown,
		"the other query never had a reply")
	reply("joint_degree", 1001)
	for i := range 3 {
		ms := 3100 * (i + 1)
		lines, _ = c.due(ms)
		require.Equal(t, "{\"command\":\"get_joint_degree\"}\r\n{\"command\":\"get_controller_state\"}\r\n", lines,
			"a reply is not waited for for ever")
		reply("joint_degree", ms+1)
		c.due(ms + 1001)
		require.EqualValues(t, i+2, c.arm.Counts().Unknown)
		reply("joint_degree", ms+1002)
	}
	require.Zero(t, c.arm.Counts().Timeouts)
	lines, _ = c.due(14000)
	require.Equal(t, "{\"command\":\"get_joint_degree\"}\r\n", lines, "queries that never had a reply are sent rarely")
	reply("joint_degree", 14001)
	lines, _ = c.due(20000)
	require.Contains(t, lines, "get_controller_state")
}

// If replies take longer than a timeout, queries do not pile up, and each reply is matched to its query.
func TestSlowReplies(t *testing.T) {
	c := testConnection(t, Poll{"get_joint_degree", 100 * time.Millisecond})
	for i := range 5 {
		ms := 1500 * i
		lines, wait := c.due(ms)
		require.Equal(t, "{\"command\":\"get_joint_degree\"}\r\n", lines)
		require.LessOrEqual(t, wait, 1000)
		lines, wait = c.due(ms + 1000)
		require.Empty(t, lines)
		require.Positive(t, wait)
		require.Equal(t, at(ms+750), c.match(&Update{Name: "joint_degree", Received: at(ms + 1500)}))
		require.EqualValues(t, i+1, c.arm.Counts().Timeouts, "the timeout is counted")
	}
}

// Queries that an arm may leave without a reply do not prove that a connection works.
func TestQuietIsThatOfTheFirstCommand(t *testing.T) {
	require.Equal(t, 8*time.Second, testConnection(t, Poll{"get_joint_degree", 5 * time.Second},
		Poll{"get_gripper_state", time.Millisecond}).quiet)
}

func TestLostReplies(t *testing.T) {
	c := testConnection(t, Poll{"get_joint_degree", 100 * time.Millisecond},
		Poll{"get_controller_state", 50 * time.Millisecond})
	c.lose()
	c.due(0)
	c.match(&Update{Name: "controller_state", Received: at(10)})
	c.due(50)
	c.lose()
	lines, _ := c.due(100)
	require.Equal(t, "{\"command\":\"get_joint_degree\"}\r\n", lines, "the query was sent before")
}

// Other replies keep a connection open. A lost reply is not awaited longer than the silence, even if the timeout is
// longer.
func TestLostReplyIsAskedForAgain(t *testing.T) {
	c := testConnection(t, Poll{"get_joint_degree", 100 * time.Millisecond},
		Poll{"get_gripper_state", 100 * time.Millisecond})
	c.arm.Timeout = time.Hour
	c.due(0)
	c.match(&Update{Name: "get_gripper_state", Received: at(3099)})
	lines, wait := c.due(3099)
	require.Equal(t, "{\"command\":\"get_gripper_state\"}\r\n", lines)
	require.Equal(t, 1, wait)
	lines, _ = c.due(3100)
	require.Equal(t, "{\"command\":\"get_joint_degree\"}\r\n", lines)
	require.EqualValues(t, 1, c.arm.Counts().Timeouts)
}

func TestPushSavesAsking(t *testing.T) {
	c := testConnection(t, Poll{"get_current_arm_state", 100 * time.Millisecond},
		Poll{"get_gripper_state", 100 * time.Millisecond})
	c.arm.pushed, c.arm.fresh = fieldJoints|fieldPose|fieldErrors|fieldJointErrors, at(2000)
	lines, _ := c.due(0)
	require.Equal(t, "{\"command\":\"get_gripper_state\"}\r\n", lines)
	c.match(&Update{Name: "get_gripper_state", Received: at(1)})
	lines, _ = c.due(1501)
	require.Contains(t, lines, "get_current_arm_state", "a pushed state is queried if no push came for long")
	c.match(&Update{Name: "current_arm_state", Received: at(1502)})
	c.heard = at(1502)
	lines, _ = c.due(1999)
	require.NotContains(t, lines, "get_current_arm_state")
	lines, _ = c.due(2100)
	require.Contains(t, lines, "get_current_arm_state", "the push ended")
}

func TestWithoutWhatIsPushed(t *testing.T) {
	d := newDecoder()
	u, err := d.decode([]byte(`{"state":"current_arm_state","arm_state":{"joint":[1,2,3,4,5,6],"pose":[1,2,3,4,5,6],` +
		`"err":[0]}}`))
	require.NoError(t, err)
	u.without(fieldJoints | fieldGripper)
	require.Nil(t, u.Joints)
	require.NotNil(t, u.Pose)
	require.NotNil(t, u.Errors)
	u.without(1<<16 - 1)
	require.Equal(t, &Update{Name: "current_arm_state"}, u)
	u, err = d.decode([]byte(more(`"six_force_sensor":{"force":[1,2,3,4,5,6],"zero_force":[1,2,3,4,5,6]},` +
		`"hand":{"pos":[1]}`)))
	require.NoError(t, err)
	u.without(1<<16 - 1)
	require.Equal(t, &Update{Name: "realtime_arm_joint_state"}, u)
}

func TestPushLine(t *testing.T) {
	p := Push{Cycle: 12 * time.Millisecond, Port: 8089, ForceFrame: ToolFrame, Fields: []string{"joint_speed"}}
	require.JSONEq(t, `{"command":"set_realtime_push","cycle":2,"enable":true,"port":8089,"force_coordinate":2,`+
		`"ip":"192.168.1.10","custom":{"joint_speed":true}}`,
		string(p.line("192.168.1.10")))
	p = Push{IP: "10.0.0.1"}
	require.JSONEq(t, `{"command":"set_realtime_push","cycle":1,"enable":true,"port":0,"force_coordinate":0,`+
		`"ip":"10.0.0.1","custom":{}}`, string(p.line("192.168.1.10")))
}
