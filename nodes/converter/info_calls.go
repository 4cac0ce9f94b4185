package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs/service_msgs"
	"tapedeck/nodes/internal/calls"
	"tapedeck/nodes/internal/human"
)

// callID identifies a call among the events of a service.
type callID struct {
	client [16]uint8
	number int64
}

// callEvents holds the calls of which there are events. A call may have an event of its client and one of the server.
type callEvents struct {
	requests, responses map[callID]bool
}

// callsOf returns what events tell of a service.
func (all *measures) callsOf(service string) callEvents {
	if all == nil || all.calls[service] == nil {
		return callEvents{}
	}
	return *all.calls[service]
}

func (e *callEvents) add(m *codec.Message) {
	info, _, err := calls.Event(m.Data)
	if err != nil {
		return
	}
	id := callID{info.ClientGid, info.SequenceNumber}
	switch info.EventType {
	case service_msgs.ServiceEventInfo_REQUEST_SENT, service_msgs.ServiceEventInfo_REQUEST_RECEIVED:
		e.requests[id] = true
	case service_msgs.ServiceEventInfo_RESPONSE_SENT, service_msgs.ServiceEventInfo_RESPONSE_RECEIVED:
		e.responses[id] = true
	}
}

// The JSON form of services and actions. Counts are null if they are not known: --verbose counts calls in events.
type (
	serviceJSON struct {
		Name      string  `json:"name"`
		Type      string  `json:"type"`
		Requests  *uint64 `json:"requests"`
		Responses *uint64 `json:"responses"`
		Events    uint64  `json:"events"`
	}
	actionJSON struct {
		Name     string  `json:"name"`
		Type     string  `json:"type"`
		Goals    *uint64 `json:"goals"`
		Cancels  *uint64 `json:"cancels"` // requests
		Results  *uint64 `json:"results"`
		Feedback uint64  `json:"feedback"`
		Status   uint64  `json:"status"`
		Events   uint64  `json:"events"`
	}
)

// servicesOf returns the services and actions of a recording by their names.
func servicesOf(info *codec.Info, measured *measures) (services []serviceJSON, actions []actionJSON) {
	byService, byAction := map[string]*serviceJSON{}, map[string]*actionJSON{}
	parts := map[string]calls.Topic{} // by service
	for _, t := range info.Topics {
		call, ok := calls.Of(t.Channel.Topic, t.Channel.Type)
		if !ok {
			continue
		}
		if a := byAction[call.Action]; call.Action != "" {
			if a == nil {
				a = &actionJSON{Name: call.Action}
				byAction[call.Action] = a
			}
			a.Type = cmp.Or(a.Type, calls.ActionType(t.Channel.Type))
			switch call.Part {
			case calls.Feedback:
				a.Feedback += t.MessageCount
				continue
			case calls.Status:
				a.Status += t.MessageCount
				continue
			}
		}
		s := byService[call.Service]
		if s == nil {
			s = &serviceJSON{Name: call.Service, Type: call.Type}
			byService[call.Service], parts[call.Service] = s, call
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
		s, part := byService[name], parts[name]
		if measured != nil || s.Events == 0 {
			events := measured.callsOf(name)
			s.Requests = atLeast(s.Requests, len(events.requests))
			s.Responses = atLeast(s.Responses, len(events.responses))
		}
		a := byAction[part.Action]
		if a == nil {
			services = append(services, *s)
			continue
		}
		a.Events += s.Events
		switch part.Part {
		case calls.SendGoal:
			a.Goals = s.Requests
		case calls.CancelGoal:
			a.Cancels = s.Requests
		case calls.GetResult:
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

// atLeast returns the larger one of two counts, of which the first may be unknown: calls can be recorded twice, as they
// were received and as events.
func atLeast(count *uint64, other int) *uint64 {
	n := uint64(other)
	if count != nil {
		n = max(n, *count)
	}
	return &n
}

// writeCalls writes tables of services and actions.
func writeCalls(b *strings.Builder, line func(label, format string, args ...any), info *codec.Info,
	measured *measures) {
	services, actions := servicesOf(info, measured)
	uncounted := false
	count := func(n *uint64, events uint64) string {
		if n == nil {
			uncounted = uncounted || events > 0 && measured == nil
			return "-"
		}
		return number(*n)
	}
	table := func(label string, rows [][]string) {
		if len(rows) > 1 {
			line(label, "%d", len(rows)-1)
			human.Table(b, rows, map[int]bool{2: true, 3: true, 4: true, 5: true, 6: true, 7: true})
		}
	}
	rows := [][]string{{"Service", "Type", "Requests", "Responses", "Events"}}
	for _, s := range services {
		rows = append(rows, []string{human.OrDash(s.Name), human.OrDash(s.Type), count(s.Requests, s.Events),
			count(s.Responses, s.Events), number(s.Events)})
	}
	table("Services:", rows)
	rows = [][]string{{"Action", "Type", "Goals", "Cancels", "Results", "Feedback", "Status", "Events"}}
	for _, a := range actions {
		rows = append(rows, []string{human.OrDash(a.Name), human.OrDash(a.Type), count(a.Goals, a.Events),
			count(a.Cancels, a.Events), count(a.Results, a.Events), number(a.Feedback), number(a.Status),
			number(a.Events)})
	}
	table("Actions:", rows)
	if uncounted {
		line("", "'converter info -v' counts requests and responses in events")
	}
}
