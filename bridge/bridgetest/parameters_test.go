package bridgetest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/rcl_interfaces"
	"tapedeck/msgs/rosgraph_msgs"
)

// ask calls a parameter service of server. The type "GetParameters" means the service get_parameters.
func ask(t *testing.T, client, server bridge.Node, service string, request, response msgs.Message) {
	t.Helper()
	var name strings.Builder
	for i, c := range service {
		if c >= 'A' && c <= 'Z' && i > 0 {
			name.WriteByte('_')
		}
		name.WriteString(strings.ToLower(string(c)))
	}
	data, err := client.Call(patient(t), server.Name()+"/"+name.String(), "rcl_interfaces/srv/"+service,
		marshal(t, request))
	require.NoError(t, err)
	require.NoError(t, cdr.Unmarshal(data, response))
}

func integer(v int64) rcl_interfaces.ParameterValue {
	return rcl_interfaces.ParameterValue{Type: 2, IntegerValue: v}
}

func testParameters(t *testing.T, open Open) {
	server := start(t, open, "server", func(o *bridge.Options) {
		o.Parameters = map[string]any{"output.count": 7, "use_sim_time": false, "unknown": "x"}
	})
	client := start(t, open, "client")
	var seen []bridge.Parameter
	p := server.Parameters()
	p.OnChange(func(changed []bridge.Parameter) error {
		if changed[0].Value == int64(66) {
			return errors.New("66 is refused")
		}
		seen = append(seen, changed...)
		return nil
	})
	for _, d := range []bridge.Parameter{
		{Name: "output.count", Value: int64(1), Description: "how many", From: 0, To: 100},
		{Name: "output.file.name", Value: "a"},
		{Name: "fixed", Value: true, ReadOnly: true},
		{Name: "rate", Value: 1.5, From: 0, To: math.Inf(1)},
		{Name: "bytes", Value: []byte{1, 2}},
		{Name: "bools", Value: []bool{true, false}},
		{Name: "integers", Value: []int64{-1, 1}},
		{Name: "doubles", Value: []float64{0.5}},
		{Name: "topics", Value: []string{"/a", "/b"}},
	} {
		require.NoError(t, p.Declare(d))
	}

	for _, test := range []struct {
		prefixes, names, above []string
		depth                  uint64
	}{
		{names: []string{"bools", "bytes", "doubles", "fixed", "integers", "output.count", "output.file.name", "rate",
			"topics", "use_sim_time"},
			above: []string{"output", "output.file"}},
		{prefixes: []string{"output", "rate"}, names: []string{"output.count", "output.file.name", "rate"},
			above: []string{"output", "output.file"}},
		{prefixes: []string{"output"}, depth: 1, names: []string{"output.count"}, above: []string{"output"}},
		{prefixes: []string{"out"}},
	} {
		var list rcl_interfaces.ListParameters_Response
		ask(t, client, server, "ListParameters", &rcl_interfaces.ListParameters_Request{Prefixes: test.prefixes,
			Depth: test.depth}, &list)
		require.ElementsMatch(t, test.names, list.Result.Names)
		require.ElementsMatch(t, test.above, list.Result.Prefixes)
	}

	var values rcl_interfaces.GetParameters_Response
	names := []string{"output.count", "output.file.name", "fixed", "rate", "bytes", "bools", "integers", "doubles",
		"topics", "nothing"}
	ask(t, client, server, "GetParameters", &rcl_interfaces.GetParameters_Request{Names: names}, &values)
	require.Len(t, values.Values, len(names))
	for i, want := range []any{int64(7), "a", true, 1.5, []byte{1, 2}, []bool{true, false}, []int64{-1, 1},
		[]float64{0.5},
		[]string{"/a", "/b"}, nil} {
		v := values.Values[i]
		got := []any{nil, v.BoolValue, v.IntegerValue, v.DoubleValue, v.StringValue, v.ByteArrayValue, v.BoolArrayValue,
			v.IntegerArrayValue, v.DoubleArrayValue, v.StringArrayValue}[v.Type]
		require.Equal(t, want, got, names[i])
	}

	var types rcl_interfaces.GetParameterTypes_Response
	ask(t, client, server, "GetParameterTypes", &rcl_interfaces.GetParameterTypes_Request{Names: names}, &types)
	require.Equal(t, []uint8{2, 4, 1, 3, 5, 6, 7, 8, 9, 0}, []uint8(types.Types))

	var described rcl_interfaces.DescribeParameters_Response
	ask(t, client, server, "DescribeParameters",
		&rcl_interfaces.DescribeParameters_Request{Names: []string{"output.count", "rate", "fixed"}}, &described)
	require.Len(t, described.Descriptors, 3)
	require.Equal(t, "how many", described.Descriptors[0].Description)
	require.Equal(t, uint8(2), described.Descriptors[0].Type)
	require.Equal(t, []rcl_interfaces.IntegerRange{{FromValue: 0, ToValue: 100}}, described.Descriptors[0].IntegerRange)
	require.Equal(t, []rcl_interfaces.FloatingPointRange{{FromValue: 0, ToValue: math.Inf(1)}},
		described.Descriptors[1].FloatingPointRange)
	require.True(t, described.Descriptors[2].ReadOnly)

	var set rcl_interfaces.SetParameters_Response
	ask(t, client, server, "SetParameters",
		&rcl_interfaces.SetParameters_Request{Parameters: []rcl_interfaces.Parameter{
			{Name: "output.count", Value: integer(9)},
			{Name: "output.count", Value: integer(101)},
			{Name: "output.count", Value: integer(66)},
			{Name: "output.count", Value: rcl_interfaces.ParameterValue{Type: 4, StringValue: "x"}},
			{Name: "output.count"},
			{Name: "fixed", Value: rcl_interfaces.ParameterValue{Type: 1}},
			{Name: "nothing", Value: integer(1)},
			{Name: "rate", Value: rcl_interfaces.ParameterValue{Type: 3, DoubleValue: 2.5}},
		}}, &set)
	require.Len(t, set.Results, 8)
	for i, reason := range []string{"", "not within 0 and 100", "66 is refused", "type integer", "type integer",
		"read-only", "not declared", ""} {
		require.Equal(t, reason == "", set.Results[i].Successful, "result %d: %s", i, set.Results[i].Reason)
		require.Contains(t, set.Results[i].Reason, reason)
	}
	require.Equal(t, int64(9), valueOf(p, "output.count"))
	require.Equal(t, 2.5, valueOf(p, "rate"))
	require.Len(t, seen, 2)

	var atomic rcl_interfaces.SetParametersAtomically_Response
	both := []rcl_interfaces.Parameter{{Name: "output.count", Value: integer(10)},
		{Name: "fixed", Value: rcl_interfaces.ParameterValue{Type: 1}}}
	ask(t, client, server, "SetParametersAtomically", &rcl_interfaces.SetParametersAtomically_Request{Parameters: both},
		&atomic)
	require.False(t, atomic.Result.Successful)
	require.Equal(t, int64(9), valueOf(p, "output.count"), "all or none")
	both[1] = rcl_interfaces.Parameter{Name: "output.file.name",
		Value: rcl_interfaces.ParameterValue{Type: 4, StringValue: "b"}}
	ask(t, client, server, "SetParametersAtomically", &rcl_interfaces.SetParametersAtomically_Request{Parameters: both},
		&atomic)
	require.True(t, atomic.Result.Successful, atomic.Result.Reason)
	require.Equal(t, int64(10), valueOf(p, "output.count"))
	require.Equal(t, "b", valueOf(p, "output.file.name"))
}

