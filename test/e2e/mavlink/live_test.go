package mavlink

import (
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/bridge/graph/dds"
	"tapedeck/codec"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/test/internal/process"
)

// encode returns a frame of a system's autopilot.
func encode(system, id, sequence byte, payload []byte) []byte {
	f := append([]byte{0xfe, byte(len(payload)), sequence, system, 1, id}, payload...)
	return binary.LittleEndian.AppendUint16(f, checksum(f[1:], extras[id]))
}

// TestTwoVehiclesOnOneLink checks the topics of two autopilots that send to one UDP port.
func TestTwoVehiclesOnOneLink(t *testing.T) {
	socket, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer socket.Close()
	// The address depends on the process id, so no other process uses its ports.
	id := os.Getpid()
	to := &net.UDPAddr{IP: net.IPv4(127, byte(1+id>>16), byte(id>>8), byte(id)), Port: 24550}
	source := fmt.Sprintf("udp://%s@", to)
	publisher := process.Start(t, exec.Command(filepath.Join(bin, "mavlink_publisher"), "--ros-args", "-r",
		"__ns:=/robot",
		"-p", "vehicles.drone.source:="+source, "-p", "vehicles.drone.system:=7", "-p",
		"vehicles.rover.source:="+source,
		"-p", "vehicles.rover.base_frame:=rover"))
	node, err := dds.Open(bridge.Options{Name: "listener", Domain: -1})
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Close()) }()
	sensor := bridge.SensorDataQoS()
	drone, rover := bridgetest.Listen[sensor_msgs.Imu](t, node, "/robot/drone/imu/data", sensor),
		bridgetest.Listen[sensor_msgs.Imu](t, node, "/robot/rover/imu/data", sensor)
	latched := codec.DefaultQoS()
	latched.Durability = codec.TransientLocal
	states := bridgetest.Listen[mavros_msgs.State](t, node, "/robot/rover/state", latched)
	diagnostics := bridgetest.Listen[diag.DiagnosticArray](t, node, "/diagnostics", codec.DefaultQoS())

	var sequence byte
	say := func(system, id byte, payload []byte) {
		_, err := socket.WriteTo(encode(system, id, sequence, payload), to)
		require.NoError(t, err)
	}
	level := func(yaw float32) []byte {
		return binary.LittleEndian.AppendUint32(make([]byte, 12), math.Float32bits(yaw))
	}
	speak := func() {
		for system, yaw := range map[byte]float32{7: 0, 3: math.Pi / 2} { // north, east
			say(system, heartbeat, []byte{4, 0, 0, 0, 10, 3, 0x81, 4, 3}) // a rover with ArduPilot in mode HOLD
			say(system, attitude, append(level(yaw), make([]byte, 12)...))
			say(255, heartbeat, []byte{0, 0, 0, 0, 6, 8, 0, 0, 3}) // a ground station
		}
		sequence++
	}
	var ofDrone, ofRover sensor_msgs.Imu
	var state mavros_msgs.State
	process.Await(t, func() bool {
		speak()
		var drones, rovers int
		ofDrone, drones = drone.Get()
		ofRover, rovers = rover.Get()
		state, _ = states.Get()
		return drones > 0 && rovers > 0 && state.Connected
	})
	require.Equal(t, "base_link", ofDrone.Header.FrameId)
	require.InDelta(t, math.Sqrt2/2, ofDrone.Orientation.Z, 1e-6)
	require.Equal(t, "rover", ofRover.Header.FrameId)
	require.InDelta(t, 0, ofRover.Orientation.Z, 1e-6)
	require.Equal(t, "HOLD", state.Mode)
	require.True(t, state.Armed)

	process.Await(t, func() bool {
		speak()
		all, _ := diagnostics.Get()
		levels := map[string]byte{}
		for _, s := range all.Status {
			levels[strings.TrimPrefix(s.Name, "/robot/mavlink_publisher: ")] = s.Level
		}
		link, ok := levels["link "+source]
		vehicle, known := levels["rover: heartbeat"]
		return ok && known && link == diag.DiagnosticStatus_OK && vehicle == diag.DiagnosticStatus_OK
	})
	for _, topic := range node.Topics() {
		switch topic.Name {
		case "/robot/drone/imu/data":
			require.Equal(t, codec.BestEffort, topic.Publishers[0].QoS.Reliability)
		case "/robot/drone/state":
			require.Equal(t, codec.Reliable, topic.Publishers[0].QoS.Reliability)
			require.Equal(t, codec.TransientLocal, topic.Publishers[0].QoS.Durability)
		}
	}
	publisher.Interrupt()
	require.NoError(t, socket.SetReadDeadline(time.Now().Add(50*time.Millisecond))) // packets arrive within 50 ms
	_, _, err = socket.ReadFrom(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "the publisher has sent a packet")
}
