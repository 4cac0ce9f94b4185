package generate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/rosbag"
	"tapedeck/codec/format/session"
	"tapedeck/test/samples"
)

// TestBytes checks that stand-ins by python3-rosbag and gomavlib are identical to the real files.
func TestBytes(t *testing.T) {
	for _, name := range []string{
		"bag/py_none.bag", "bag/py_lz4.bag", "bag/py_unindexed_active.bag", "mavlink/synthetic_px4_v2.tlog",
	} {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(samples.Path(t, name))
			require.NoError(t, err)
			path := filepath.Join(t.TempDir(), filepath.Base(name))
			require.NoError(t, generators[name](path))
			got, err := os.ReadFile(path)
			require.NoError(t, err)
			require.True(t, string(want) == string(got))
		})
	}
}

// TestGenerators checks that stand-ins can be read, and that repeated generation gives equal messages.
func TestGenerators(t *testing.T) {
	counts := map[string]int{
		"apollo/apollo_cpp_sensors.record": 881, "apollo/incomplete_killed.record": 459,
		"apollo/multichunk.record": 600,
		CARLALog:                   201, "carla/sr2020_DistanceToLaneCenter.log": 461,
		"bag/py_lz4.bag": 480, "bag/py_none.bag": 480, "bag/py_unindexed_active.bag": 400,
		"rosbag2/rosbags_rs/test_bag_mcap": 188, "rosbag2/rosbags_rs/test_bag_sqlite3": 188,
		"rosbag2/rosbags_rs/test_bag_mcap/test_bag_mcap.mcap": 188,
		"session/easyteleop_reference/temp":                   312,
		"session/easyteleop_reference/temp/20261121_082214":   312,
	}
	t.Setenv(samples.Variable, t.TempDir())
	for name, count := range counts {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, contents(t, Path(t, name)), contents(t, Path(t, name)))
			require.Len(t, contents(t, Path(t, name)), count)
		})
	}
}

// contents returns a description of each message of a recording.
func contents(t *testing.T, path string) (lines []string) {
	r, err := append(formats, rosbag.Format, session.Format).Open(path)
	require.NoError(t, err)
	defer r.Close()
	it, err := r.Read(codec.Query{Damaged: func(error) {}})
	require.NoError(t, err)
	defer it.Close()
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		require.NoError(t, err)
		lines = append(lines, fmt.Sprintf("%s %s %d %x", m.Channel.Topic, m.Channel.Type, m.LogTime, m.Data))
	}
}
