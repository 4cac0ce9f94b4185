package bridge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/msgs/rosidl/wire"
	"tapedeck/msgs/service_msgs"
)

// TestCallTopicOf checks the descriptions of topics of services and actions, and that other topics have none.
func TestCallTopicOf(t *testing.T) {
	for _, test := range []struct {
		topic, typeName string
		want            CallTopic // CallTopic{}: the topic carries no calls
	}{
		{"/a/light/_service_event", "std_srvs/srv/SetBool_Event",
			CallTopic{Service: "/a/light", Type: "std_srvs/srv/SetBool", Ending: ServiceEvents}},
		{"/light/_request", "std_srvs/srv/SetBool_Request",
			CallTopic{Service: "/light", Type: "std_srvs/srv/SetBool", Ending: CallRequests}},
		{"/light/_reply", "std_srvs/srv/SetBool_Response",
			CallTopic{Service: "/light", Type: "std_srvs/srv/SetBool", Ending: CallReplies}},
		{"/dock/_action/send_goal/_request", "a/action/Dock_SendGoal_Request", CallTopic{
			Service: "/dock/_action/send_goal",
			Type:    "a/action/Dock_SendGoal", Ending: CallRequests, Action: "/dock", ActionSuffix: SendGoal}},
		{"/dock/_action/cancel_goal/_service_event", "action_msgs/srv/CancelGoal_Event",
			CallTopic{Service: "/dock/_action/cancel_goal", Type: "action_msgs/srv/CancelGoal", Ending: ServiceEvents,
				Action: "/dock", ActionSuffix: CancelGoal}},
		{"/dock/_action/feedback", "a/action/Dock_FeedbackMessage",
			CallTopic{Ending: ActionFeedback, Action: "/dock", ActionSuffix: ActionFeedback}},
		{"/dock/_action/status", "action_msgs/msg/GoalStatusArray",
			CallTopic{Ending: ActionStatus, Action: "/dock", ActionSuffix: ActionStatus}},
		{"/light/_request", "std_msgs/msg/Bool", CallTopic{}},
		{"/light/_service_event", "std_srvs/srv/SetBool_Request", CallTopic{}},
		{"/_request", "std_srvs/srv/SetBool_Request", CallTopic{}},
		{"/light", "std_srvs/srv/SetBool_Request", CallTopic{}},
	} {
		got, ok := CallTopicOf(test.topic, test.typeName)
		require.Equal(t, test.want, got, test.topic)
		require.Equal(t, test.want != CallTopic{}, ok, test.topic)
	}
}

func TestActionType(t *testing.T) {
	for typeName, want := range map[string]string{
		"a/action/Dock_SendGoal_Event": "a/action/Dock", "a/action/Dock_GetResult": "a/action/Dock",
		"a/action/Dock_FeedbackMessage": "a/action/Dock", "action_msgs/srv/CancelGoal": "",
	} {
		require.Equal(t, want, ActionType(typeName), typeName)
	}
}

// TestServiceEvent decodes service events with and without a request, and a truncated event.
func TestServiceEvent(t *testing.T) {
	want := service_msgs.ServiceEventInfo{EventType: 1, ClientGid: [16]uint8{1, 15}, SequenceNumber: 3}
	for _, requests := range []int{0, 1} {
		e := wire.NewEncoder(nil)
		want.MarshalCDR(e)
		e.Length(requests, 1)
		e.Bool(true) // the data of std_srvs/srv/SetBool_Request, if there is a request
		got, request, err := ServiceEvent(e.Bytes())
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, requests == 1, request, "ServiceEvent reports a request")
	}
	_, _, err := ServiceEvent([]byte{0, 1, 0, 0, 1})
	require.Error(t, err, "an event of one byte after the CDR header")
}
