package main

import (
	"strings"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/msgs/service_msgs"
	"tapedeck/nodes/internal/describe"
)

// callID identifies a call among the events of a service.
type callID struct {
	client [16]uint8
	number int64
}

// callEvents has the calls with recorded events. A call may have an event of its client and one of the server.
type callEvents struct {
	requests, responses map[callID]bool
}

// counter returns a function that counts the calls of a service in its events, nil if ms is nil.
func (ms *measures) counter() describe.Counter {
	if ms == nil {
		return nil
	}
	return func(service string) (requests, responses int) {
		if events := ms.calls[service]; events != nil {
			return len(events.requests), len(events.responses)
		}
		return 0, 0
	}
}

func (e *callEvents) add(m *codec.Message) {
	info, _, err := bridge.ServiceEvent(m.Data)
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

// writeCalls writes tables of services and actions.
func writeCalls(b *strings.Builder, line func(label, format string, args ...any), info *codec.Info,
	measured *measures) {
	services, actions := describe.Calls(info, measured.counter())
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
