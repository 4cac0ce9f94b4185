package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/action_msgs"
	"tapedeck/msgs/rcl_interfaces"
	"tapedeck/msgs/rosidl/wire"
	"tapedeck/msgs/service_msgs"
)

// dockAction is the definition of test_msgs/action/Dock. Requests and events have target at different offsets.
const dockAction = "float64 target\nstring where\n---\nbool docked\n---\nfloat32 feedbackData\n"

// defineDock writes dockAction below a folder, and returns the folder.
func (g *graph) defineDock() string {
	folder := g.path("definitions")
	require.NoError(g.t, os.MkdirAll(filepath.Join(folder, "test_msgs", "action"), 0o777))
	path := filepath.Join(folder, "test_msgs", "action", "Dock.action")
	require.NoError(g.t, os.WriteFile(path, []byte(dockAction), 0o666))
	return folder
}

// encode returns a payload with the fields that fields writes.
func encode(fields func(e *wire.Encoder)) []byte {
	e := wire.NewEncoder(nil)
	fields(e)
	return e.Bytes()
}

// goalID returns the id of the recorded goal n.
func goalID(n byte) (id [16]uint8) {
	id[0], id[15] = n, 1
	return id
}

// putID writes the id of a goal.
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

// eventOf returns a service event with a request and without a response.
func eventOf(eventType uint8, n int64, request func(e *wire.Encoder)) []byte {
	return encode(func(e *wire.Encoder) {
		(&service_msgs.ServiceEventInfo{EventType: eventType, SequenceNumber: n}).MarshalCDR(e)
		e.Length(1, 1)
		request(e)
		e.Length(0, 1)
	})
}

// received is a request that a server has received.
type received struct {
	service string
	data    []byte
	when    time.Time
}

// requestLog collects the requests of services.
type requestLog struct {
	mu  sync.Mutex // of all
	all []received
}

// serve answers each call of a service with response.
func (l *requestLog) serve(t *testing.T, node bridge.Node, service, typeName string, response []byte) {
	_, err := node.Serve(service, typeName, func(_ context.Context, request []byte) ([]byte, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, received{service, slices.Clone(request), time.Now()})
		return response, nil
	})
	require.NoError(t, err)
}

// requests returns the requests of a service so far. An empty name stands for all services.
func (l *requestLog) requests(service string) []received {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.all), func(r received) bool {
		return service != "" && r.service != service
	})
}

// serveDock serves the action /dock.
func serveDock(t *testing.T, node bridge.Node) *requestLog {
	l := &requestLog{}
	l.serve(t, node, "/dock/_action/send_goal", "test_msgs/action/Dock_SendGoal",
		encode(func(e *wire.Encoder) { e.Bool(true); e.Int32(1); e.Uint32(2) }))
	l.serve(t, node, "/dock/_action/cancel_goal", "action_msgs/srv/CancelGoal",
		encode(func(e *wire.Encoder) { (&action_msgs.CancelGoal_Response{}).MarshalCDR(e) }))
	l.serve(t, node, "/dock/_action/get_result", "test_msgs/action/Dock_GetResult",
		encode(func(e *wire.Encoder) { e.Int8(4); e.Bool(true) }))
	return l
}

// TestRecordAction checks that the recorder records the requests, replies, feedback and status of an action, and the
// events of an action with introspection.
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
			feedbackData := encode(func(e *wire.Encoder) { putID(e, goalID(1)); e.Float32(0.5) })
			require.NoError(t, feedback.Publish(feedbackData))
			goal := encode(func(e *wire.Encoder) { putGoal(e, goalID(1), 2.5) })
			await(t, func() bool { // the recorder may meet a client after its first calls
				_, err := client.Call(t.Context(), "/dock/_action/send_goal", "test_msgs/action/Dock_SendGoal", goal)
				require.NoError(t, err)
				all := readSoFar(t, g.path("drive"))
				return len(all["/dock/_action/send_goal/_request"]) > 0 &&
					len(all["/dock/_action/send_goal/_reply"]) > 0
			})
			require.NotContains(t, recorder.Interrupt(), "nothing was recorded")

			all := messages(t, g.path("drive"))
			require.Equal(t, goal, all["/dock/_action/send_goal/_request"][0])
			require.Equal(t, [][]byte{feedbackData}, all["/dock/_action/feedback"])
			require.Equal(t, [][]byte{event}, all[eventTopic])
			require.Len(t, all["/dock/_action/status"], 1)
			recorded := channel(t, g.path("drive"), eventTopic)
			require.Contains(t, string(recorded.Schema.Data), "float64 target")
		})
	}
}