// testDeclaredFirst checks that a client that calls before a node opens receives all declared parameters.
func testDeclaredFirst(t *testing.T, open Open) {
	client := start(t, open, "client")
	in := subscribe(t, client, "/parameter_events", "rcl_interfaces/msg/ParameterEvent", bridge.ParameterEventsQoS())
	request := marshal(t, &rcl_interfaces.ListParameters_Request{})
	ctx := patient(t)
	for i := range 10 {
		name := fmt.Sprint("server", i)
		var answer []byte
		called := make(chan error, 1)
		go func() {
			var err error
			answer, err = client.Call(ctx, namespace(t)+"/"+name+"/list_parameters", listType, request)
			called <- err
		}()
		server := start(t, open, name, func(o *bridge.Options) {
			o.Parameters = map[string]any{"count": 7}
			o.Declare = []bridge.Parameter{{Name: "count", Value: int64(1)},
				{Name: "mode", Value: "fast", ReadOnly: true}}
		})
		require.Equal(t, int64(7), valueOf(server.Parameters(), "count"))
		require.NoError(t, <-called)
		var list rcl_interfaces.ListParameters_Response
		require.NoError(t, cdr.Unmarshal(answer, &list))
		require.Equal(t, []string{"count", "mode", "use_sim_time"}, list.Result.Names)
		require.NoError(t, server.Close())
	}
	// A subscriber of the events receives all parameters at once, or comes too late.
	for _, s := range in.all() {
		var e rcl_interfaces.ParameterEvent
		require.NoError(t, cdr.Unmarshal(s.data, &e))
		if strings.HasPrefix(e.Node, namespace(t)+"/server") {
			require.Len(t, e.NewParameters, 3)
		}
	}
}

