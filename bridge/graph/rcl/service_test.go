//go:build rcl

package rcl

import (
	"context"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rcl_interfaces"
)

func TestUnknownTypes(t *testing.T) {
	n := newNode(t, "node")
	attempts := map[string]func(typeName string) error{
		"advertise": func(typeName string) error {
			_, err := n.Advertise("topic", typeName, codec.DefaultQoS())
			return err
		},
		"subscribe": func(typeName string) error {
			_, err := n.Subscribe("topic", typeName, codec.DefaultQoS(), func([]bridge.Sample) {})
			return err
		},
		"serve": func(typeName string) error {
			_, err := n.Serve("service", typeName, func(context.Context, []byte) ([]byte, error) { return nil, nil })
			return err
		},
		"call": func(typeName string) error {
			_, err := n.Call(context.Background(), "service", typeName, bridgetest.Pattern(12, 0))
			return err
		},
	}
	for what, attempt := range attempts {
		for typeName, want := range map[string]string{
			"robot_arm_msgs/msg/Joint": "robot_arm_msgs/msg/Joint is not installed: " +
				"librobot_arm_msgs__rosidl_typesupport_c.so is not in the " +
				"library path. Install the package robot_arm_msgs (Debian name ros-<distro>-robot-arm-msgs)",
			"std_msgs/msg/Strin":             "the installed package std_msgs has no such",
			"std_msgs/String":                "want a name such as std_msgs/msg/String",
			"../../tmp/evil/msg/X":           "want a name such as",
			"":                               "want a name such as",
			"std_msgs/msg/String; rm -rf /x": "want a name such as",
		} {
			err := attempt(typeName)
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, what)
		}
	}
	require.ErrorContains(t, attempts["advertise"]("std_srvs/srv/SetBool"), "no such message")
	require.ErrorContains(t, attempts["serve"]("std_msgs/msg/String"), "no such service")
	require.NoError(t, attempts["advertise"]("std_srvs/srv/SetBool_Request"), "types of services are types too")
}

// nested is a request with strings, sequences and messages in it.
func nested(t *testing.T) []byte {
	t.Helper()
	data, err := cdr.Marshal(&rcl_interfaces.SetParameters_Request{Parameters: []rcl_interfaces.Parameter{
		{Name: "a", Value: rcl_interfaces.ParameterValue{Type: 9, StringArrayValue: []string{"x", "", "Grüße"}}},
		{Name: "long name", Value: rcl_interfaces.ParameterValue{Type: 8, DoubleArrayValue: []float64{1, -2.5}}},
		{Name: "", Value: rcl_interfaces.ParameterValue{Type: 5, ByteArrayValue: []byte{1, 2, 3}}},
	}})
	require.NoError(t, err)
	return data
}

func TestServiceTypes(t *testing.T) {
	server, client := newNode(t, "server"), newNode(t, "client")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got := make(chan []byte, 1)
	_, err := server.Serve("set", "rcl_interfaces/srv/SetParameters",
		func(_ context.Context, request []byte) ([]byte, error) {
			got <- slices.Clone(request)
			return cdr.Marshal(&rcl_interfaces.SetParameters_Response{
				Results: []rcl_interfaces.SetParametersResult{{Reason: "because"}, {Successful: true}}})
		})
	require.NoError(t, err)
	response, err := client.Call(ctx, "set", "rcl_interfaces/srv/SetParameters", nested(t))
	require.NoError(t, err)
	require.Equal(t, nested(t), <-got)
	var out rcl_interfaces.SetParameters_Response
	require.NoError(t, cdr.Unmarshal(response, &out))
	require.Equal(t, []rcl_interfaces.SetParametersResult{{Reason: "because"}, {Successful: true}}, out.Results)

	// Big-endian requests arrive in this machine's order.
	_, err = server.Serve("bool", "std_srvs/srv/SetBool", func(_ context.Context, request []byte) ([]byte, error) {
		return []byte{0, 0, 0, 0, request[4], 0, 0, 0, 0, 0, 0, 3, 'o', 'k', 0}, nil
	})
	require.NoError(t, err)
	response, err = client.Call(ctx, "bool", "std_srvs/srv/SetBool", []byte{0, 0, 0, 0, 1})
	require.NoError(t, err)
	require.Equal(t, []byte{0, 1, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 'o', 'k', 0}, response)
}

// TestMalformed sends requests and responses that are cut short or have lengths beyond their end.
func TestMalformed(t *testing.T) {
	server, client := newNode(t, "server"), newNode(t, "client")
	const kind = "rcl_interfaces/srv/SetParameters"
	whole := nested(t)
	request, err := loadMessageType(kind + "_Request")
	require.NoError(t, err)
	for size := range len(whole) {
		require.Error(t, request.check(whole[:size]), "%d bytes", size)
	}
	for _, length := range []uint32{0x01000000, 0x7fffffff, 0xffffffff} {
		for i := 4; i+4 <= len(whole); i += 4 {
			damaged := slices.Clone(whole)
			binary.LittleEndian.PutUint32(damaged[i:], length)
			err := request.check(damaged) // what hits a number is still valid
			require.True(t, err != nil || i != 4 && i != 8)
		}
	}
	require.Error(t, request.check([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}), "unknown encapsulation")
	require.Error(t, request.check([]byte{0, 3, 0, 0, 0, 0, 0, 0}), "a parameter list")
	require.NoError(t, request.check(whole))
	require.NoError(t, request.check(append(slices.Clone(whole), 0, 0, 0)), "padding")

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err = client.Call(ctx, "set", kind, whole[:20])
	require.ErrorContains(t, err, `call "set": the request: `)
	require.NoError(t, ctx.Err())

	answers := [][]byte{whole[:9], nil, {0, 1, 0, 0, 0, 0, 0, 0}}
	_, err = server.Serve("set", kind, func(context.Context, []byte) ([]byte, error) {
		answer := answers[0]
		answers = answers[1:]
		return answer, nil
	})
	require.NoError(t, err)
	for range 2 {
		short, cancel := context.WithTimeout(ctx, quiet)
		_, err = client.Call(short, "set", kind, whole)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded, "the server does not answer")
	}
	response, err := client.Call(ctx, "set", kind, whole)
	require.NoError(t, err)
	require.Equal(t, []byte{0, 1, 0, 0, 0, 0, 0, 0}, response)
}

// TestCallsBesideClose has calls under way while either side closes.
func TestCallsBesideClose(t *testing.T) {
	for range 5 {
		server, client := newNode(t, "server"), newNode(t, "client")
		_, err := server.Serve("echo", "std_srvs/srv/SetBool", func(_ context.Context, request []byte) ([]byte, error) {
			return []byte{0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0}, nil
		})
		require.NoError(t, err)
		ended := make(chan error, 8)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for range cap(ended) {
			go func() {
				for {
					if _, err := client.Call(ctx, "echo", "std_srvs/srv/SetBool", []byte{0, 1, 0, 0, 1}); err != nil {
						ended <- err
						return
					}
				}
			}()
		}
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, server.Close())
		require.NoError(t, client.Close())
		for range cap(ended) {
			require.ErrorIs(t, <-ended, errClosed)
		}
	}
}
