package output

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	clock := func() time.Time { return time.Date(2026, 1, 31, 8, 15, 0, 0, time.UTC) }
	for base, want := range map[string]struct{ name, short string }{
		"drive":     {"1_drive_2026_01_31-08_15_00.mcap", "1_drive_2026_01_31-08_15_00.mcap"},
		"/data/a_0": {"/data/1_a_0_2026_01_31-08_15_00.mcap", "/data/1_a_0_2026_01_31-08_15_00.mcap"},
		"x/rosbag2_2026_01_30-23_59_59": {"x/1_rosbag2_2026_01_30-23_59_59_2026_01_31-08_15_00.mcap",
			"x/1_rosbag2_2026_01_31-08_15_00.mcap"},
	} {
		require.Equal(t, want.name, Names(base, ".mcap", clock)(1))
		require.Equal(t, want.short, ShortNames(base, ".mcap", clock)(1))
		require.Equal(t, base+"_1.mcap", Names(base, ".mcap", nil)(1))
		require.Equal(t, base+"_1.mcap", ShortNames(base, ".mcap", nil)(1))
	}
}
