package contract

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Simulated time that is slower than real time is no step. A clock that is set is one, even with simulated time.
func TestSlowTime(t *testing.T) {
	for set, want := range map[int64]int{0: 0, 60e9: 1} {
		var w clockWatch
		var p Pass
		for i := range int64(300) {
			now, stamp := i*1e9, i*1e9/2
			if i >= 200 {
				now += set
			}
			w.add(&p, "/imu", now, stamp)
		}
		require.Len(t, p.steps, want, "%+v", p.steps)
	}
}