func testParameterEvents(t *testing.T, open Open) {
	server, client := pair(t, open)
	in := subscribe(t, client, "/parameter_events", "rcl_interfaces/msg/ParameterEvent", bridge.ParameterEventsQoS())
	eventually(t, "the server's publisher", func() bool { return hasPublisher(client, "/parameter_events", server) })
	eventually(t, "the client's subscriber", func() bool {
		return len(topic(server,
			"/parameter_events").Subscribers) > 0
	})

	// Other nodes of the graph publish events, too.
	events := func() (list []rcl_interfaces.ParameterEvent) {
		for _, s := range in.all() {
			var e rcl_interfaces.ParameterEvent
			require.NoError(t, cdr.Unmarshal(s.data, &e))
			// The client may miss the declarations during the start of the server.
			if e.Node == server.Name() && !(len(e.NewParameters) > 0 && e.NewParameters[0].Name == "use_sim_time") {
				list = append(list, e)
			}
		}
		return list
	}
	p := server.Parameters()
	require.NoError(t, p.Declare(bridge.Parameter{Name: "count", Value: int64(1)}))
	eventually(t, "the declaration", func() bool { return len(events()) == 1 })
	require.NoError(t, p.Set("count", 2))
	eventually(t, "the change", func() bool { return len(events()) == 2 })
	got := events()
	require.Len(t, got[0].NewParameters, 1)
	require.Equal(t, "count", got[0].NewParameters[0].Name)
	require.Equal(t, int64(1), got[0].NewParameters[0].Value.IntegerValue)
	require.Empty(t, got[0].ChangedParameters)
	require.Empty(t, got[1].NewParameters)
	require.Len(t, got[1].ChangedParameters, 1)
	require.Equal(t, "count", got[1].ChangedParameters[0].Name)
	require.Equal(t, uint8(2), got[1].ChangedParameters[0].Value.Type)
	require.Equal(t, int64(2), got[1].ChangedParameters[0].Value.IntegerValue)
	require.Empty(t, got[1].DeletedParameters)
	require.InDelta(t, time.Now().Unix(), got[1].Stamp.Sec, patience.Seconds())
}

func testRosout(t *testing.T, open Open) {
	talker := start(t, open, "talker", func(o *bridge.Options) { o.LogLevel = bridge.Warn })
	name := strings.ReplaceAll(strings.TrimPrefix(talker.Name(), "/"), "/", ".")
	var in *inbox
	lines := func() (list []rcl_interfaces.Log) {
		for _, s := range in.all() {
			var line rcl_interfaces.Log
			require.NoError(t, cdr.Unmarshal(s.data, &line))
			if line.Name == name {
				list = append(list, line)
			}
		}
		return list
	}
	listeners := 0
	eventually(t, "the line", func() bool {
		talker.Log(bridge.Info, "below the level")
		talker.Log(bridge.Warn, "count is %d", 42)
		logged := time.Now() // after Log: the next listener must not receive this line, too
		// Late subscribers receive the last 10 s. On a busy machine, discovery may take longer.
		listeners++
		listener := start(t, open, fmt.Sprint("listener", listeners))
		in = subscribe(t, listener, "/rosout", "rcl_interfaces/msg/Log", bridge.RosoutQoS())
		for len(lines()) == 0 && time.Since(logged) < bridge.RosoutQoS().Lifespan {
			time.Sleep(5 * time.Millisecond)
		}
		return len(lines()) > 0
	})
	talker.Log(bridge.Error, "second")
	eventually(t, "the second line", func() bool { return len(lines()) > 1 })
	got := lines()
	require.Len(t, got, 2)
	require.Equal(t, "count is 42", got[0].Msg)
	require.Equal(t, uint8(bridge.Warn), got[0].Level)
	require.Contains(t, got[0].File, "parameters_test.go", "the place of the call of Node.Log")
	require.Contains(t, got[0].Function, "testRosout")
	require.NotZero(t, got[0].Line)
	require.Equal(t, "second", got[1].Msg)
	require.Equal(t, uint8(bridge.Error), got[1].Level)
}

func testSimTime(t *testing.T, open Open) {
	// The remap keeps /clock out of the graph of other tests.
	own := func(o *bridge.Options) { o.Remaps = []string{"/clock:=" + namespace(t) + "/clock"} }
	player := start(t, open, "player", own)
	node := start(t, open, "node", own, func(o *bridge.Options) { o.Parameters = map[string]any{"use_sim_time": true} })
	clock, err := bridge.NewSimTime(node)
	require.NoError(t, err)
	require.Zero(t, clock.Now(), "no /clock received yet")

	out := advertise(t, player, "/clock", "rosgraph_msgs/msg/Clock", bridge.LatchedQoS())
	tick := func(sec int32) {
		require.NoError(t, out.Publish(marshal(t, &rosgraph_msgs.Clock{Clock: builtin_interfaces.Time{Sec: sec,
			Nanosec: 5}})))
	}
	eventually(t, "simulated time", func() bool { tick(1000); return clock.Now() == 1_000_000_000_005 })
	require.NoError(t, node.Parameters().Set("use_sim_time", false))
	require.InDelta(t, time.Now().UnixNano(), clock.Now(), float64(patience))
	require.NoError(t, node.Parameters().Set("use_sim_time", true))
	eventually(t, "simulated time again", func() bool { tick(2000); return clock.Now() == 2_000_000_000_005 })
}

// valueOf returns the value of a declared parameter.
func valueOf(p *bridge.Parameters, name string) any {
	value, _ := p.Get(name)
	return value
}
