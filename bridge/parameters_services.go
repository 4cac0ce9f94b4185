package bridge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/encoding/number"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/rcl_interfaces"
)

// Serve first declares the given parameters, and use_sim_time if it is not declared. Then it serves the six parameter
// services of node n and publishes /parameter_events, until n is closed. Implementations of Node call Serve.
func (p *Parameters) Serve(n Node, declare []Parameter) error {
	for _, d := range declare {
		if err := p.Declare(d); err != nil {
			return err
		}
	}
	if _, ok := p.Get("use_sim_time"); !ok {
		err := p.Declare(Parameter{Name: "use_sim_time", Value: false, Description: "take the time from /clock"})
		if err != nil {
			return err
		}
	}
	events, err := n.Advertise("/parameter_events", "rcl_interfaces/msg/ParameterEvent", ParameterEventsQoS())
	if err != nil {
		return fmt.Errorf("serve parameters: %w", err)
	}
	p.setting.Lock()
	p.mu.Lock()
	p.event = func(added, changed []Parameter) {
		now := time.Now()
		event := rcl_interfaces.ParameterEvent{
			Stamp:             builtin_interfaces.TimeAt(now.UnixNano()),
			Node:              p.node,
			NewParameters:     toMessages(added),
			ChangedParameters: toMessages(changed),
		}
		// The change stands even if the event cannot be published, for example while the node closes.
		if data, err := cdr.Marshal(&event); err == nil {
			_ = events.Publish(data)
		}
	}
	p.mu.Unlock()
	p.event(p.List(), nil)
	p.setting.Unlock()

	for _, s := range []struct {
		name, typeName string
		handle         func(ctx context.Context, request []byte) ([]byte, error)
	}{
		{"describe_parameters", "DescribeParameters", answer(p.answerDescribe)},
		{"get_parameters", "GetParameters", answer(p.answerGet)},
		{"get_parameter_types", "GetParameterTypes", answer(p.answerGetTypes)},
		{"list_parameters", "ListParameters", answer(p.answerList)},
		{"set_parameters", "SetParameters", answer(p.answerSet)},
		{"set_parameters_atomically", "SetParametersAtomically", answer(p.answerSetAtomically)},
	} {
		if _, err := n.Serve("~/"+s.name, "rcl_interfaces/srv/"+s.typeName, s.handle); err != nil {
			return fmt.Errorf("serve parameters: %w", err)
		}
	}
	return nil
}

// answer returns a handler that decodes requests and encodes the responses of f.
func answer[T any, Request interface {
	*T
	msgs.Message
}](f func(in Request) msgs.Message) func(context.Context, []byte) ([]byte, error) {
	return func(_ context.Context, payload []byte) ([]byte, error) {
		request := Request(new(T))
		if err := cdr.Unmarshal(payload, request); err != nil {
			return nil, err
		}
		return cdr.Marshal(f(request))
	}
}

func (p *Parameters) answerDescribe(in *rcl_interfaces.DescribeParameters_Request) msgs.Message {
	var out rcl_interfaces.DescribeParameters_Response
	for _, name := range in.Names {
		d, _ := p.Describe(name)
		m := rcl_interfaces.ParameterDescriptor{
			Name: name, Type: typeOf(d.Value), Description: d.Description, ReadOnly: d.ReadOnly,
		}
		if d.From != d.To {
			switch typeOf(d.Value) {
			case rcl_interfaces.ParameterType_PARAMETER_INTEGER, rcl_interfaces.ParameterType_PARAMETER_INTEGER_ARRAY:
				m.IntegerRange = []rcl_interfaces.IntegerRange{{
					FromValue: number.Int64(d.From), ToValue: number.Int64(d.To),
				}}
			case rcl_interfaces.ParameterType_PARAMETER_DOUBLE, rcl_interfaces.ParameterType_PARAMETER_DOUBLE_ARRAY:
				m.FloatingPointRange = []rcl_interfaces.FloatingPointRange{{FromValue: d.From, ToValue: d.To}}
			}
		}
		out.Descriptors = append(out.Descriptors, m)
	}
	return &out
}

func (p *Parameters) answerGet(in *rcl_interfaces.GetParameters_Request) msgs.Message {
	var out rcl_interfaces.GetParameters_Response
	for _, name := range in.Names {
		value, _ := p.Get(name)
		out.Values = append(out.Values, toMessage(value))
	}
	return &out
}

func (p *Parameters) answerGetTypes(in *rcl_interfaces.GetParameterTypes_Request) msgs.Message {
	var out rcl_interfaces.GetParameterTypes_Response
	for _, name := range in.Names {
		value, _ := p.Get(name)
		out.Types = append(out.Types, typeOf(value))
	}
	return &out
}

func (p *Parameters) answerList(in *rcl_interfaces.ListParameters_Request) msgs.Message {
	var out rcl_interfaces.ListParameters_Response
	for _, d := range p.List() {
		if !listed(d.Name, in.Prefixes, in.Depth) {
			continue
		}
		out.Result.Names = append(out.Result.Names, d.Name)
		if i := strings.LastIndexByte(d.Name, '.'); i >= 0 && !slices.Contains(out.Result.Prefixes, d.Name[:i]) {
			out.Result.Prefixes = append(out.Result.Prefixes, d.Name[:i])
		}
	}
	return &out
}

// listed reports whether a parameter is at most depth levels below one of the prefixes, or below the root if there are
// no prefixes. Depth 0 means any depth.
func listed(name string, prefixes []string, depth uint64) bool {
	shallow := func(rest string) bool { return depth == 0 || uint64(strings.Count(rest, ".")) < depth }
	if len(prefixes) == 0 {
		return shallow(name)
	}
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		rest, below := strings.CutPrefix(name, prefix+".")
		return name == prefix || below && shallow(rest)
	})
}

func (p *Parameters) answerSet(in *rcl_interfaces.SetParameters_Request) msgs.Message {
	var out rcl_interfaces.SetParameters_Response
	for _, m := range in.Parameters {
		out.Results = append(out.Results, result(p.Set(m.Name, fromMessage(m.Value))))
	}
	return &out
}

func (p *Parameters) answerSetAtomically(in *rcl_interfaces.SetParametersAtomically_Request) msgs.Message {
	values := make([]Parameter, len(in.Parameters))
	for i, m := range in.Parameters {
		values[i] = Parameter{Name: m.Name, Value: fromMessage(m.Value)}
	}
	return &rcl_interfaces.SetParametersAtomically_Response{Result: result(p.set(values))}
}

func result(err error) rcl_interfaces.SetParametersResult {
	if err != nil {
		return rcl_interfaces.SetParametersResult{Reason: err.Error()}
	}
	return rcl_interfaces.SetParametersResult{Successful: true}
}

func toMessages(parameters []Parameter) []rcl_interfaces.Parameter {
	list := make([]rcl_interfaces.Parameter, len(parameters))
	for i, d := range parameters {
		list[i] = rcl_interfaces.Parameter{Name: d.Name, Value: toMessage(d.Value)}
	}
	return list
}

func toMessage(value any) rcl_interfaces.ParameterValue {
	m := rcl_interfaces.ParameterValue{Type: typeOf(value)}
	kinds[m.Type].write(&m, value)
	return m
}

// fromMessage returns nil for a value that is not set.
func fromMessage(m rcl_interfaces.ParameterValue) any {
	if int(m.Type) >= len(kinds) {
		return nil
	}
	return kinds[m.Type].read(&m)
}
