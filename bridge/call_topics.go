package bridge

import (
	"strings"

	"tapedeck/msgs/rosidl/wire"
	"tapedeck/msgs/service_msgs"
)

// ServiceEvents is the suffix of the topic of a service's introspection, behind the service's name.
const ServiceEvents = "/_service_event"

// Suffixes of an action's topics, behind the action's name.
const (
	ActionFeedback = "/_action/feedback"
	ActionStatus   = "/_action/status"
)

// Suffixes of an action's services, behind the action's name.
const (
	SendGoal   = "/_action/send_goal"
	CancelGoal = "/_action/cancel_goal"
	GetResult  = "/_action/get_result"
)

// serviceTopics are the suffixes of a service's topics.
var serviceTopics = []string{ServiceEvents, CallRequests, CallReplies}

// CallTopic describes a topic that carries calls of a service, or belongs to an action.
type CallTopic struct {
	Service string // "/light", "/dock/_action/send_goal"; "" on ActionFeedback and ActionStatus
	Type    string // type of the service: "std_srvs/srv/SetBool"
	Ending  string // ServiceEvents, CallRequests, CallReplies, ActionFeedback or ActionStatus
	Action  string // "/dock"; "" if the topic does not belong to an action

	// ActionSuffix is SendGoal, CancelGoal, GetResult, ActionFeedback or ActionStatus; "" without an action.
	ActionSuffix string
}

// CallTopicOf returns the description of a topic of a service or an action. ok is false for other topics.
func CallTopicOf(topic, typeName string) (t CallTopic, ok bool) {
	for _, suffix := range []string{ActionFeedback, ActionStatus} {
		if action, ok := strings.CutSuffix(topic, suffix); ok {
			return CallTopic{Ending: suffix, Action: action, ActionSuffix: suffix}, action != ""
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
		for _, actionSuffix := range []string{SendGoal, CancelGoal, GetResult} {
			if action, ok := strings.CutSuffix(service, actionSuffix); ok && action != "" {
				t.Action, t.ActionSuffix = action, actionSuffix
			}
		}
		return t, true
	}
	return t, false
}

// ActionType returns the type of an action, "pkg/action/Dock", from the type of one of the action's topics or services.
// It returns "" if topicType does not contain the action's type.
func ActionType(topicType string) string {
	for _, suffix := range []string{"_FeedbackMessage", "_SendGoal", "_GetResult"} {
		if i := strings.LastIndex(topicType, suffix); i > 0 && strings.Contains(topicType[:i], "/action/") {
			return topicType[:i]
		}
	}
	return ""
}

// ServiceEvent returns the head of a service event. request reports whether the event contains the request, which the
// introspection may leave out.
func ServiceEvent(payload []byte) (info service_msgs.ServiceEventInfo, request bool, err error) {
	d := wire.NewDecoder(payload)
	info.UnmarshalCDR(d)
	request = d.Length(1, 1) == 1
	return info, request, d.Err()
}
