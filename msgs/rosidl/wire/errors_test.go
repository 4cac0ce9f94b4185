package wire

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInField(t *testing.T) {
	err := errors.New("too large")
	for _, test := range []struct {
		names []string // innermost first
		want  string
	}{
		{[]string{"x"}, "x: too large"},
		{[]string{"x", "position"}, "position.x: too large"},
		{[]string{"[3]", "ranges"}, "ranges[3]: too large"},
		{[]string{"x", "[3]", "points", "cloud"}, "cloud.points[3].x: too large"},
	} {
		inField := err
		for _, name := range test.names {
			inField = InField(name, inField)
		}
		require.EqualError(t, inField, test.want)
		require.ErrorIs(t, inField, err)
	}
}

func TestFinish(t *testing.T) {
	header := []byte{0, 1, 0, 0}
	padded := NewDecoder(append(header, make([]byte, MaxPadding)...))
	require.NoError(t, padded.Finish())
	longer := NewDecoder(append(header, make([]byte, MaxPadding+1)...))
	require.ErrorContains(t, longer.Finish(), "8 bytes left behind the last field")
	short := NewDecoder(header)
	short.Uint8()
	require.Equal(t, short.Err(), short.Finish())
	require.Error(t, short.Finish())
}
