package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/config"
)

func TestParseTime(t *testing.T) {
	midnight := time.Date(2026, 11, 22, 0, 0, 0, 0, time.Local)
	start, end := midnight.Add(-time.Hour).UnixNano(), midnight.Add(time.Hour).UnixNano()
	at := func(day, hour, minute, second, ms int) int64 {
		return time.Date(2026, 11, day, hour, minute, second, ms*1e6, time.Local).UnixNano()
	}
	for text, want := range map[string]int64{
		"0": start, "1.5": start + 1.5e9, "999999999999": 999999999999, "1700000000": 1_700_000_000e9,
		"1700000000.123456789":  1_700_000_000_123_456_789,
		"1700000000.1234567891": 1_700_000_000_123_456_789,
		"1700000000123456789":   1_700_000_000_123_456_789,
		"2026-11-21 23:30:01.2": at(21, 23, 30, 1, 200), "2026-11-21-23:30:01": at(21, 23, 30, 1, 0),
		"2026-11-21T23:30:01":    at(21, 23, 30, 1, 0),
		"2026-11-21T23:30:01.5Z": time.Date(2026, 11, 21, 23, 30, 1, 5e8, time.UTC).UnixNano(),
		"23:30":                  at(21, 23, 30, 0, 0), "23:30:01.25": at(21, 23, 30, 1, 250), "22:00": at(21, 22, 0, 0, 0),
		"00:30": at(22, 0, 30, 0, 0),
	} {
		got, err := parseTime(text, start, end)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "soon", "25:00", "1.x", "-1", "-0.5", "2026-13-01 00:00:00", "99999999999999999999",
		"9999999999999.5"} {
		_, err := parseTime(text, start, end)
		require.Error(t, err, text)
	}
}

func TestPart(t *testing.T) {
	const start, end = 1_700_000_000e9, 1_700_000_010e9
	for name, test := range map[string]struct {
		options     options
		first, last int64 // ms after start
		err         string
	}{
		"all of it":          {options{}, 0, 10_000, ""},
		"behind an offset":   {options{StartOffset: 2 * time.Second}, 2000, 10_000, ""},
		"from the end":       {options{StartOffset: -4 * time.Second, Duration: time.Second}, 6000, 7000, ""},
		"from long before":   {options{StartOffset: -time.Hour}, 0, 10_000, ""},
		"from ages before":   {options{StartOffset: math.MinInt64}, 0, 10_000, ""},
		"from end or begin":  {options{StartOffset: -4 * time.Second, Begin: "1700000008"}, 8000, 10_000, ""},
		"a duration":         {options{StartOffset: 2 * time.Second, Duration: 3 * time.Second}, 2000, 5000, ""},
		"a longer duration":  {options{Duration: time.Hour}, 0, 10_000, ""},
		"no duration":        {options{Duration: -time.Second}, 0, 10_000, ""},
		"from a time":        {options{Begin: "1700000004"}, 4000, 10_000, ""},
		"from an early time": {options{Begin: "1600000000"}, 0, 10_000, ""},
		"seconds":            {options{Begin: "7", End: "8.5"}, 7000, 8500, ""},
		"of a request":       {options{until: start + 4e9}, 0, 4000, ""},
		"a time and offset":  {options{Begin: "1700000004", StartOffset: time.Second}, 5000, 10_000, ""},
		"until":              {options{End: "1700000004.5"}, 0, 4500, ""},
		"until late":         {options{End: "1800000000"}, 0, 10_000, ""},
		"until nothing":      {options{End: "-1"}, 0, 10_000, ""},
		"whichever is first": {options{End: "1700000004", Duration: 3 * time.Second}, 0, 3000, ""},
		"behind the end": {options{StartOffset: time.Hour}, 0, 0,
			"start_offset: 1h0m0s is more than the recording lasts"},
		"behind all times":    {options{StartOffset: math.MaxInt64}, 0, 0, "is more than the recording lasts"},
		"longer than times":   {options{Duration: math.MaxInt64}, 0, 10_000, ""},
		"begin behind it":     {options{Begin: "1700000011"}, 0, 0, "begin: 2023"},
		"end before the part": {options{End: "1600000000"}, 0, 0, "end: 2020"},
		"no time":             {options{Begin: "later"}, 0, 0, `begin: "later" is no time`},
		"no end":              {options{End: "never"}, 0, 0, `end: "never" is no time`},
	} {
		t.Run(name, func(t *testing.T) {
			first, last, err := test.options.timeRange(start, end)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.first, (first-start)/1e6)
			require.Equal(t, test.last, (last-start)/1e6)
		})
	}
	_, _, err := (&options{Begin: "later"}).timeRange(start, end)
	require.ErrorIs(t, err, config.ErrUsage)
}
