package recordings

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/training/episode"
)

func TestWithOutlying(t *testing.T) {
	const now, hour, day = int64(1_700_000_000e9), int64(time.Hour), int64(24 * time.Hour)
	steps := func(start, step int64, n int) (times []int64) {
		for i := range n {
			times = append(times, start+int64(i)*step)
		}
		return times
	}
	for _, test := range []struct {
		name  string
		times [][]int64
		texts []string
		start int64
		count uint64
	}{
		{name: "one message", times: [][]int64{{now}}},
		{name: "sound", times: [][]int64{steps(now, 1e8, 100)}},
		{name: "simulated time from 0 on", times: [][]int64{steps(0, 1e8, 100)}},
		{name: "paused for a night", times: [][]int64{steps(now, 1e8, 100), steps(now+14*hour, 1e8, 100)}},
		{name: "paused for a night again and again", times: [][]int64{steps(now, 1e8, 10), steps(now+14*hour, 1e8, 10),
			steps(now+38*hour, 1e8, 10), steps(now+60*hour, 1e8, 10), steps(now+84*hour, 1e8, 10)}},
		{name: "a message each hour for weeks", times: [][]int64{steps(now, hour, 500)}},
		{name: "first messages at 0", times: [][]int64{{0, 0}, steps(now, 1e8, 100)}, count: 2,
			texts: []string{"the times of 2 messages are 19676 days before those of the others"}},
		{name: "the clock is set", times: [][]int64{steps(5e9, 1e8, 100), steps(now, 1e8, 100)}, start: 5e9, count: 100,
			texts: []string{"the times of 100 messages are 19676 days before"}},
		{name: "set by days", times: [][]int64{steps(now, 1e8, 100), steps(now+3*day, 1e8, 20)}, start: now + 3*day,
			count: 20, texts: []string{"the times of 20 messages are 3 days after"}},
		{name: "many early ones", times: [][]int64{steps(5e9, 1e6, 2000), steps(now, 1e6, 3000)}, start: 5e9,
			texts: []string{"the times of at least 1000 messages are 19676 days before"}},
		{name: "one far ahead", times: [][]int64{steps(now, 1e8, 100), {math.MaxInt64}}, start: math.MaxInt64, count: 1,
			texts: []string{"the times of 1 message are 87076 days after"}},
		{name: "before 1970", times: [][]int64{{math.MinInt64}, steps(now, 1e8, 100)}, start: math.MinInt64, count: 1,
			texts: []string{"the times of 1 message are 126428 days before"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &bridgetest.Recording{}
			for _, times := range test.times {
				for _, at := range times {
					r.Messages = append(r.Messages, codec.Message{Channel: &codec.Channel{Topic: "/n"}, LogTime: at})
				}
			}
			plain := &codec.Info{MessageCount: uint64(len(r.Messages)), StartTime: r.Messages[0].LogTime,
				EndTime: r.Messages[len(r.Messages)-1].LogTime}
			info, err := outlyingOf(r, plain)
			require.NoError(t, err)
			require.Len(t, info.Events, len(test.texts))
			require.Empty(t, plain.Events)
			for i, text := range test.texts {
				e := info.Events[i]
				require.Contains(t, e.Text, text)
				require.Equal(t, []any{codec.EventTimes, test.start, test.count}, []any{e.Kind, e.Time, e.Count})
			}
			plain.Metadata = map[string]string{episode.MetadataKey: "{}"}
			info, err = outlyingOf(r, plain)
			require.NoError(t, err)
			require.Empty(t, info.Events, "episodes may be of different days")
		})
	}
}
