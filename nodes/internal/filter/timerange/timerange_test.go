package timerange

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/config"
)

func TestParse(t *testing.T) {
	midnight := time.Date(2026, 11, 22, 0, 0, 0, 0, time.Local)
	first, last := midnight.Add(-time.Hour).UnixNano(), midnight.Add(time.Hour).UnixNano()
	at := func(day, hour, minute, second, ms int) int64 {
		return time.Date(2026, 11, day, hour, minute, second, ms*1e6, time.Local).UnixNano()
	}
	for text, want := range map[string]int64{
		"0": first, "1.5": first + 1.5e9, "0.000000001": first + 1, "999999999999": 999999999999,
		"1700000000": 1_700_000_000e9, "100000000000": 100e9,
		"1m30s": first + 90e9, "20ms": first + 20e6, "2.0000000001ms": first + 2e6, "2562047h": math.MaxInt64,
		"1700000000.123456789":  1_700_000_000_123_456_789,
		"1700000000.1234567891": 1_700_000_000_123_456_789,
		"1700000000123456789":   1_700_000_000_123_456_789,
		"2026-11-21 23:30:01.2": at(21, 23, 30, 1, 200), "2026-11-21-23:30:01": at(21, 23, 30, 1, 0),
		"2026-11-21 23:30":               at(21, 23, 30, 0, 0),
		"2026-11-21T23:30:01":            at(21, 23, 30, 1, 0),
		"2026-11-21T23:30:01.5Z":         time.Date(2026, 11, 21, 23, 30, 1, 5e8, time.UTC).UnixNano(),
		"2026-11-21T23:30:01+02:00":      time.Date(2026, 11, 21, 21, 30, 1, 0, time.UTC).UnixNano(),
		"2026-11-22":                     midnight.UnixNano(),
		"2262-04-11T23:47:16.854775807Z": math.MaxInt64,
		"23:30":                          at(21, 23, 30, 0, 0), "23:30:01.25": at(21, 23, 30, 1, 250),
		"@5": 5e9, "@1.5": 15e8, "@1.6e9": 1_600_000_000e9, "@5000000000ns": 5e9, "@0": 0,
		"22:00": at(21, 22, 0, 0, 0), "00:30": at(22, 0, 30, 0, 0),
	} {
		got, err := Parse(text, first, last)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "soon", "25:00", "1.x", "-1", "-0.5", "-5s", "1e9", "1/2", "@",
		"@-1", "@1e99", "@1.x", "@99999999999", "@1.5ns", "@NaN", "NaN",
		"2026-13-01 00:00:00", "99999999999999999999", "9999999999999.5", "2262-04-11T23:47:16.854775808Z",
		"9999-01-01", "1.123456789x"} {
		_, err := Parse(text, first, last)
		require.Error(t, err, text)
	}
}

func TestSelect(t *testing.T) {
	const first, last = 1_700_000_000e9, 1_700_000_010e9
	const ms = 1e6
	for name, test := range map[string]struct {
		Range
		start, end int64 // ns after first; end 0: no end
		outside    bool
		err        string
	}{
		"all of it":          {},
		"behind an offset":   {Range: Range{StartOffset: 2 * time.Second}, start: 2000 * ms},
		"from the end":       {Range: Range{StartOffset: -4e9, Duration: 1e9}, start: 6000 * ms, end: 7000 * ms},
		"from long before":   {Range: Range{StartOffset: -time.Hour}, outside: true},
		"from ages before":   {Range: Range{StartOffset: math.MinInt64}, outside: true},
		"from end or begin":  {Range: Range{StartOffset: -4 * time.Second, Begin: "8"}, start: 8000 * ms},
		"from begin or end":  {Range: Range{StartOffset: -4 * time.Second, Begin: "1"}, start: 6000 * ms},
		"a duration":         {Range: Range{StartOffset: 2e9, Duration: 3e9}, start: 2000 * ms, end: 5000 * ms},
		"a longer duration":  {Range: Range{Duration: time.Hour}, end: 3600e9, outside: true},
		"longer than times":  {Range: Range{Duration: math.MaxInt64}, end: math.MaxInt64 - first, outside: true},
		"no duration":        {Range: Range{Duration: -time.Second}},
		"from a time":        {Range: Range{Begin: "1700000004"}, start: 4000 * ms},
		"from an early time": {Range: Range{Begin: "1600000000"}, outside: true},
		"seconds":            {Range: Range{Begin: "7", End: "8.5"}, start: 7000 * ms, end: 8500*ms + 1},
		"one message":        {Range: Range{Begin: "7", End: "7"}, start: 7000 * ms, end: 7000*ms + 1},
		"all messages":       {Range: Range{End: "10"}, end: 10000*ms + 1},
		"a time and offset":  {Range: Range{Begin: "1700000004", StartOffset: time.Second}, start: 5000 * ms},
		"until late":         {Range: Range{End: "1700000011"}, end: 11000*ms + 1, outside: true},
		"until nothing":      {Range: Range{End: "-1"}},
		"no last nanosecond": {Range: Range{End: "-1ns"}},
		"whichever is first": {Range: Range{End: "4", Duration: 3e9}, end: 3000 * ms},
		"and the other":      {Range: Range{End: "2", Duration: 3e9}, end: 2000*ms + 1},
		"behind the end": {Range: Range{StartOffset: time.Hour},
			err: "--start-offset 1h0m0s is beyond the end of the recording, which lasts 10.000000000 s, from 2023-11-"},
		"behind all times":    {Range: Range{StartOffset: math.MaxInt64}, err: "is beyond the end of the recording"},
		"begin behind it":     {Range: Range{Begin: "11"}, err: "--begin 11 is after the end of the recording"},
		"end before it":       {Range: Range{End: "1600000000"}, err: "--end 1600000000 is before the start of"},
		"end before the part": {Range: Range{Begin: "3", End: "2"}, err: "--end 2 is before the beginning at 2023-11-"},
		"no time":             {Range: Range{Begin: "later"}, err: `--begin "later" is no time`},
		"no end":              {Range: Range{End: "never"}, err: `--end "never" is no time`},
		"before the end":      {Range: Range{End: "-2"}, err: `--end "-2" is no time`},
	} {
		t.Run(name, func(t *testing.T) {
			start, end, outside, err := test.Select(first, last)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.start, start-first)
			if test.end != 0 {
				end -= first
			}
			require.Equal(t, test.end, end)
			require.Equal(t, test.outside, outside != "", outside)
		})
	}
	_, _, outside, err := (&Range{Begin: "1699999990", End: "1700000003"}).Select(first, last)
	require.NoError(t, err)
	require.Equal(t, "the selected time, from "+Text(first-10e9)+" to "+Text(first+3e9)+", is partly outside of the "+
		"recording, from "+Text(first)+" to "+Text(last), outside)
	for _, r := range []Range{{Begin: "later"}, {Begin: "3", End: "2"}} {
		_, _, _, err := r.Select(first, last)
		require.ErrorIs(t, err, config.ErrUsage)
	}
}
