package e2e

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/rcl_interfaces"
)

// call calls a service of another process.
func (g *graph) call(node bridge.Node, service, typeName string, request, response msgs.Message) {
	g.t.Helper()
	reply, err := node.Call(g.t.Context(), service, typeName, marshal(g.t, request))
	require.NoError(g.t, err)
	require.NoError(g.t, cdr.Unmarshal(reply, response))
}

// TestRecorderShowsItsParameters checks that the recorder's parameters can be listed and read, but not set.
func TestRecorderShowsItsParameters(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	require.NoError(t, os.WriteFile(g.path("mine.yaml"),
		[]byte("/robot/recorder:\n  ros__parameters:\n    queue_size: 64MiB\n"), 0o644))
	recorder := g.start("recorder", "-o", "drive", "--all", "--max-duration", "90m",
		"--ros-args", "-r", "__ns:=/robot", "--params-file", "mine.yaml", "-p", "snapshot_duration:=12.5")
	node := g.open("asker")

	var list rcl_interfaces.ListParameters_Response
	g.call(node, "/robot/recorder/list_parameters", "rcl_interfaces/srv/ListParameters",
		&rcl_interfaces.ListParameters_Request{}, &list)
	names := []string{"all", "max_duration", "queue_size", "snapshot_duration", "storage", "topics"}
	require.Subset(t, list.Result.Names, append(names, "use_sim_time"))

	var get rcl_interfaces.GetParameters_Response
	g.call(node, "/robot/recorder/get_parameters", "rcl_interfaces/srv/GetParameters",
		&rcl_interfaces.GetParameters_Request{Names: names}, &get)
	require.Len(t, get.Values, len(names))
	require.True(t, get.Values[0].BoolValue)
	require.InDelta(t, 5400, get.Values[1].DoubleValue, 0)
	require.Equal(t, int64(64<<20), get.Values[2].IntegerValue)
	require.InDelta(t, 12.5, get.Values[3].DoubleValue, 0)
	require.Equal(t, "auto", get.Values[4].StringValue)
	require.Equal(t, rcl_interfaces.ParameterType_PARAMETER_STRING_ARRAY, get.Values[5].Type)

	var describe rcl_interfaces.DescribeParameters_Response
	g.call(node, "/robot/recorder/describe_parameters", "rcl_interfaces/srv/DescribeParameters",
		&rcl_interfaces.DescribeParameters_Request{Names: []string{"max_duration"}}, &describe)
	require.Len(t, describe.Descriptors, 1)
	require.Contains(t, describe.Descriptors[0].Description, "Stop after")
	require.True(t, describe.Descriptors[0].ReadOnly)

	var set rcl_interfaces.SetParameters_Response
	g.call(node, "/robot/recorder/set_parameters", "rcl_interfaces/srv/SetParameters",
		&rcl_interfaces.SetParameters_Request{
			Parameters: []rcl_interfaces.Parameter{{Name: "all",
				Value: rcl_interfaces.ParameterValue{Type: rcl_interfaces.ParameterType_PARAMETER_BOOL}}},
		}, &set)
	require.Len(t, set.Results, 1)
	require.False(t, set.Results[0].Successful, "the recorder accepted a new value")
	recorder.Interrupt()
}
