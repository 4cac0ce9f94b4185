package mavlink

import (
	"testing"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
	"github.com/stretchr/testify/require"
)

func TestVehicles(t *testing.T) {
	known := knownFormats(t)
	tracks := newTracker(known, StampSync)
	now := someTime
	note := func(system, component uint8, a ardupilotmega.MAV_AUTOPILOT) bool {
		now += 1e9
		h := heartbeat()
		h.Autopilot = a
		f := &Frame{System: system, Component: component, Message: h, Received: now}
		tracks.note(f, nil)
		return f.Autopilot
	}
	other := func(system, component uint8) bool {
		f := &Frame{System: system, Component: component, Message: &common.MessageSysStatus{}, Received: now}
		tracks.note(f, nil)
		return f.Autopilot
	}
	const (
		px4  = ardupilotmega.MAV_AUTOPILOT_PX4
		none = ardupilotmega.MAV_AUTOPILOT_INVALID
	)
	require.True(t, other(1, 1), "is presumed")
	require.False(t, other(1, 154))
	require.False(t, note(1, 154, none), "a gimbal")
	require.False(t, note(255, 190, none), "a ground station")
	require.False(t, note(254, 1, none), "a ground station that calls itself 1")
	require.False(t, other(254, 1))
	require.Empty(t, tracks.snapshot(now))

	require.True(t, note(1, 4, px4), "the only one so far")
	require.False(t, other(1, 1))
	require.True(t, note(1, 2, px4), "lower")
	require.False(t, note(1, 4, px4))
	require.False(t, other(1, 4))
	require.True(t, other(1, 2))
	require.True(t, note(7, 1, ardupilotmega.MAV_AUTOPILOT_ARDUPILOTMEGA))

	all := tracks.snapshot(now)
	require.Len(t, all, 2)
	require.Equal(t, address{1, 2}, address{all[0].System, all[0].Autopilot})
	require.Equal(t, px4, all[0].Firmware)
	require.Equal(t, ardupilotmega.MAV_TYPE_QUADROTOR, all[0].Type)
	require.Equal(t, now-2e9, all[0].LastHeartbeat)
	require.Equal(t, address{7, 1}, address{all[1].System, all[1].Autopilot})
	require.True(t, all[0].Connected && all[1].Connected)

	require.True(t, tracks.snapshot(now + 8e9)[0].Connected)
	require.False(t, tracks.snapshot(now + 8e9 + 1)[0].Connected)
	require.True(t, tracks.snapshot(now + 10e9)[1].Connected)
	now += 60e9
	require.False(t, tracks.snapshot(now)[0].Connected)
	note(1, 2, px4)
	require.True(t, tracks.snapshot(now)[0].Connected)
}

func TestRequestTimes(t *testing.T) {
	known := knownFormats(t)
	tracks := newTracker(known, StampSync)
	require.False(t, tracks.due(1, someTime), "nobody is there")
	beat := func(at int64) {
		tracks.note(&Frame{System: 1, Component: 1, Message: heartbeat(), Received: at}, nil)
	}
	var asked []int64
	for s := int64(0); s < 100; s++ {
		if s > 40 && s < 60 {
			continue // out of reach
		}
		beat(someTime + s*1e9)
		if tracks.due(1, someTime+s*1e9) {
			asked = append(asked, s)
		}
	}
	require.Equal(t, []int64{0, 30, 60, 90}, asked)
	require.True(t, tracks.refuse(1))
	require.False(t, tracks.refuse(1))
	require.False(t, tracks.refuse(9))
	require.Len(t, tracks.timeRequests(someTime+99e9), 1)
	require.Empty(t, tracks.timeRequests(someTime+199e9))
}
