package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/nodes/internal/human"
)

func TestHuman(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 489010: "477.5 KiB",
		1<<20 - 1: "1.0 MiB", 5 << 40: "5.0 TiB", math.MaxInt64: "8388608.0 TiB"} {
		require.Equal(t, want, human.Bytes(n))
	}
	require.Equal(t, "1627031535.114943571", human.Seconds(1627031535114943571))
	require.Equal(t, "-0.000000001", human.Seconds(-1))
	require.Equal(t, "-9223372036.854775808", human.Seconds(math.MinInt64))
	require.Equal(t, "/imu", human.Printable("/imu"))
	require.Equal(t, `"/\x1b[2J"`, human.Printable("/\x1b[2J"))
	require.Equal(t, time.Duration(math.MaxInt64), span(&codec.Info{StartTime: math.MinInt64, EndTime: math.MaxInt64}))
	require.Zero(t, span(&codec.Info{StartTime: 5, EndTime: 4}))
}
