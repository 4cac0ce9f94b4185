package main

import (
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/nodes/internal/progress"
	"tapedeck/nodes/recorder/internal/selection"
)

// TestPortThatIsTaken expects no recording if the page cannot be served.
func TestPortThatIsTaken(t *testing.T) {
	t.Chdir(t.TempDir())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	node, err := (&bridgetest.Network{}).Open(bridge.Options{Name: "recorder"})
	require.NoError(t, err)
	defer node.Close()
	o := defaultOptions()
	o.All, o.Page = true, listener.Addr().String()
	chosen, err := selection.New(&o.TopicOptions, nil, func(name string) (string, error) { return name, nil })
	require.NoError(t, err)
	_, err = newRecorder(o, chosen, node, progress.NewLine(os.Stderr))
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, left)
}
