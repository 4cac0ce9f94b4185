package recorder

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSystemd expects READY once, and a sign of life with each call of alive.
func TestSystemd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	var s systemd
	s.alive()
	s.alive()
	s.stopping()
	for _, want := range []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1", "STOPPING=1"} {
		buf := make([]byte, 100)
		n, err := socket.Read(buf)
		require.NoError(t, err)
		require.Equal(t, want, string(buf[:n]))
	}
}
