package recorder

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/nodes/internal/progress"
	"tapedeck/nodes/recorder/internal/selection"
)

// TestNoRecordingIsLeft checks that invalid options leave no files behind.
func TestNoRecordingIsLeft(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	for want, set := range map[string]func(*options){
		"address already in use":               func(o *options) { o.Page = listener.Addr().String() },
		"snapshot_service: topic name \"a b\"": func(o *options) { o.Snapshot, o.SnapshotService = true, "a b" },
		"snapshot_topic: topic name \"a b\"":   func(o *options) { o.Snapshot, o.SnapshotTopic = true, "a b" },
	} {
		t.Chdir(t.TempDir())
		node, err := (&bridgetest.Network{}).Open(bridge.Options{Name: "recorder"})
		require.NoError(t, err)
		o := defaultOptions()
		o.All = true
		set(&o)
		names, err := bridge.NewNames(bridge.Options{Name: "recorder"})
		require.NoError(t, err)
		chosen, err := selection.New(&o.TopicOptions, nil, names.Topic)
		require.NoError(t, err)
		_, err = newRecorder(o, chosen, node, codec.OS{}, progress.NewLine(os.Stderr))
		require.ErrorContains(t, err, want)
		left, err := os.ReadDir(".")
		require.NoError(t, err)
		require.Empty(t, left)
		require.NoError(t, node.Close())
	}
}
