package rospub

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/msgs/builtin_interfaces"
)

func TestTime(t *testing.T) {
	for ns, want := range map[int64]builtin_interfaces.Time{
		0: {}, 1_500_000_000: {Sec: 1, Nanosec: 500_000_000}, -1: {Sec: -1, Nanosec: 999_999_999}, -2e9: {Sec: -2},
		math.MaxInt64: {Sec: math.MaxInt32, Nanosec: 854_775_807},
	} {
		require.Equal(t, want, Time(ns), ns)
	}
}
