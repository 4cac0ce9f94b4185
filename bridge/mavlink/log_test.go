package mavlink

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

const samples = "../../../shared/samples/mavlink/"

func TestLogOfAFlight(t *testing.T) {
	path := samples + "dronekit_flight.tlog"
	if _, err := os.Stat(path); err != nil {
		t.Skip("no samples: ", err)
	}
	link, err := Open(path, Options{})
	require.NoError(t, err)
	frames := 0
	require.NoError(t, link.Run(t.Context(), func(*Frame) { frames++ }))
	require.Equal(t, 75477, frames)
}
