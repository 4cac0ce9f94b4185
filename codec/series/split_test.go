package series

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFile(t *testing.T) {
	for name, c := range map[string]struct {
		limits SplitLimits
		times  []int64 // of messages of 10 bytes
		files  []int64 // times of the first messages of the files
	}{
		"no limit":               {SplitLimits{}, []int64{5, 500, 1}, []int64{5}},
		"messages":               {SplitLimits{Messages: 2}, []int64{5, 6, 7, 8, 9}, []int64{5, 7, 9}},
		"bytes":                  {SplitLimits{Bytes: 29}, []int64{5, 6, 7}, []int64{5, 7}},
		"one larger than a file": {SplitLimits{Bytes: 1}, []int64{5, 6}, []int64{5, 6}},
		"whole durations after the first message": {SplitLimits{Duration: 10}, []int64{5, 14, 18, 24, 25, 58, 64},
			[]int64{5, 18, 25, 58}},
		"time begins at 0":      {SplitLimits{Duration: 10}, []int64{0, 12, 19, 20}, []int64{0, 12, 20}},
		"time begins anew":      {SplitLimits{Duration: 10}, []int64{105, 116, 3, 12, 13}, []int64{105, 116, 3, 13}},
		"a little out of order": {SplitLimits{Duration: 10 * time.Nanosecond}, []int64{105, 101, 114}, []int64{105}},
	} {
		t.Run(name, func(t *testing.T) {
			var f Split
			var files []int64
			for i, at := range c.times {
				full := f.Full(&c.limits, at, 10)
				if full {
					f.Next()
				}
				if full || i == 0 {
					files = append(files, at)
				}
				f.Begin(&c.limits, at)
				f.Add(10)
			}
			require.Equal(t, c.files, files)
		})
	}
}
