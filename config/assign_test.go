package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// assigned has options for TestAssign.
type assigned struct {
	Topics  []string      `param:"topics"`
	MaxSize Size          `param:"max_size" alias:"size"`
	After   time.Duration `param:"after"`
	Mode    string        `param:"mode" options:"fast|slow"`
	Strict  bool          `param:"strict"`
}

// TestAssign checks the options after Assign, and its errors.
func TestAssign(t *testing.T) {
	o := assigned{Topics: []string{"/old"}, Mode: "fast", After: time.Second}
	require.NoError(t, Assign(&o, nil))
	require.NoError(t, Assign(&o, []string{"topics=/a", "max-size=2KiB", "topics=/b=c", "after=1m", "strict=true"}))
	require.Equal(t, assigned{Topics: []string{"/a", "/b=c"}, MaxSize: 2048, Mode: "fast", After: time.Minute,
		Strict: true}, o)
	require.NoError(t, Assign(&o, []string{"size=7", "mode=slow"}))
	require.EqualValues(t, 7, o.MaxSize)
	before := o
	for text, want := range map[string]string{
		"mode":        `option "mode": want NAME=VALUE`,
		"speed=1":     `option "speed=1": unknown option speed`,
		"mode=quick":  "parameter mode from option mode=quick",
		"strict=what": "parameter strict",
		"after=soon":  "parameter after",
	} {
		err := Assign(&o, []string{"max_size=1", text})
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, err, ErrUsage)
		require.Equal(t, before, o)
	}
	require.ErrorContains(t, Assign(&o, []string{"mode=slow", "mode=fast"}), "option mode is given 2 times")
}
