package player

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/recordings/all"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/action_msgs"
	"tapedeck/msgs/rcl_interfaces"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
	"tapedeck/msgs/service_msgs"
	"tapedeck/msgs/unique_identifier_msgs"
)

const listType = "rcl_interfaces/srv/ListParameters"

// rawEntry is a message of a recording with a given payload.
type rawEntry struct {
	topic, typeName string
	ms              int64
	data            []byte
}

// writeRawEntries writes a recording with the definitions of a library.
func writeRawEntries(t *testing.T, library *rosidl.Library, entries ...rawEntry) string {
	path := filepath.Join(t.TempDir(), "calls.mcap")
	w, err := all.Formats().Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	channels := map[string]*codec.Channel{}
	for _, e := range entries {
		c := channels[e.topic]
		if c == nil {
			c = &codec.Channel{Topic: e.topic, Type: e.typeName, Encoding: codec.EncodingCDR,
				QoS: []codec.QoS{bridge.LatchedQoS()}} // rosbag2 records events so; none may be sent after a seek
			if text, err := library.Concatenated(e.typeName); err == nil {
				c.Schema = codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)}
			}
			channels[e.topic] = c
		}
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: epoch + e.ms*1e6, Data: e.data}))
	}
	require.NoError(t, w.Close())
	return path
}

// eventOf returns the payload of a service event. If request is nil, the event has only metadata.
func eventOf(eventType uint8, request msgs.Message) []byte {
	e := wire.NewEncoder(nil)
	(&service_msgs.ServiceEventInfo{EventType: eventType}).MarshalCDR(e)
	if request == nil {
		e.Length(0, 1)
	} else {
		e.Length(1, 1)
		request.MarshalCDR(e)
	}
	e.Length(0, 1)
	return e.Bytes()
}

// requestLog collects the requests that services receive.
type requestLog struct {
	mu  sync.Mutex
	all map[string][][]byte // payloads by service
	at  []time.Time         // times of all requests
}

// serve serves a service that answers all requests with response.
func (h *fixture) serve(a *requestLog, service, typeName string, response []byte) {
	_, err := h.listener.Serve(service, typeName, func(_ context.Context, request []byte) ([]byte, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.all == nil {
			a.all = map[string][][]byte{}
		}
		a.all[service] = append(a.all[service], slices.Clone(request))
		a.at = append(a.at, time.Now())
		return response, nil
	})
	require.NoError(h.t, err)
}

func (a *requestLog) requests(service string) [][]byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.all[service])
}

// requireLog waits until the player has logged a text.
func (h *fixture) requireLog(text string) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		return slices.ContainsFunc(h.payloads("/rosout"), func(data []byte) bool {
			var m rcl_interfaces.Log
			require.NoError(h.t, cdr.Unmarshal(data, &m))
			return strings.Contains(m.Msg, text)
		})
	}, patient, time.Millisecond, text)
}

func listRequest(depth int) *rcl_interfaces.ListParameters_Request {
	return &rcl_interfaces.ListParameters_Request{Prefixes: []string{"abc"}, Depth: uint64(depth)}
}

func marshal(t *testing.T, m msgs.Message) []byte {
	data, err := cdr.Marshal(m)
	require.NoError(t, err)
	return data
}

