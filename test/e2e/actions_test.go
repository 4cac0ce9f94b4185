package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/msgs/action_msgs"
	"tapedeck/msgs/service_msgs"
	"tapedeck/msgs/wire"
)

// dockAction is the definition of test_msgs/action/Dock. In an event the number is at another place than in a request.
const dockAction = "float64 target\nstring where\n---\nbool docked\n---\nfloat32 left\n"

// defineDock writes the definition into a folder and returns its path.
func (g *graph) defineDock() string {
	folder := g.path("definitions")
	require.NoError(g.t, os.MkdirAll(filepath.Join(folder, "test_msgs", "action"), 0o777))
	path := filepath.Join(folder, "test_msgs", "action", "Dock.action")
	require.NoError(g.t, os.WriteFile(path, []byte(dockAction), 0o666))
	return folder
}

// encode returns a payload.
func encode(fields func(e *wire.Encoder)) []byte {
	e := wire.NewEncoder(nil)
	fields(e)
	return e.Bytes()
}

// goalID returns the identifier of a recorded goal.
func goalID(n byte) (id [16]uint8) {
	id[0], id[15] = n, 1
	return id
}

func putID(e *wire.Encoder, id [16]uint8) {
	for _, b := range id {
		e.Uint8(b)
	}
}

// putGoal writes a test_msgs/action/Dock_SendGoal_Request.
func putGoal(e *wire.Encoder, id [16]uint8, target float64) {
	putID(e, id)
	e.Float64(target)
	e.String("pier 42", 0)
}

// eventOf returns an event with a request.
func eventOf(eventType uint8, n int64, request func(e *wire.Encoder)) []byte {
	return encode(func(e *wire.Encoder) {
		(&service_msgs.ServiceEventInfo{EventType: eventType, SequenceNumber: n}).MarshalCDR(e)
		e.Length(1, 1)
		request(e)
		e.Length(0, 1)
	})
}

// asked is a request that a server received.
type asked struct {
	service string
	data    []byte
	when    time.Time
}

// served collects requests.
type served struct {
	mu  sync.Mutex
	all []asked
}

// serve answers the calls of a service with the same response.
func (s *served) serve(t *testing.T, node bridge.Node, service, typeName string, response []byte) {
	_, err := node.Serve(service, typeName, func(_ context.Context, request []byte) ([]byte, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, asked{service, slices.Clone(request), time.Now()})
		return response, nil
	})
	require.NoError(t, err)
}

// requests returns what has come so far, of all services if none is named.
func (s *served) requests(service string) []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.all), func(a asked) bool { return service != "" && a.service != service })
}

// serveDock serves the action /dock.
func serveDock(t *testing.T, node bridge.Node) *served {
	s := &served{}
	s.serve(t, node, "/dock/_action/send_goal", "test_msgs/action/Dock_SendGoal",
		encode(func(e *wire.Encoder) { e.Bool(true); e.Int32(1); e.Uint32(2) }))
	s.serve(t, node, "/dock/_action/cancel_goal", "action_msgs/srv/CancelGoal",
		encode(func(e *wire.Encoder) { (&action_msgs.CancelGoal_Response{}).MarshalCDR(e) }))
	s.serve(t, node, "/dock/_action/get_result", "test_msgs/action/Dock_GetResult",
		encode(func(e *wire.Encoder) { e.Int8(4); e.Bool(true) }))
	return s
}

// TestRecordAction records an action that has no introspection, and the events of one that has.
func TestRecordAction(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"named": {"--actions", "dock"}, "all": {"--all-actions"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := isolate(t)
			server, client := g.open("server"), g.open("client")
			serveDock(t, server)
			feedback, err := server.Advertise("/dock/_action/feedback", "test_msgs/action/Dock_FeedbackMessage",
				keepAll())
			require.NoError(t, err)
			status, err := server.Advertise("/dock/_action/status", "action_msgs/msg/GoalStatusArray", latched())
			require.NoError(t, err)
			const eventTopic = "/dock/_action/send_goal/_service_event"
			events, err := server.Advertise(eventTopic, "test_msgs/action/Dock_SendGoal_Event", keepAll())
			require.NoError(t, err)
			require.NoError(t, status.Publish(marshal(t, &action_msgs.GoalStatusArray{})))

			recorder := g.start("recorder", append(args, "-s", "mcap", "-o", "drive", "--chunk-duration", "50ms",
				"--definition-paths", g.defineDock())...)
			for _, want := range []string{"send_goal/_request [test_msgs/action/Dock_SendGoal_Request]",
				"send_goal/_reply [test_msgs/action/Dock_SendGoal_Response]",
				"get_result/_request [test_msgs/action/Dock_GetResult_Request]",
				"cancel_goal/_request [action_msgs/srv/CancelGoal_Request]",
				"feedback [test_msgs/action/Dock_FeedbackMessage]", "status [action_msgs/msg/GoalStatusArray]"} {
				recorder.Prints("recording /dock/_action/" + want)
			}
			await(t, func() bool { return events.Subscribers() == 1 && feedback.Subscribers() == 1 })
			event := eventOf(service_msgs.ServiceEventInfo_REQUEST_RECEIVED, 1,
				func(e *wire.Encoder) { putGoal(e, goalID(1), 2.5) })
			require.NoError(t, events.Publish(event))
			left := encode(func(e *wire.Encoder) { putID(e, goalID(1)); e.Float32(0.5) })
			require.NoError(t, feedback.Publish(left))
			goal := encode(func(e *wire.Encoder) { putGoal(e, goalID(1), 2.5) })
			await(t, func() bool { // the recorder may meet a client after its first calls
				_, err := client.Call(t.Context(), "/dock/_action/send_goal", "test_msgs/action/Dock_SendGoal", goal)
				require.NoError(t, err)
				all := soFar(t, g.path("drive"))
				return len(all["/dock/_action/send_goal/_request"]) > 0 &&
					len(all["/dock/_action/send_goal/_reply"]) > 0
			})
			require.NotContains(t, recorder.Interrupt(), "nothing was recorded")

			all := messages(t, g.path("drive"))
			require.Equal(t, goal, all["/dock/_action/send_goal/_request"][0])
			require.Equal(t, [][]byte{left}, all["/dock/_action/feedback"])
			require.Equal(t, [][]byte{event}, all[eventTopic])
			require.Len(t, all["/dock/_action/status"], 1)
			recorded := channel(t, g.path("drive"), eventTopic)
			require.Contains(t, string(recorded.Schema.Data), "float64 target")
		})
	}
}
