package bridge

import (
	"strings"

	"tapedeck/msgs/rosidl/wire"
	"tapedeck/msgs/service_msgs"
)

// ServiceEvents follows the name of a service in the name of the topic of its introspection.
const ServiceEvents = "/_service_event"

// Topics of an action, behind its name.
const (
	ActionFeedback = "/_action/feedback"
	ActionStatus   = "/_action/status"
)

// Services of an action, behind its name.
const (
	SendGoal   = "/_action/send_goal"
	CancelGoal = "/_action/cancel_goal"
	GetResult  = "/_action/get_result"
)

// serviceTopics are the endings of the topics of a service.
var serviceTopics = []string{ServiceEvents, CallRequests, CallReplies}

// CallTopic is what a topic has to do with a service or an action.
type CallTopic struct {
	Service string // "/light", "/dock/_action/send_goal"; "" on ActionFeedback and ActionStatus
	Type    string // of the service: "std_srvs/srv/SetBool"
	Ending  string // ServiceEvents, CallRequests, CallReplies, ActionFeedback or ActionStatus
	Action  string // "/dock"; "" if it is of no action
	Part    string // of the action: SendGoal, CancelGoal, GetResult, ActionFeedback or ActionStatus
}

// CallTopicOf returns what a topic has to do with a service or an action. ok is false for other topics.
func CallTopicOf(topic, typeName string) (t CallTopic, ok bool) {
	for _, part := range []string{ActionFeedback, ActionStatus} {
		if action, ok := strings.CutSuffix(topic, part); ok {
			return CallTopic{Ending: part, Action: action, Part: part}, action != ""
		}
	}
	for i, suffix := range []string{"_Event", "_Request", "_Response"} {
		service, named := strings.CutSuffix(topic, serviceTopics[i])
		kind, typed := strings.CutSuffix(typeName, suffix)
		if !named || !typed || service == "" ||
			!strings.Contains(kind, "/srv/") && !strings.Contains(kind, "/action/") {
			continue
		}
		t = CallTopic{Service: service, Type: kind, Ending: serviceTopics[i]}
		for _, part := range []string{SendGoal, CancelGoal, GetResult} {
			if action, ok := strings.CutSuffix(service, part); ok && action != "" {
				t.Action, t.Part = action, part
			}
		}
		return t, true
	}
	return t, false
}

// ActionType returns the type of the action, "pkg/action/Dock", as the type of one of its topics tells it, "" if that
// does not.
func ActionType(topicType string) string {
	for _, part := range []string{"_FeedbackMessage", "_SendGoal", "_GetResult"} {
		if i := strings.LastIndex(topicType, part); i > 0 && strings.Contains(topicType[:i], "/action/") {
			return topicType[:i]
		}
	}
	return ""
}

// ServiceEvent returns the head of an event, and whether the request is in it, which the introspection may leave out.
func ServiceEvent(payload []byte) (info service_msgs.ServiceEventInfo, request bool, err error) {
	d := wire.NewDecoder(payload)
	info.UnmarshalCDR(d)
	request = d.Length(1, 1) == 1
	return info, request, d.Err()
}
