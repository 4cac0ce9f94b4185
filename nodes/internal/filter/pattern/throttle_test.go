package pattern_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/nodes/internal/filter/pattern"
)

func TestThrottle(t *testing.T) {
	const second = int64(time.Second)
	const begin = 1700000000 * second
	jitter := []int64{0, 40, -30, 10, -50, 20, 50, -10, 30, -40} // thousandths of a period
	for _, c := range []struct {
		rule string
		rate int // messages a second
		want int // messages that pass in ten seconds; one more is allowed
	}{
		{"/n=5Hz", 100, 50}, {"/n=5Hz", 10, 50}, {"/n=5hz", 5, 50}, {"/n=5Hz", 4, 40}, {"/n=5 Hz", 6, 50},
		{"/n=0.5Hz", 30, 5}, {"*=20Hz", 30, 200}, {"/n=1/10", 100, 100}, {"/n=1/1", 7, 70}, {"/n=1/3", 9, 30},
	} {
		t.Run(fmt.Sprint(c.rule, " of ", c.rate), func(t *testing.T) {
			rules, err := pattern.ParseThrottles([]string{"/m=1Hz", c.rule, "/n=1/1000"})
			require.NoError(t, err)
			limited := pattern.ThrottleOf(rules, "/n")
			period := second / int64(c.rate)
			passed := 0
			for i := range int64(10 * c.rate) {
				if limited.Passes(begin + i*period + jitter[i%10]*period/1000) {
					passed++
				}
			}
			require.GreaterOrEqual(t, passed, c.want)
			require.LessOrEqual(t, passed, c.want+1)
		})
	}
	rules, err := pattern.ParseThrottles([]string{"/n=1Hz"})
	require.NoError(t, err)
	require.Nil(t, pattern.ThrottleOf(rules, "/m"))
	limited := pattern.ThrottleOf(rules, "/n")
	for _, step := range []struct {
		stamp  int64
		passes bool
	}{
		{begin, true}, {begin + second/2, false}, {begin + second, true}, {begin + 60*second, true},
		{begin + 60*second + second/2, false},
		{begin, true}, {begin + second/2, false}, {begin + second, true}, // simulated time was reset
		{0, true}, {second / 2, false}, {second, true},
	} {
		require.Equal(t, step.passes, limited.Passes(step.stamp), step.stamp-begin)
	}
}

func TestFirstOfEveryThree(t *testing.T) {
	rules, err := pattern.ParseThrottles([]string{"/n=1/3"})
	require.NoError(t, err)
	limited := pattern.ThrottleOf(rules, "/n")
	for i := range int64(7) {
		require.Equal(t, i%3 == 0, limited.Passes(i), i)
	}
}

func TestThrottleRefuses(t *testing.T) {
	for _, text := range []string{"/n", "/n=", "/n=5", "=5Hz", "/n=0Hz", "/n=-1Hz", "/n=Hz", "/n=1e300Hz",
		"/n=1e-300Hz",
		"/n=nanHz", "/n=1/0", "/n=1/x", "/n=2/3"} {
		_, err := pattern.ParseThrottles([]string{text})
		require.ErrorContains(t, err, "want TOPIC=5Hz or TOPIC=1/10", text)
	}
}