// A service receives the recorded requests, each once and not before its time.
func TestRequestsAreSent(t *testing.T) {
	const received, sent, replied = service_msgs.ServiceEventInfo_REQUEST_RECEIVED,
		service_msgs.ServiceEventInfo_REQUEST_SENT, service_msgs.ServiceEventInfo_RESPONSE_SENT
	const events, requests, replies = "/list/_service_event", "/list/_request", "/list/_reply"
	event := func(kind uint8, i int) rawEntry {
		return rawEntry{events, listType + "_Event", int64(i) * 50, eventOf(kind, listRequest(i))}
	}
	empty := func(i int) rawEntry {
		return rawEntry{events, listType + "_Event", int64(i) * 50, eventOf(received, nil)}
	}
	request := func(i int) rawEntry {
		return rawEntry{requests, listType + "_Request", int64(i) * 50, marshal(t, listRequest(i))}
	}
	reply := func(i int) rawEntry {
		return rawEntry{replies, listType + "_Response", int64(i) * 50,
			marshal(t, &rcl_interfaces.ListParameters_Response{})}
	}
	for name, test := range map[string]struct {
		options   func(*options)
		library   *rosidl.Library
		recording []rawEntry
		want      []int
		log       string
	}{
		"events of the server": {recording: []rawEntry{event(sent, 0), event(received, 0), event(replied, 0),
			event(sent, 1), event(received, 1), event(received, 2)}, want: []int{0, 1, 2},
			log: "sent 3 requests to /list; 3 answered"},
		"events of clients": {recording: []rawEntry{event(sent, 0), event(replied, 0), event(sent, 1)},
			options: func(o *options) { o.RequestsSource = fromClients }, want: []int{0, 1}},
		"no events of the server": {recording: []rawEntry{event(sent, 0)}, log: "requests of /list are not sent: " +
			"its server published no events, or metadata only; --service-requests-source client_introspection takes " +
			"the events of its clients"},
		"no events of clients": {recording: []rawEntry{event(received, 0)},
			options: func(o *options) { o.RequestsSource = fromClients }, log: "its clients published no events"},
		"requests": {recording: []rawEntry{request(0), reply(0), request(1), reply(1)}, want: []int{0, 1}},
		"events and requests": {recording: []rawEntry{event(received, 0), request(0), reply(0), event(received, 1)},
			want: []int{0, 1}},
		"metadata only": {recording: []rawEntry{empty(0)}, log: "its server published no events, or metadata only"},
		"metadata and requests": {recording: []rawEntry{empty(0), request(0), empty(1), request(1)},
			want: []int{0, 1}},
		"not asked for": {recording: []rawEntry{event(received, 0), request(1)},
			options: func(o *options) { o.SendRequests = false }},
		"excluded": {recording: []rawEntry{request(0),
			{"/n", "std_msgs/msg/UInt32", 0, []byte{0, 1, 0, 0, 1, 0, 0, 0}}},
			options: func(o *options) { o.ExcludeServices = []string{"list"} }},
		"another service": {recording: []rawEntry{request(0),
			{"/b/_request", listType + "_Request", 50, marshal(t, listRequest(1))}},
			options: func(o *options) { o.Services = []string{"/list"} }, want: []int{0}},
		"actions": {recording: []rawEntry{request(0)},
			options: func(o *options) { o.SendRequests, o.SendActions = false, true }},
		"damaged": {recording: []rawEntry{event(received, 0),
			{events, listType + "_Event", 50, eventOf(received, listRequest(1))[:60]}},
			want: []int{0}, log: "skipped a payload that does not match its type"},
		"twice": {recording: []rawEntry{request(0)}, options: func(o *options) { o.LoopCount = 2 }, want: []int{0, 0}},
		"seek": {recording: []rawEntry{request(0), request(1), request(2)},
			options: func(o *options) { o.StartOffset = 60 * time.Millisecond }, want: []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			useNewestInterfaces(t)
			o := testOptions()
			o.SendRequests = true
			if test.options != nil {
				test.options(&o)
			}
			// Each recording has a topic to play.
			other := rawEntry{"/other", "std_msgs/msg/UInt32", 0, []byte{0, 1, 0, 0, 1, 0, 0, 0}}
			recording := append([]rawEntry{other}, test.recording...)
			h := newFixture(t, o, writeRawEntries(t, msgs.Release(""), recording...))
			h.subscribe("/rosout", "rcl_interfaces/msg/Log", bridge.RosoutQoS())
			h.subscribe("/list/_service_event", listType+"_Event", keepAll())
			var a requestLog
			h.serve(&a, "/list", listType, marshal(t, &rcl_interfaces.ListParameters_Response{}))
			began := time.Now()
			h.open()
			h.end()
			var got []int
			for _, data := range a.requests("/list") {
				var m rcl_interfaces.ListParameters_Request
				require.NoError(t, cdr.Unmarshal(data, &m))
				require.Equal(t, []string{"abc"}, m.Prefixes)
				got = append(got, int(m.Depth))
			}
			slices.Sort(got)
			require.Equal(t, test.want, got)
			if o.StartOffset == 0 && o.LoopCount == 0 {
				for i, at := range a.at {
					require.GreaterOrEqual(t, at.Sub(began), time.Duration(i)*50*time.Millisecond)
				}
			}
			if o.SendRequests {
				require.Empty(t, h.payloads(events))
			}
			if test.log != "" {
				h.requireLog(test.log)
			}
		})
	}
}

