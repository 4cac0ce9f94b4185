package ulog

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClock(t *testing.T) {
	const s = int64(1e9)
	for name, test := range map[string]struct {
		start           int64
		published, want []int64
	}{
		"in order":       {100, []int64{101, 102, 103}, []int64{101, 102, 103}},
		"a little late":  {100, []int64{101, 110, 105}, []int64{101, 110, 105}},
		"before the log": {100, []int64{2, 101}, []int64{100, 101}},
		"old":            {100, []int64{150, 101, 151}, []int64{150, 140, 151}},
		"one far ahead":  {100, []int64{101, 9000, 102, 101}, []int64{101, 9000, 102, 101}},
		"after a gap":    {100, []int64{101, 900, 901, 902, 903, 904, 101}, []int64{101, 900, 901, 902, 903, 904, 894}},
		"two far ahead":  {100, []int64{101, 9000, 9001, 102, 101}, []int64{101, 9000, 9001, 102, 101}},
		"falls back": {100, []int64{101, 9000, 9001, 9002, 9003, 9004, 102, 103, 104, 105, 106, 107},
			[]int64{101, 9000, 9001, 9002, 9003, 9004, 8994, 8994, 8994, 8994, 106, 107}},
		"start not known": {0, []int64{500, 501}, []int64{500, 501}},
	} {
		t.Run(name, func(t *testing.T) {
			c := clock{start: test.start * s}
			for i, at := range test.published {
				require.Equal(t, test.want[i]*s, c.observe(at*s), i)
			}
			require.Equal(t, test.want[len(test.want)-1]*s, c.now())
		})
	}
}
