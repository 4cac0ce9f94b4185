package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/rcl_interfaces"
)

const (
	mostParameters = 2000
	mostChanges    = 200 // changes that become log lines
	shortValue     = 200 // bytes of a value, elements of an array
)

// parameters collects the values of parameters, and log lines about changes.
type parameters struct {
	values  map[[2]string]*Parameter // by node and name
	changes int
	heard   int // number of calls of set, a version of the values
}

// parameter returns a sink for parameter events, nil for other types.
func (b *builder) parameter(c *codec.Channel, _ *cdr.Schema) sink {
	switch c.Type {
	case "rcl_interfaces/msg/ParameterEvent":
		var m rcl_interfaces.ParameterEvent
		return logSink(func(payload []byte, at float64) error {
			if err := cdr.Unmarshal(payload, &m); err != nil {
				return err
			}
			for _, list := range [][]rcl_interfaces.Parameter{m.NewParameters, m.ChangedParameters} {
				for i := range list {
					b.set(at, m.Node, list[i].Name, valueText(&list[i].Value))
				}
			}
			for i := range m.DeletedParameters {
				b.set(at, m.Node, m.DeletedParameters[i].Name, "deleted")
			}
			return nil
		})
	case "mavros_msgs/msg/ParamEvent":
		var m mavros_msgs.ParamEvent
		node := strings.TrimSuffix(c.Topic, "/event")
		return logSink(func(payload []byte, at float64) error {
			if err := cdr.Unmarshal(payload, &m); err != nil {
				return err
			}
			b.set(at, node, m.ParamId, valueText(&m.Value))
			return nil
		})
	}
	return nil
}

// set sets the value of a parameter. If the value changes, it adds a log line.
func (b *builder) set(at float64, node, name, value string) {
	p := &b.params
	p.heard++
	node, name, value = shortened(node), shortened(name), shortened(value)
	known := p.values[[2]string{node, name}]
	if known == nil {
		if len(p.values) == mostParameters {
			b.omitted[fmt.Sprintf("parameters beyond the first %d", mostParameters)] = 1
			return
		}
		if p.values == nil {
			p.values = map[[2]string]*Parameter{}
		}
		p.values[[2]string{node, name}] = &Parameter{Node: node, Name: name, Value: value, At: at}
		return
	}
	if known.Value == value {
		return
	}
	p.changes++
	if p.changes <= mostChanges {
		b.logLine(at, "parameter", node, fmt.Sprintf("%s = %s, was %s", name, value, known.Value))
	}
	known.Value, known.At = value, at
	known.Changes++
}

// list returns the parameters with their last values, in order.
func (p *parameters) list() (list []Parameter) {
	for _, v := range p.values {
		list = append(list, *v)
	}
	slices.SortFunc(list, func(a, b Parameter) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Name, b.Name))
	})
	return list
}

func shortened(s string) string {
	if len(s) <= shortValue {
		return s
	}
	return strings.ToValidUTF8(s[:shortValue], "") + " …"
}

// valueText returns a value as YAML.
func valueText(v *rcl_interfaces.ParameterValue) string {
	number := func(f float64) string {
		if f == math.Trunc(f) && math.Abs(f) < 1e15 {
			return strconv.FormatFloat(f, 'f', 1, 64)
		}
		if short := float32(f); float64(short) == f { // values of MAVLink and ULog are float32
			return strconv.FormatFloat(f, 'g', -1, 32)
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	switch v.Type {
	case rcl_interfaces.ParameterType_PARAMETER_BOOL:
		return strconv.FormatBool(v.BoolValue)
	case rcl_interfaces.ParameterType_PARAMETER_INTEGER:
		return strconv.FormatInt(v.IntegerValue, 10)
	case rcl_interfaces.ParameterType_PARAMETER_DOUBLE:
		return number(v.DoubleValue)
	case rcl_interfaces.ParameterType_PARAMETER_STRING:
		return strconv.Quote(v.StringValue)
	case rcl_interfaces.ParameterType_PARAMETER_BYTE_ARRAY:
		return fmt.Sprintf("%d bytes", len(v.ByteArrayValue))
	case rcl_interfaces.ParameterType_PARAMETER_BOOL_ARRAY:
		return listText(v.BoolArrayValue, strconv.FormatBool)
	case rcl_interfaces.ParameterType_PARAMETER_INTEGER_ARRAY:
		return listText(v.IntegerArrayValue, func(n int64) string { return strconv.FormatInt(n, 10) })
	case rcl_interfaces.ParameterType_PARAMETER_DOUBLE_ARRAY:
		return listText(v.DoubleArrayValue, number)
	case rcl_interfaces.ParameterType_PARAMETER_STRING_ARRAY:
		return listText(v.StringArrayValue, strconv.Quote)
	}
	return "not set"
}

func listText[T any](list []T, text func(T) string) string {
	var texts []string
	for _, v := range list[:min(len(list), shortValue)] {
		texts = append(texts, text(v))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
