package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/msgs/mavros_msgs"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
)

func TestRemoteControl(t *testing.T) {
	s := newStage(t)
	heard := func(rssi uint8, want ...uint16) {
		t.Helper()
		var m mavros_msgs.RCIn
		s.hear(rcIn, -1, &m)
		require.Equal(t, want, m.Channels)
		require.Equal(t, rssi, m.Rssi)
	}
	raw := &common.MessageRcChannelsRaw{Chan1Raw: 1, Chan2Raw: 2, Chan3Raw: 3, Chan4Raw: 4, Chan5Raw: 5, Chan6Raw: 6,
		Chan7Raw: 7, Chan8Raw: 8, Rssi: 9}
	s.say(raw)
	heard(9, 1, 2, 3, 4, 5, 6, 7, 8)
	s.say(&common.MessageRcChannelsRaw{Port: 1, Chan1Raw: 11, Chan8Raw: 18, Rssi: 10})
	heard(10, 1, 2, 3, 4, 5, 6, 7, 8, 11, 0, 0, 0, 0, 0, 0, 18)
	s.say(&common.MessageRcChannels{Chancount: 3, Chan1Raw: 21, Chan2Raw: 22, Chan3Raw: 23, Rssi: 255}, raw)
	heard(255, 21, 22, 23)
	s.say(&common.MessageRcChannels{Chancount: 200, Chan18Raw: 5})
	heard(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5)
	require.Len(t, s.heard[rcIn], 4)
}

func TestServos(t *testing.T) {
	s := newStage(t)
	heard := func(want ...uint16) {
		t.Helper()
		var m mavros_msgs.RCOut
		s.hear(rcOut, -1, &m)
		require.Equal(t, want, m.Channels)
	}
	s.say(&common.MessageServoOutputRaw{Servo1Raw: 1, Servo8Raw: 8})
	heard(1, 0, 0, 0, 0, 0, 0, 8)
	s.say(&common.MessageServoOutputRaw{Port: 1, Servo1Raw: 9})
	heard(1, 0, 0, 0, 0, 0, 0, 8, 9, 0, 0, 0, 0, 0, 0, 0)
	s = newStage(t)
	s.v2 = true
	s.say(&common.MessageServoOutputRaw{Servo1Raw: 1, Servo8Raw: 8})
	heard(1, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0)
	s.say(&common.MessageServoOutputRaw{Servo1Raw: 1, Servo8Raw: 8, Servo9Raw: 10, Servo16Raw: 16})
	heard(1, 0, 0, 0, 0, 0, 0, 8, 10, 0, 0, 0, 0, 0, 0, 16)
	s.say(&common.MessageServoOutputRaw{Port: 255, Servo1Raw: 2})
	var m mavros_msgs.RCOut
	s.hear(rcOut, -1, &m)
	require.Len(t, m.Channels, 256*16)
	require.EqualValues(t, 2, m.Channels[255*16])
}
