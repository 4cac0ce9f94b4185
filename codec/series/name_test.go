package series_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/series"
)

func TestGaps(t *testing.T) {
	for names, want := range map[string][]string{
		"":                        nil,
		"d_0.db3 d_1.db3":         nil,
		"d_3.db3 d_4.db3":         nil, // the oldest files were deleted
		"d_2.mcap d.mcap":         nil,
		"d_0.db3 d_2.db3 d_1.db3": nil,
		"d_0.db3 e_2.db3":         nil,
		"d_9.mcap d_11.mcap":      {"file number 10 of the recording, before d_11.mcap, is missing"},
		"d_5.db3.zstd d_1.db3.zstd": {
			"files number 2 to 4 of the recording, before d_5.db3.zstd, are missing"},
	} {
		require.Equal(t, want, series.Gaps(strings.Fields(names)), names)
	}
}