// Without the service, requests are not sent, and the log reports them.
func TestRequestsWithoutService(t *testing.T) {
	useNewestInterfaces(t)
	o := testOptions()
	o.SendRequests, o.MatchPatience = true, 10*time.Millisecond
	request := func(i int) rawEntry {
		return rawEntry{"/list/_request", listType + "_Request", int64(i), marshal(t, listRequest(i))}
	}
	h := newFixture(t, o, writeRawEntries(t, msgs.Release(""), request(0), request(1)))
	h.subscribe("/rosout", "rcl_interfaces/msg/Log", bridge.RosoutQoS())
	h.open()
	h.end()
	for _, want := range []string{"no such services within 10ms; requests are sent once they exist: /list",
		"a request of /list was not sent: the service is not available", "2 requests to /list not sent"} {
		h.requireLog(want)
	}
}

// dockLibrary has the definition of an action.
func dockLibrary(t *testing.T) *rosidl.Library {
	text := strings.Repeat("=", 80) + "\nACTION: a/action/Dock\nfloat64 target\n---\nbool docked\n---\nfloat32 left\n"
	library, err := rosidl.ParseConcatenated("a/action/Dock_SendGoal_Event", text)
	require.NoError(t, err)
	return library
}

// goalRequest is a request of an action with fields after the identifier of the goal.
type goalRequest struct {
	msgs.Message
	id     byte
	target float64 // 0: none
}

func (g goalRequest) MarshalCDR(e *wire.Encoder) {
	for _, b := range recordedID(g.id) {
		e.Uint8(b)
	}
	if g.target != 0 {
		e.Float64(g.target)
	}
}

// recordedID returns the recorded identifier of a goal.
func recordedID(id byte) (all goalID) {
	for i := range all {
		all[i] = id * byte(i+1)
	}
	return all
}

