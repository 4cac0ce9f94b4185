package convert

import (
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/nodes/internal/formats"
)

// TestShortFirstMessage orders messages by their headers. The first message is too short for the translation, which
// looks at the first message of its topic.
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
	result, err := (&Job{Formats: formats.All(), Inputs: []string{in}, Output: t.TempDir() + "/imu.record",
		Options: o, Damaged: func(error) {}}).Run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, result.Messages)
}

// TestCompressedPayloads converts messages that were compressed one by one. A warning says so.
func TestCompressedPayloads(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	c := channel(t, "/n", "std_msgs/msg/UInt32")
	want := numbers(t, c, 3)
	packed := slices.Clone(want)
	for i := range packed {
		packed[i].Data = encoder.EncodeAll(want[i].Data, nil)
	}
	in, out := write(t, "in.mcap", packed...), t.TempDir()+"/out.mcap"
	o := DefaultOptions()
	o.Strict = true
	var warnings []string
	_, err = (&Job{Formats: formats.All(), Inputs: []string{in}, Output: out, Options: o,
		Warn: func(text string) { warnings = append(warnings, text) }}).Run(t.Context())
	require.NoError(t, err)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "messages of /n are called cdr and are compressed with zstd")
	got, _ := readAll(t, out)
	for i := range got {
		require.Equal(t, want[i].Data, got[i].Data)
	}
	require.Len(t, got, 3)
}
