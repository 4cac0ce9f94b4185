package convert

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/nodes/internal/formats/allformats"
)

// TestShortFirstMessage orders messages by their headers of which the first is too short, for a translation that looks
// at the first message of its topic.
func TestShortFirstMessage(t *testing.T) {
	c := channel(t, "/imu", "sensor_msgs/msg/Imu")
	whole := payload(t, &sensor_msgs.Imu{})
	in := write(t, "imu.mcap", codec.Message{Channel: c, LogTime: second, Data: whole[:6]},
		codec.Message{Channel: c, LogTime: 2 * second, Data: whole})
	o := DefaultOptions()
	o.Order, o.Encoding = "header", codec.EncodingProtobuf
	_, err := run(t, o, t.TempDir()+"/imu.record", in)
	if err != nil {
		require.ErrorContains(t, err, "translate a message of /imu [sensor_msgs/msg/Imu] at 1000000000 ns")
	}
	result, err := (&Job{Formats: allformats.List(), Inputs: []string{in}, Output: t.TempDir() + "/imu.record",
		Options: o, Damaged: func(error) {}}).Run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, result.Messages)
}
