package generate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/test/samples"
)

// Stand-ins for what python3-rosbag and gomavlib have written have the very same bytes.
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
