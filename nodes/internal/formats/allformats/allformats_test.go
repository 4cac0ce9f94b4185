package allformats

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestList(t *testing.T) {
	var names []string
	for _, f := range List() {
		names = append(names, f.Name)
	}
	require.Equal(t, []string{"carla", "hdf5", "lerobot", "mcap", "record", "bag", "rosbag2", "session", "ulog",
		"parquet", "csv", "jsonl"}, names)
}

// TestRecorderWithoutHDF5 looks at all that the recorder imports.
func TestRecorderWithoutHDF5(t *testing.T) {
	output, err := exec.Command("go", "list", "-deps", "tapedeck/nodes/recorder").Output()
	require.NoError(t, err)
	packages := strings.Fields(string(output))
	require.Contains(t, packages, "tapedeck/nodes/internal/formats")
	require.NotContains(t, packages, "tapedeck/codec/hdf5")
	require.NotContains(t, packages, "gonum.org/v1/hdf5")
}
