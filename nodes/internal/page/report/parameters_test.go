package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/rcl_interfaces"
	"tapedeck/msgs/std_msgs"
)

func parameterOf(name string, value any) rcl_interfaces.Parameter {
	p := rcl_interfaces.Parameter{Name: name}
	switch v := value.(type) {
	case bool:
		p.Value = rcl_interfaces.ParameterValue{Type: 1, BoolValue: v}
	case int:
		p.Value = rcl_interfaces.ParameterValue{Type: 2, IntegerValue: int64(v)}
	case float64:
		p.Value = rcl_interfaces.ParameterValue{Type: 3, DoubleValue: v}
	case string:
		p.Value = rcl_interfaces.ParameterValue{Type: 4, StringValue: v}
	case []byte:
		p.Value = rcl_interfaces.ParameterValue{Type: 5, ByteArrayValue: v}
	case []bool:
		p.Value = rcl_interfaces.ParameterValue{Type: 6, BoolArrayValue: v}
	case []int64:
		p.Value = rcl_interfaces.ParameterValue{Type: 7, IntegerArrayValue: v}
	case []float64:
		p.Value = rcl_interfaces.ParameterValue{Type: 8, DoubleArrayValue: v}
	case []string:
		p.Value = rcl_interfaces.ParameterValue{Type: 9, StringArrayValue: v}
	}
	return p
}

// Parameters have their last values. Changes become log lines.
func TestParameters(t *testing.T) {
	type list = []rcl_interfaces.Parameter
	d := newDrive(t)
	const topic = "/parameter_events"
	d.put(topic, 1, &rcl_interfaces.ParameterEvent{Node: "/car", NewParameters: list{parameterOf("rate", 10.0),
		parameterOf("gone", true), parameterOf("frames", []string{"a", "b\n"}), parameterOf("none", nil),
		parameterOf("bytes", []byte{1, 2}), parameterOf("flags", []bool{true, false}),
		parameterOf("gains", []float64{0.1, 2, 1e20}), parameterOf("ids", []int64{-1, 2})}})
	d.put(topic, 2, &rcl_interfaces.ParameterEvent{Node: "/car", ChangedParameters: list{parameterOf("rate", 12.5)}})
	d.put(topic, 3, &rcl_interfaces.ParameterEvent{Node: "/car", ChangedParameters: list{parameterOf("rate", 12.5)},
		DeletedParameters: list{parameterOf("gone", nil)}})
	for i, value := range []int{1, 1, 2} {
		d.put("/mavros/param/event", 4+float64(i), &mavros_msgs.ParamEvent{Header: std_msgs.Header{}, ParamId: "SYSID",
			Value: parameterOf("", value).Value})
	}
	data, err := Build(t.Context(), d.open(), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, []Parameter{
		{"/car", "bytes", "2 bytes", 0, 0}, {"/car", "flags", "[true, false]", 0, 0},
		{"/car", "frames", `["a", "b\n"]`, 0, 0}, {"/car", "gains", "[0.1, 2.0, 1e+20]", 0, 0},
		{"/car", "gone", "deleted", 1, 2}, {"/car", "ids", "[-1, 2]", 0, 0}, {"/car", "none", "not set", 0, 0},
		{"/car", "rate", "12.5", 1, 1}, {"/mavros/param", "SYSID", "2", 1, 5},
	}, data.Parameters)
	var words []string
	for _, w := range data.LogLines {
		words = append(words, w.Level+" "+w.From+" "+w.Text)
	}
	require.Equal(t, []string{"parameter /car rate = 12.5, was 10.0", "parameter /car gone = deleted, was true",
		"parameter /mavros/param SYSID = 2, was 1"}, words)
}

// The page stays small for any number of parameters and changes.
func TestManyParameters(t *testing.T) {
	b := &builder{omitted: map[string]int{}}
	for i := range 3 * mostParameters {
		b.set(0, "/car", fmt.Sprint("p", i%(2*mostParameters)), fmt.Sprint(i)+strings.Repeat("x", 2*shortValue))
	}
	require.Len(t, b.params.list(), mostParameters)
	require.Less(t, len(b.params.list()[0].Value), 2*shortValue)
	require.Len(t, b.logLines.list, mostChanges)
	require.Equal(t, map[string]int{"parameters beyond the first 2000": 1}, b.omitted)
}