// An action server receives the recorded goals with new identifiers. It receives other requests about a goal after it
// has accepted the goal.
func TestGoalsAreSent(t *testing.T) {
	const dock = "/dock/_action/"
	received := service_msgs.ServiceEventInfo_REQUEST_RECEIVED
	parts := []struct {
		name, typeName string
	}{{"send_goal", "a/action/Dock_SendGoal"}, {"cancel_goal", "action_msgs/srv/CancelGoal"},
		{"get_result", "a/action/Dock_GetResult"}}
	cancel := func(id byte, sec int32) msgs.Message {
		info := action_msgs.GoalInfo{GoalId: unique_identifier_msgs.UUID{Uuid: recordedID(id)}}
		info.Stamp.Sec = sec
		return &action_msgs.CancelGoal_Request{GoalInfo: info}
	}
	recorded := []struct {
		part    int
		request msgs.Message
	}{
		{0, goalRequest{id: 1, target: 1.5}}, {2, goalRequest{id: 1}}, {0, goalRequest{id: 2, target: 2.5}},
		{1, cancel(2, 0)}, {2, goalRequest{id: 2}}, {2, goalRequest{id: 9}}, {1, cancel(0, int32(epoch/1e9))},
	}
	for _, introspection := range []bool{false, true} {
		for _, accepted := range []bool{true, false} {
			t.Run(fmt.Sprintf("introspection %v, accepted %v", introspection, accepted), func(t *testing.T) {
				useNewestInterfaces(t)
				var recording []rawEntry
				for i, r := range recorded {
					e := wire.NewEncoder(nil)
					r.request.MarshalCDR(e)
					service, typeName := dock+parts[r.part].name, parts[r.part].typeName
					entry := rawEntry{service + "/_request", typeName + "_Request", int64(i) * 10, e.Bytes()}
					if introspection {
						entry.topic, entry.typeName = service+"/_service_event", typeName+"_Event"
						entry.data = eventOf(received, r.request)
					}
					recording = append(recording, entry)
				}
				recording = append(recording, rawEntry{dock + "status", "action_msgs/msg/GoalStatusArray", 0,
					marshal(t, &action_msgs.GoalStatusArray{})})
				o := testOptions()
				o.SendActions = true
				h := newFixture(t, o, writeRawEntries(t, dockLibrary(t), recording...))
				h.subscribe("/rosout", "rcl_interfaces/msg/Log", bridge.RosoutQoS())
				h.subscribe(dock+"status", "action_msgs/msg/GoalStatusArray", keepAll())
				var a requestLog
				answer := wire.NewEncoder(nil)
				answer.Bool(accepted)
				answer.Int32(1)
				answer.Uint32(2)
				for _, part := range parts {
					h.serve(&a, dock+part.name, part.typeName, answer.Bytes())
				}
				began := time.Now()
				h.open()
				h.end()
				require.Empty(t, h.payloads(dock+"status"))

				goals := a.requests(dock + "send_goal")
				ids := map[float64]string{}
				for _, goal := range goals {
					d := wire.NewDecoder(goal)
					d.Skip(16)
					ids[d.Float64()] = string(goal[4:20])
					require.NotContains(t, []goalID{recordedID(1), recordedID(2)}, goalID(goal[4:20]))
				}
				require.Len(t, goals, 2)
				require.NotEqual(t, ids[1.5], ids[2.5])
				all := a.requests(dock + "cancel_goal")
				if !accepted {
					require.Len(t, all, 1)
					require.Empty(t, a.requests(dock+"get_result"))
					h.requireLog("a goal of /dock was rejected")
					h.requireLog("a request of /dock/_action/get_result is not sent: its goal was not accepted")
					return
				}
				require.Len(t, all, 2)
				for _, data := range all {
					var m action_msgs.CancelGoal_Request
					require.NoError(t, cdr.Unmarshal(data, &m))
					if m.GoalInfo.GoalId.Uuid == [16]uint8{} { // all goals up to a time
						require.GreaterOrEqual(t, int64(m.GoalInfo.Stamp.Sec), began.Unix())
					} else {
						require.Equal(t, ids[2.5], string(m.GoalInfo.GoalId.Uuid[:]))
						require.Zero(t, m.GoalInfo.Stamp.Sec)
					}
				}
				require.Eventually(t, func() bool { return len(a.requests(dock+"get_result")) == 2 }, patient,
					time.Millisecond, "the player does not wait for results")
				var results []string
				for _, data := range a.requests(dock + "get_result") {
					results = append(results, string(data[4:20]))
				}
				require.ElementsMatch(t, []string{ids[1.5], ids[2.5]}, results)
				h.requireLog("a request of /dock/_action/get_result is not sent: its goal was not sent")
			})
		}
	}
}

// TestGoalsWithoutAnswer checks that each request that waited for the answer to a goal is counted, also in earlier
// rounds.
func TestGoalsWithoutAnswer(t *testing.T) {
	useNewestInterfaces(t)
	const dock, typeName = "/dock/_action/", "a/action/Dock_"
	request := func(name, part string, ms int64, g goalRequest) rawEntry {
		e := wire.NewEncoder(nil)
		g.MarshalCDR(e)
		return rawEntry{dock + name + "/_request", typeName + part + "_Request", ms, e.Bytes()}
	}
	o := testOptions()
	o.SendActions, o.LoopCount, o.AckTimeout = true, 3, 10*time.Millisecond
	h := newFixture(t, o, writeRawEntries(t, dockLibrary(t),
		request("send_goal", "SendGoal", 0, goalRequest{id: 1, target: 1}),
		request("get_result", "GetResult", 1, goalRequest{id: 1})))
	h.subscribe("/rosout", "rcl_interfaces/msg/Log", bridge.RosoutQoS())
	for name, part := range map[string]string{"send_goal": "SendGoal", "get_result": "GetResult"} {
		_, err := h.listener.Serve(dock+name, typeName+part, func(ctx context.Context, _ []byte) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		require.NoError(t, err)
	}
	h.open()
	h.end()
	h.requireLog("sent 3 requests to /dock/_action/send_goal; 0 answered")
	h.requireLog("3 requests to /dock/_action/get_result not sent")
}
