package graph

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/config"
	"tapedeck/msgs/rcl_interfaces"
)

// TestMain isolates the tests from other machines, and from other tests in the same domain.
func TestMain(m *testing.M) {
	os.Setenv("ROS_DOMAIN_ID", fmt.Sprint(20+os.Getpid()%80))
	os.Setenv("ROS_LOCALHOST_ONLY", "1")
	const config = "<Discovery><Tag>graph-%d</Tag><LeaseDuration>3600s</LeaseDuration></Discovery>"
	os.Setenv("CYCLONEDDS_URI", fmt.Sprintf(config, os.Getpid()))
	for _, name := range []string{"ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS"} {
		os.Unsetenv(name)
	}
	os.Exit(m.Run())
}

// openNode opens a node as the executables do.
func openNode(t *testing.T, name string) bridge.Node {
	var o struct {
		Depth  int           `param:"depth"`
		Period time.Duration `param:"period"`
		Topics []string      `param:"topics"`
		Options
	}
	var node bridge.Node
	open := config.New(name, "", "", &o, func(_ context.Context, in *config.Input) (err error) {
		node, err = Open(name, in, &o, io.Discard)
		return err
	})
	require.NoError(t, config.Execute(t.Context(), open, []string{"--depth", "7"}))
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	return node
}

// TestOpenDeclaresBeforeItServes asks for a node's parameters from before the node opens.
func TestOpenDeclaresBeforeItServes(t *testing.T) {
	client := openNode(t, "client")
	request, err := cdr.Marshal(&rcl_interfaces.ListParameters_Request{})
	require.NoError(t, err)
	for i := range 20 {
		name := fmt.Sprint("server", i)
		var answer []byte
		failed := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var err error
			answer, err = client.Call(ctx, "/"+name+"/list_parameters", "rcl_interfaces/srv/ListParameters", request)
			failed <- err
		}()
		depth, _ := openNode(t, name).Parameters().Get("depth")
		require.Equal(t, int64(7), depth)
		require.NoError(t, <-failed)
		var list rcl_interfaces.ListParameters_Response
		require.NoError(t, cdr.Unmarshal(answer, &list))
		require.Equal(t, []string{"depth", "middleware", "period", "topics", "use_sim_time"}, list.Result.Names)
	}
}
