package player

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/service_msgs"
)

// Values of the option service_requests_source.
const (
	fromServers = "service_introspection"
	fromClients = "client_introspection"
)

// sends reports whether requests of the service or action are sent. Otherwise recorded messages are published.
func (o *options) sends(call bridge.CallTopic) bool {
	if call.Action != "" {
		return o.SendActions
	}
	return call.Service != "" && o.SendRequests
}

// requestEvent returns the type of the events whose requests are sent.
func (o *options) requestEvent() uint8 {
	if o.RequestsSource == fromClients {
		return service_msgs.ServiceEventInfo_REQUEST_SENT
	}
	return service_msgs.ServiceEventInfo_REQUEST_RECEIVED
}

// requestReader reads requests from the messages of a channel.
type requestReader struct {
	call    bridge.CallTopic
	event   uint8       // type of the events that have requests
	schema  *cdr.Schema // schema of the events; nil: the messages are requests
	request *cdr.Schema
}

// read returns the request in a message, nil if there is none.
func (r *requestReader) read(data []byte) ([]byte, error) {
	if r.schema == nil {
		return data, nil
	}
	if info, there, err := bridge.ServiceEvent(data); err != nil || info.EventType != r.event || !there {
		return nil, err
	}
	event, err := r.schema.Decode(data)
	if err != nil {
		return nil, err
	}
	requests, _ := event.Get("request").([]*cdr.Struct) // the recorded definition may lack the field
	if len(requests) != 1 {
		return nil, errors.New("the definition of the event has no request")
	}
	return r.request.Encode(requests[0])
}

// requestReaders returns the readers of channels whose requests are sent. A service's events are preferred to requests
// that a recorder without introspection received, because these may lack the requests of new clients. Other channels of
// services and actions whose requests are sent have a nil reader. Warnings name services of which no request can be
// sent.
func (r *mergedRecordings) requestReaders(o *options) (readers map[*codec.Channel]*requestReader,
	warnings []string, err error) {
	readers = map[*codec.Channel]*requestReader{}
	for _, p := range r.Parts {
		services := map[string]*recordedService{}
		for _, t := range p.Info.Topics {
			call, ok := bridge.CallTopicOf(t.Channel.Topic, t.Channel.Type)
			if !ok || !r.Selects(t.Channel) || !o.sends(call) {
				continue
			}
			readers[t.Channel] = nil
			if services[call.Service] == nil {
				services[call.Service] = &recordedService{}
			}
			service := services[call.Service]
			switch {
			case call.Ending == bridge.CallRequests:
				service.requests = append(service.requests, t.Channel)
			case call.Ending == bridge.ServiceEvents && t.MessageCount > 0:
				service.events = append(service.events, t.Channel)
			}
		}
		if err := findRequests(p.Reader, services, o.requestEvent()); err != nil {
			return nil, nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(services)) {
			if reason := services[name].choose(readers, o.requestEvent()); reason != "" {
				warnings = append(warnings,
					fmt.Sprintf("%s: requests of %s are not sent: %s", p.Info.Path, name, reason))
			}
		}
	}
	return readers, warnings, nil
}

// recordedService has the channels of a service in one recording.
type recordedService struct {
	events, requests []*codec.Channel
	hasRequests      bool // events of the wanted type have requests
}

// findRequests sets hasRequests of the services. It reads until it has found a request of each service.
func findRequests(r codec.Reader, services map[string]*recordedService, event uint8) error {
	open := map[*codec.Channel]*recordedService{}
	for _, service := range services {
		for _, c := range service.events {
			open[c] = service
		}
	}
	if len(open) == 0 {
		return nil
	}
	wanted := func(c *codec.Channel) bool { return open[c] != nil }
	for m, err := range codec.Messages(r, codec.Query{Topics: wanted, Damaged: func(error) {}}) {
		if err != nil {
			return err
		}
		service := open[m.Channel]
		info, there, err := bridge.ServiceEvent(m.Data)
		if service == nil || err != nil || info.EventType != event || !there {
			continue
		}
		service.hasRequests = true
		maps.DeleteFunc(open, func(_ *codec.Channel, of *recordedService) bool { return of == service })
		if len(open) == 0 {
			break
		}
	}
	return nil
}

// choose sets the readers of the channels from which requests are taken. If there are none, it returns why.
func (s *recordedService) choose(all map[*codec.Channel]*requestReader, event uint8) (reason string) {
	if s.hasRequests {
		for _, c := range s.events {
			r := &requestReader{event: event}
			r.call, _ = bridge.CallTopicOf(c.Topic, c.Type)
			library := c.Library(msgs.Library())
			var err error
			r.schema, err = cdr.NewSchema(library, c.Type)
			if err == nil {
				r.request, err = cdr.NewSchema(library, r.call.Type+"_Request")
			}
			if err == nil {
				all[c] = r
			} else {
				reason = fmt.Sprintf("its events cannot be read without the definition: %v", err)
			}
		}
		if reason == "" {
			return ""
		}
	}
	for _, c := range s.requests {
		call, _ := bridge.CallTopicOf(c.Topic, c.Type)
		all[c] = &requestReader{call: call}
	}
	switch {
	case len(s.requests) > 0:
		return ""
	case reason != "" || len(s.events) == 0:
		return reason
	case event == service_msgs.ServiceEventInfo_REQUEST_RECEIVED:
		return "its server published no events, or metadata only; --service-requests-source " + fromClients +
			" takes the events of its clients"
	}
	return "its clients published no events, or metadata only; --service-requests-source " + fromServers +
		" takes the events of its server"
}

// openCallers returns the publishers that send the requests of channels to services, and their callers.
func (o *options) openCallers(node bridge.Node, readers map[*codec.Channel]*requestReader) (publishers, callers) {
	all := publishers{}
	type key struct{ service, typeName string }
	known, actions := map[key]*caller{}, map[string]*action{}
	for c, r := range readers {
		if r == nil {
			continue
		}
		k := key{r.call.Service, r.call.Type}
		if known[k] == nil {
			client, err := node.Client(o.prefixed(full(r.call.Service)), r.call.Type)
			if err != nil {
				node.Log(bridge.Warn, "requests of %s are not sent: %v", r.call.Service, err)
				continue
			}
			known[k] = newCaller(node, client)
		}
		if r.call.Action != "" && actions[r.call.Action] == nil {
			actions[r.call.Action] = &action{goals: map[goalID]*goal{}, open: map[*goal]bool{}}
		}
		all[c] = &publisher{requests: r, caller: known[k], action: actions[r.call.Action]}
	}
	list := slices.SortedFunc(maps.Values(known), func(a, b *caller) int {
		return strings.Compare(a.client.Service(), b.client.Service())
	})
	return all, callers{list, slices.Collect(maps.Values(actions))}
}

// call sends the request in a message, if there is one.
func (p *publisher) call(m *codec.Message, playingTime func(int64) int64) error {
	if err := p.restamp(m, playingTime); err != nil {
		return err
	}
	request, err := p.requests.read(m.Data)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errMismatch, err)
	case request == nil:
		return nil
	case p.action != nil:
		return p.action.send(p.caller, p.requests.call.ActionSuffix, request, playingTime)
	}
	p.caller.send(request, false, nil)
	return nil
}
