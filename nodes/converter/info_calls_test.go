package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/msgs/rosidl/wire"
	"tapedeck/msgs/service_msgs"
)

// info counts the calls of services and actions. With -v it counts them in events.
func TestInfoOfCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.mcap")
	w, err := known.Codecs().Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	channels, now := map[string]*codec.Channel{}, int64(1e18)
	write := func(topic, typeName string, data []byte) {
		if channels[topic] == nil {
			channels[topic] = &codec.Channel{Topic: topic, Type: typeName, Encoding: codec.EncodingCDR}
		}
		now += 1e6
		require.NoError(t, w.Write(&codec.Message{Channel: channels[topic], LogTime: now, Data: data}))
	}
	event := func(topic, typeName string, kind uint8, n int64) {
		e := wire.NewEncoder(nil)
		(&service_msgs.ServiceEventInfo{EventType: kind, SequenceNumber: n}).MarshalCDR(e)
		e.Length(0, 1)
		e.Length(0, 1)
		write(topic, typeName, e.Bytes())
	}
	const sent, received, answered = service_msgs.ServiceEventInfo_REQUEST_SENT,
		service_msgs.ServiceEventInfo_REQUEST_RECEIVED, service_msgs.ServiceEventInfo_RESPONSE_SENT
	const light, dock, goal = "std_srvs/srv/SetBool", "/dock/_action/", "a/action/Dock_SendGoal"
	for i := range int64(3) { // one request has no answer
		event("/light/_service_event", light+"_Event", sent, i)
		event("/light/_service_event", light+"_Event", received, i)
		if i < 2 {
			event("/light/_service_event", light+"_Event", answered, i)
			write("/fan/_request", light+"_Request", []byte{0, 1, 0, 0, 1})
			write(dock+"send_goal/_request", goal+"_Request", make([]byte, 20))
			write(dock+"feedback", "a/action/Dock_FeedbackMessage", make([]byte, 24))
			event("/fly/_action/get_result/_service_event", "a/action/Fly_GetResult_Event", answered, i)
		}
	}
	write("/fan/_reply", light+"_Response", []byte{0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0})
	write(dock+"status", "action_msgs/msg/GoalStatusArray", make([]byte, 8))
	require.NoError(t, w.Close())

	for _, test := range []struct {
		verbose           bool
		text              []string
		services, actions string // JSON
	}{
		{false, []string{"Services:   2\n", "  /fan     std_srvs/srv/SetBool         2          1       0\n",
			"  /light   std_srvs/srv/SetBool         -          -       8\n", "Actions:    2\n",
			"  /dock   a/action/Dock      2        -        -         2       1       0\n",
			"  /fly    a/action/Fly       -        -        -         0       0       2\n",
			"'converter info -v' counts requests and responses in events\n"},
			`[{"name": "/fan", "type": "std_srvs/srv/SetBool", "requests": 2, "responses": 1, "events": 0},
			{"name": "/light", "type": "std_srvs/srv/SetBool", "requests": null, "responses": null, "events": 8}]`,
			`[{"name": "/dock", "type": "a/action/Dock", "goals": 2, "cancels": null, "results": null, "feedback": 2,
			"status": 1, "events": 0}, {"name": "/fly", "type": "a/action/Fly", "goals": null, "cancels": null,
			"results": null, "feedback": 0, "status": 0, "events": 2}]`},
		{true, []string{"  /light   std_srvs/srv/SetBool         3          2       8\n",
			"  /fly    a/action/Fly       -        -        2         0       0       2\n"},
			`[{"name": "/fan", "type": "std_srvs/srv/SetBool", "requests": 2, "responses": 1, "events": 0},
			{"name": "/light", "type": "std_srvs/srv/SetBool", "requests": 3, "responses": 2, "events": 8}]`,
			`[{"name": "/dock", "type": "a/action/Dock", "goals": 2, "cancels": null, "results": null, "feedback": 2,
			"status": 1, "events": 0}, {"name": "/fly", "type": "a/action/Fly", "goals": null, "cancels": null,
			"results": 2, "feedback": 0, "status": 0, "events": 2}]`},
	} {
		o := defaultInfoOptions()
		o.Verbose = test.verbose
		var out bytes.Buffer
		require.NoError(t, o.info(context.Background(), []string{path}, &out, &out))
		for _, want := range test.text {
			require.Contains(t, out.String(), want)
		}
		if test.verbose {
			require.NotContains(t, out.String(), "info -v")
		}
		o.JSON = true
		out.Reset()
		require.NoError(t, o.info(context.Background(), []string{path}, &out, &out))
		var got struct{ Services, Actions json.RawMessage }
		require.NoError(t, json.Unmarshal(out.Bytes(), &got))
		require.JSONEq(t, test.services, string(got.Services))
		require.JSONEq(t, test.actions, string(got.Actions))
	}
}
