package pattern

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNumbered(t *testing.T) {
	list, err := ParseNumbered([]string{"/imu=10", "/camera/*/raw=2", "/camera/*=1", "/map"}, 5, 1)
	require.NoError(t, err)
	for topic, want := range map[string]int{
		"/imu": 10, "/imu2": 0, "/a/imu": 0, "/camera/left/raw": 2, "/camera/left/info": 1, "/camera": 0, "/map": 5,
	} {
		number, found := NumberOf(list, topic)
		require.Equal(t, want, number, topic)
		require.Equal(t, want > 0, found)
	}
	for _, text := range []string{"", "=1", "/a=", "/a=x", "/a=0", "/a=-1", "/a=1.5"} {
		_, err := ParseNumbered([]string{text}, 0, 1)
		require.ErrorContains(t, err, "not allowed", text)
	}
}

// Callers of services also give patterns.
func TestHostilePattern(t *testing.T) {
	p, err := Parse("/a*")
	require.NoError(t, err)
	require.True(t, p.Match("/a\nb"))
	for _, text := range []string{"\xff", "/a\xff*", "\xff(", "("} {
		_, err := Parse(text)
		require.ErrorContains(t, err, "neither a name nor a regular expression", text)
	}
}
