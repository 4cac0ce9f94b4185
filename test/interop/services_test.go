package interop

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/dds"
	"tapedeck/test/internal/process"
)

// calls is the number of calls of each client: many times the history depth of a service. rclpy slows down with each
// call.
const calls = 300

// caller is a program for rclpy. It gets parameters of a node many times in a row.
const caller = `
import sys, time, rclpy
from rclpy.qos import QoSProfile
from rcl_interfaces.srv import GetParameters

service, calls, depth = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rclpy.init()
node = rclpy.create_node('caller')
client = node.create_client(GetParameters, service, qos_profile=QoSProfile(depth=depth))
if not client.wait_for_service(90):
    sys.exit('the service is not there')
names = ['use_sim_time', 'no_such_parameter']
for i in range(calls):
    future = client.call_async(GetParameters.Request(names=names * (i % 3)))
    rclpy.spin_until_future_complete(node, future, timeout_sec=90)
    if not future.done():
        sys.exit('call %d is lost' % i)
    types = [value.type for value in future.result().values]
    if types != [1, 0] * (i % 3):
        sys.exit('call %d is answered with %s' % (i, types))
print(calls, 'calls answered')
`

// server is a program for rclpy. It answers calls of /echo.
const server = `
import rclpy
from std_srvs.srv import SetBool

def echo(request, response):
    response.success = request.data
    response.message = 'x' * 5000 if request.data else ''
    return response

rclpy.init()
node = rclpy.create_node('server')
node.create_service(SetBool, 'echo', echo)
print('ready')
try:
    rclpy.spin(node)
except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
    pass
`

// caller starts the program caller with a history depth.
func (s *stack) caller(depth int) *process.Process {
	s.t.Helper()
	return s.start(python, "-c", caller, "/recorder/get_parameters", fmt.Sprint(calls), fmt.Sprint(depth))
}

// TestServiceCalls calls a service of the recorder many times in a row.
func TestServiceCalls(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.ours("recorder", "-o", "drive", "/n")
		require.Contains(t, s.caller(10).Wait(0), fmt.Sprint(calls, " calls answered"))
	})
}

// TestServiceClients checks that several clients at once, on plain DDS and on each installed RMW implementation, get
// all replies.
func TestServiceClients(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.ours("recorder", "-o", "drive", "/n")
		other := *s
		if s.middleware == "dds" {
			rmw := map[string]string{"rmw_cyclonedds_cpp": "rmw_fastrtps_cpp",
				"rmw_fastrtps_cpp": "rmw_cyclonedds_cpp"}[s.rmw]
			if find("lib/lib"+rmw+".so") != "" {
				other.env = append(s.env[:len(s.env):len(s.env)], "RMW_IMPLEMENTATION="+rmw)
			}
		}
		// Each client receives the replies to all clients, and must keep the replies to its requests.
		clients := []*process.Process{s.caller(4 * calls), other.caller(4 * calls), s.caller(4 * calls)}
		for _, client := range clients {
			require.Contains(t, client.Wait(0), fmt.Sprint(calls, " calls answered"))
		}
	})
}

// TestServer calls a service of rclpy many times in a row, from plain DDS.
func TestServer(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		if s.middleware != "dds" {
			t.Skip("the test itself is on plain DDS")
		}
		s.needPackage("std_srvs")
		s.start(python, "-c", server).Prints("ready")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(s.env, callerRole+"=1")
		require.Contains(t, process.Start(t, cmd).Wait(0), fmt.Sprint(calls, " calls answered"))
	})
}

// callerRole is the environment variable that makes this executable call a service instead of running tests.
const callerRole = "TAPEDECK_TEST_CALLER"

// call calls the service of server.
func call() error {
	n, err := dds.Open(bridge.Options{Name: "caller", Domain: -1})
	if err != nil {
		return err
	}
	defer n.Close()
	ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
	defer cancel()
	for i := range calls {
		on := i % 2
		response, err := n.Call(ctx, "/echo", "std_srvs/srv/SetBool", []byte{0, 1, 0, 0, byte(on)})
		if err != nil {
			return fmt.Errorf("call %d: %w", i, err)
		}
		want := binary.LittleEndian.AppendUint32([]byte{0, 1, 0, 0, byte(on), 0, 0, 0}, uint32(on*5000+1))
		want = append(append(want, strings.Repeat("x", on*5000)...), 0)
		if !bytes.HasPrefix(response, want) {
			return fmt.Errorf("call %d is answered with %d bytes, want %d", i, len(response), len(want))
		}
	}
	fmt.Println(calls, "calls answered")
	return nil
}
