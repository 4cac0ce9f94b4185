package describe

import (
	"cmp"
	"maps"
	"slices"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// Counter returns the numbers of requests and responses of a service among the recorded events.
type Counter func(service string) (requests, responses int)

type (
	// Service is the JSON form of a service. Requests and responses are null if they are unknown. --verbose counts them
	// in events.
	Service struct {
		Name      string  `json:"name"`
		Type      string  `json:"type"`
		Requests  *uint64 `json:"requests"`
		Responses *uint64 `json:"responses"`
		Events    uint64  `json:"events"`
	}
	// Action is the JSON form of an action. Goals, cancels and results are null if they are unknown.
	Action struct {
		Name     string  `json:"name"`
		Type     string  `json:"type"`
		Goals    *uint64 `json:"goals"`
		Cancels  *uint64 `json:"cancels"` // cancel requests
		Results  *uint64 `json:"results"`
		Feedback uint64  `json:"feedback"`
		Status   uint64  `json:"status"`
		Events   uint64  `json:"events"`
	}
)

// Calls returns the services and actions of a recording, sorted by name. count may be nil.
func Calls(info *codec.Info, count Counter) (services []Service, actions []Action) {
	byService, byAction := map[string]*Service{}, map[string]*Action{}
	callTopics := map[string]bridge.CallTopic{} // by service
	for _, t := range info.Topics {
		call, ok := bridge.CallTopicOf(t.Channel.Topic, t.Channel.Type)
		if !ok {
			continue
		}
		if a := byAction[call.Action]; call.Action != "" {
			if a == nil {
				a = &Action{Name: call.Action}
				byAction[call.Action] = a
			}
			a.Type = cmp.Or(a.Type, bridge.ActionType(t.Channel.Type))
			switch call.ActionSuffix {
			case bridge.ActionFeedback:
				a.Feedback += t.MessageCount
				continue
			case bridge.ActionStatus:
				a.Status += t.MessageCount
				continue
			}
		}
		s := byService[call.Service]
		if s == nil {
			s = &Service{Name: call.Service, Type: call.Type}
			byService[call.Service], callTopics[call.Service] = s, call
		}
		switch call.Ending {
		case bridge.CallRequests:
			s.Requests = plusCount(s.Requests, t.MessageCount)
		case bridge.CallReplies:
			s.Responses = plusCount(s.Responses, t.MessageCount)
		default:
			s.Events += t.MessageCount
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byService)) {
		s, call := byService[name], callTopics[name]
		if count != nil || s.Events == 0 {
			requests, responses := 0, 0
			if count != nil {
				requests, responses = count(name)
			}
			s.Requests, s.Responses = atLeast(s.Requests, requests), atLeast(s.Responses, responses)
		}
		a := byAction[call.Action]
		if a == nil {
			services = append(services, *s)
			continue
		}
		a.Events += s.Events
		switch call.ActionSuffix {
		case bridge.SendGoal:
			a.Goals = s.Requests
		case bridge.CancelGoal:
			a.Cancels = s.Requests
		case bridge.GetResult:
			a.Results = s.Responses
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byAction)) {
		actions = append(actions, *byAction[name])
	}
	return services, actions
}

func plusCount(count *uint64, n uint64) *uint64 {
	if count != nil {
		n += *count
	}
	return &n
}

// atLeast returns the larger of two counts. count is nil if it is unknown. Calls can be recorded twice, as messages and
// as events.
func atLeast(count *uint64, other int) *uint64 {
	n := uint64(other)
	if count != nil {
		n = max(n, *count)
	}
	return &n
}
