package interop

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/sensor_msgs"
)

// TestCarla records a message of the CARLA bridge that `ros2 topic pub` publishes. It checks that `ros2 topic echo`
// prints the played message.
func TestCarla(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.needPackage("carla_msgs")
		const topic, typeName = "/carla/ego_vehicle/vehicle_control_cmd", "carla_msgs/msg/CarlaEgoVehicleControl"
		recorder := s.ours("recorder", "-o", "carla", topic)
		s.publish(5, topic, typeName, "{throttle: 0.5, steer: -0.25, gear: 3, manual_gear_shift: true}")
		recorder.Interrupt()
		require.Len(t, messages(t, s.path("carla.record.00000"), topic), 5)
		echo := s.ros2("topic", "echo", "--no-daemon", "--once", topic, typeName)
		s.ours("player", "carla.record.00000", "--wait-for-subscribers").Wait(0)
		out := echo.Wait(0)
		for _, line := range []string{"throttle: 0.5\n", "steer: -0.25\n", "gear: 3\n", "manual_gear_shift: true\n",
			"brake: 0.0\n"} {
			require.Contains(t, out, line)
		}
	})
}

// TestLargeMessages checks that `ros2 bag record` records images and point clouds that the player plays, and that the
// recorder records images and point clouds that `ros2 bag play` plays.
func TestLargeMessages(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.needPackage("ros2bag")
		sent := map[string][]message{}
		for i := range 10 {
			fill, at := byte(i+1), epoch+int64(i)*int64(100*time.Millisecond)
			image, err := cdr.Marshal(&sensor_msgs.Image{
				Height: 1080, Width: 1920, Encoding: "rgb8", Step: 3 * 1920,
				Data: bytes.Repeat([]byte{fill}, 3*1920*1080),
			})
			require.NoError(t, err)
			points, err := cdr.Marshal(&sensor_msgs.PointCloud2{
				Height: 1, Width: 200_000, PointStep: 16, RowStep: 3_200_000,
				Data: bytes.Repeat([]byte{fill}, 3_200_000),
			})
			require.NoError(t, err)
			sent["/image"] = append(sent["/image"], message{"/image", at, image})
			sent["/points"] = append(sent["/points"], message{"/points", at, points})
		}
		writeRecording(t, s.path("image.record"), "record", "sensor_msgs/msg/Image", codec.DefaultQoS(), sent["/image"])
		writeRecording(t, s.path("points.record"), "record", "sensor_msgs/msg/PointCloud2", codec.DefaultQoS(),
			sent["/points"])

		bag := s.record("bag", []string{"/image", "/points"})
		s.ours("player", "image.record", "points.record", "--wait-for-subscribers").Wait(0)
		finish(bag)
		recorder := s.ours("recorder", "-o", "copy", "/image", "/points")
		s.play(recorder, "/points", "bag").Wait(0)
		recorder.Interrupt()
		for topic, want := range sent {
			for _, path := range []string{"bag", "copy.record.00000"} {
				got := messages(t, s.path(path), topic)
				require.Len(t, got, len(want), path)
				for i := range want {
					// DDS may pad messages
					require.True(t, bytes.HasPrefix(got[i].data, want[i].data), "%s: message %d of %s", path, i, topic)
				}
			}
		}
	})
}
