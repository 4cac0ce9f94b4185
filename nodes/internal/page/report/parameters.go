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
	mostChanges    = 200 // that are lines of the log
	shortValue     = 200 // bytes of a value
)

// parameters gathers the values of parameters, and lines about those that changed.
type parameters struct {
	values  map[[2]string]*Parameter // by node and name
	changes int
	heard   int // events, as a version of the values
}

func (b *builder) parameter(c *codec.Channel, _ *cdr.Schema) sink {
	switch c.Type {
	case "rcl_interfaces/msg/ParameterEvent":
		var m rcl_interfaces.ParameterEvent
		return log(func(payload []byte, at float64) error {
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
		return log(func(payload []byte, at float64) error {
			if err := cdr.Unmarshal(payload, &m); err != nil {
				return err
			}
			b.set(at, node, m.ParamId, valueText(&m.Value))
			return nil
		})
	}
	return nil
}

// set notes the value of a parameter, and a line if it had another one.
func (b *builder) set(at float64, node, name, value string) {
	p := &b.params
	p.heard++
	node, name, value = shortened(node), shortened(name), shortened(value)
	known := p.values[[2]string{node, name}]
	if known == nil {
		if len(p.values) == mostParameters {
			b.left[fmt.Sprintf("parameters beyond the first %d", mostParameters)] = 1
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
		b.word(at, "parameter", node, fmt.Sprintf("%s = %s, was %s", name, value, known.Value))
	}
	known.Value, known.At = value, at
	known.Changes++
}

// list returns the last values.
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

// valueText returns a value as YAML has it.
func valueText(v *rcl_interfaces.ParameterValue) string {
	number := func(f float64) string {
		if f == math.Trunc(f) && math.Abs(f) < 1e15 {
			return strconv.FormatFloat(f, 'f', 1, 64)
		}
		if short := float32(f); float64(short) == f { // as MAVLink and ULog have it
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
	var parts []string
	for _, v := range list[:min(len(list), shortValue)] {
		parts = append(parts, text(v))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
