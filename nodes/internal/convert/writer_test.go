package convert

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/nodes/internal/formats"
)

// TestTopicsAreNames counts a topic with two types once.
func TestTopicsAreNames(t *testing.T) {
	a, b := channel(t, "/n", "std_msgs/msg/UInt32"), channel(t, "/n", "std_msgs/msg/Int32")
	in := write(t, "in.mcap", slices.Concat(numbers(t, a, 2),
		[]codec.Message{{Channel: b, LogTime: 1000 * second, Data: []byte{0, 1, 0, 0, 1, 0, 0, 0}}})...)
	result, err := run(t, DefaultOptions(), filepath.Join(t.TempDir(), "out.record"), in)
	require.NoError(t, err)
	require.Equal(t, 1, result.Topics)
	require.Equal(t, uint64(3), result.Messages)
}

// TestStartBehindTheEnd says why nothing is written.
func TestStartBehindTheEnd(t *testing.T) {
	in := write(t, "in.mcap", numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 3)...)
	for start, warned := range map[string]bool{"2": false, "3": true} {
		o := DefaultOptions()
		o.Start = start
		var warnings []string
		j := Job{Formats: formats.All(), Inputs: []string{in}, Output: filepath.Join(t.TempDir(), "out.mcap"), Options: o,
			Warn: func(text string) { warnings = append(warnings, text) }}
		_, err := j.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, warned, slices.Contains(warnings,
			"the recording ends before --start"), warnings)
	}
}
