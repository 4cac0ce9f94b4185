package formats

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

func TestConfigured(t *testing.T) {
	for _, test := range []struct {
		options Rosbag2Options
		want    string
	}{
		{Rosbag2Options{}, ""},
		{Rosbag2Options{Storage: "one", CompressionMode: "none"}, ""},
		{Rosbag2Options{Storage: "a"}, `format one has no choice of storage, and so none of "a"`},
		{Rosbag2Options{Version: 4}, "format one has no choice of version, and so none of 4"},
		{Rosbag2Options{CompressionMode: "file"}, `format one has no compression mode "file"`},
	} {
		_, err := Format{Format: codec.Format{Name: "one"}}.Configured(&Options{Rosbag2Options: test.options})
		if test.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, test.want+"; use --to rosbag2")
		}
	}
	f, err := Format{With: (*Options).rosbag2, Storages: true}.Configured(&Options{Rosbag2Options: Rosbag2Options{Storage: "sqlite3"}})
	require.NoError(t, err)
	require.Equal(t, codec.Keeps{QoS: true, Metadata: true}, f.Keeps)
}
