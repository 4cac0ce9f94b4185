package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/sensor_msgs"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
)

func TestSystemTime(t *testing.T) {
	s := newStage(t)
	s.say(&common.MessageSystemTime{TimeBootMs: 5}, &common.MessageSystemTime{TimeUnixUsec: 1234567890e6},
		&common.MessageSystemTime{TimeUnixUsec: 1 << 63})
	require.Empty(t, s.heard, "the autopilot does not know the time")
	s.say(&common.MessageSystemTime{TimeUnixUsec: 1764000000123456})
	var m sensor_msgs.TimeReference
	s.hear(timeReference, 0, &m)
	require.Equal(t, builtin_interfaces.Time{Sec: 1764000000, Nanosec: 123456000}, m.TimeRef)
}

func TestTimesync(t *testing.T) {
	for name, test := range map[string]struct {
		remote, asked int64 // asked is so long before the reply comes
		published     bool
	}{
		"reply":                     {5e9, 3e6, true},
		"request":                   {0, 3e6, false},
		"in another's clock":        {5e9, 1e18, false},
		"in another's clock, later": {5e9, -1e9, false},
		"no time":                   {-1, 3e6, false},
	} {
		s := newStage(t)
		s.say(&common.MessageTimesync{Tc1: test.remote, Ts1: began + 1e6 - test.asked})
		require.Equal(t, test.published, len(s.heard[timesyncStatus]) == 1, name)
	}
}