// TestReplayCalls records requests and goals, with and without introspection. It checks that the player sends them to a
// service and to an action server, in time and with new ids of goals.
func TestReplayCalls(t *testing.T) {
	t.Parallel()
	const listType, count = "rcl_interfaces/srv/ListParameters", 4
	list := func(i int) *rcl_interfaces.ListParameters_Request {
		return &rcl_interfaces.ListParameters_Request{Prefixes: []string{"abc"}, Depth: uint64(i)}
	}
	reply := encode(func(e *wire.Encoder) { (&rcl_interfaces.ListParameters_Response{}).MarshalCDR(e) })
	id := func(target float64) [16]uint8 { return goalID(byte(target)) }
	target := func(goal []byte) float64 {
		d := wire.NewDecoder(goal)
		d.Skip(16)
		return d.Float64()
	}
	for _, introspection := range []bool{false, true} {
		t.Run(fmt.Sprintf("introspection %v", introspection), func(t *testing.T) {
			t.Parallel()
			g := isolate(t)
			server, client := g.open("server"), g.open("client")
			args := []string{"-s", "mcap", "-o", "drive", "--chunk-duration", "50ms", "--definition-paths",
				g.defineDock()}
			if introspection {
				lists, err := server.Advertise("/list/_service_event", listType+"_Event", keepAll())
				require.NoError(t, err)
				goals, err := server.Advertise("/dock/_action/send_goal/_service_event",
					"test_msgs/action/Dock_SendGoal_Event", keepAll())
				require.NoError(t, err)
				recorder := g.start("recorder", append(args, "--all-services", "--actions", "/dock")...)
				await(t, func() bool { return lists.Subscribers() == 1 && goals.Subscribers() == 1 })
				for i := range count {
					for _, kind := range []uint8{service_msgs.ServiceEventInfo_REQUEST_SENT,
						service_msgs.ServiceEventInfo_REQUEST_RECEIVED} {
						require.NoError(t, lists.Publish(eventOf(kind, int64(i), list(i).MarshalCDR)))
						require.NoError(t, goals.Publish(eventOf(kind, int64(i),
							func(e *wire.Encoder) { putGoal(e, id(float64(i)), float64(i)) })))
					}
					time.Sleep(100 * time.Millisecond) // between requests
				}
				require.NoError(t, lists.Flush(t.Context()))
				require.NoError(t, goals.Flush(t.Context()))
				recorder.Interrupt()
			} else {
				serveDock(t, server)
				(&requestLog{}).serve(t, server, "/list", listType, reply)
				recorder := g.start("recorder", append(args, "--services", "/list", "--all-actions")...)
				recorder.Prints("recording /list/_request")
				recorder.Prints("recording /dock/_action/send_goal/_request")
				// The recorder may meet the client after its first calls.
				for i := 0; ; i++ {
					_, err := client.Call(t.Context(), "/list", listType, marshal(t, list(i)))
					require.NoError(t, err)
					goal := encode(func(e *wire.Encoder) { putGoal(e, id(float64(i)), float64(i)) })
					_, err = client.Call(t.Context(), "/dock/_action/send_goal", "test_msgs/action/Dock_SendGoal", goal)
					require.NoError(t, err)
					all := readSoFar(t, g.path("drive"))
					if len(all["/list/_request"]) >= count && len(all["/dock/_action/send_goal/_request"]) >= count {
						break
					}
					time.Sleep(100 * time.Millisecond) // between requests
				}
				recorder.Interrupt()
			}
			require.NoError(t, server.Close())
			require.NoError(t, client.Close())
			recorded := readTimed(t, g.path("drive"))

			p := isolate(t)
			listener := p.open("listener")
			action, service := serveDock(t, listener), &requestLog{}
			service.serve(t, listener, "/list", listType, reply)
			began := time.Now()
			out := p.run(0, "player", g.path("drive"), "--publish-service-requests", "--send-actions-as-client")
			lists, goals := recorded["/list/_request"], recorded["/dock/_action/send_goal/_request"]
			if introspection {
				lists, goals = recorded["/list/_service_event"], recorded["/dock/_action/send_goal/_service_event"]
				require.Len(t, lists, 2*count)
				lists, goals = everyNth(2, lists), everyNth(2, goals) // the events of the client
			}
			require.Contains(t, out, fmt.Sprintf("sent %d requests to /list; %[1]d answered", len(lists)))
			require.Contains(t, out,
				fmt.Sprintf("sent %d requests to /dock/_action/send_goal; %[1]d answered", len(goals)))

			// On a busy machine several requests come at once: servers may answer them in any order.
			depth := func(data []byte) float64 {
				var m rcl_interfaces.ListParameters_Request
				require.NoError(t, cdr.Unmarshal(data, &m))
				require.Equal(t, []string{"abc"}, m.Prefixes)
				return float64(m.Depth)
			}
			sorted := func(all []received, number func([]byte) float64) []received {
				slices.SortFunc(all, func(a, b received) int { return cmp.Compare(number(a.data), number(b.data)) })
				return all
			}
			requests := sorted(service.requests(""), depth)
			require.Len(t, requests, len(lists))
			for i, r := range requests {
				require.Equal(t, depth(requests[0].data)+float64(i), depth(r.data))
				require.GreaterOrEqual(t, r.when.Sub(began), lists[i].after, "request %d is early", i)
			}
			received := sorted(action.requests(""), target)
			require.Len(t, received, len(goals))
			ids := map[string]bool{}
			for i, r := range received {
				require.Equal(t, target(received[0].data)+float64(i), target(r.data))
				require.Contains(t, string(r.data), "pier 42")
				require.NotEqual(t, id(target(r.data)), [16]uint8(r.data[4:20]), "the goal has the recorded id")
				ids[string(r.data[4:20])] = true
				require.GreaterOrEqual(t, r.when.Sub(began), goals[i].after, "request %d is early", i)
			}
			require.Len(t, ids, len(goals))
		})
	}
}

// everyNth returns message 0, n, 2n and so on.
func everyNth(n int, all []timedMessage) (some []timedMessage) {
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}

// timedMessage is a recorded message.
type timedMessage struct {
	data  []byte
	after time.Duration // since the first message of the recording
}

// readTimed returns the messages of a recording by topic.
func readTimed(t *testing.T, path string) map[string][]timedMessage {
	r, err := formats.Open(path)
	require.NoError(t, err)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err)
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	defer it.Close()
	all := map[string][]timedMessage{}
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all[m.Channel.Topic] = append(all[m.Channel.Topic],
			timedMessage{slices.Clone(m.Data), time.Duration(m.LogTime - info.StartTime)})
	}
}
