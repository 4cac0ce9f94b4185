package main

import (
	"tapedeck/msgs/mavros_msgs"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
)

// radio is what an autopilot says of its remote control and of what it tells its servos. Channels may come in several messages.
type radio struct {
	whole    bool // RC_CHANNELS comes
	wide     bool // SERVO_OUTPUT_RAW has 16 channels rather than 8
	received mavros_msgs.RCIn
	sent     mavros_msgs.RCOut
}

func (v *vehicle) rcChannels(m *common.MessageRcChannels) {
	v.whole = true
	all := [...]uint16{
		m.Chan1Raw, m.Chan2Raw, m.Chan3Raw, m.Chan4Raw, m.Chan5Raw, m.Chan6Raw, m.Chan7Raw, m.Chan8Raw, m.Chan9Raw,
		m.Chan10Raw, m.Chan11Raw, m.Chan12Raw, m.Chan13Raw, m.Chan14Raw, m.Chan15Raw, m.Chan16Raw, m.Chan17Raw, m.Chan18Raw,
	}
	v.received.Channels = append(v.received.Channels[:0], all[:min(int(m.Chancount), len(all))]...)
	v.sendChannels(m.Rssi)
}

func (v *vehicle) rcChannelsRaw(m *common.MessageRcChannelsRaw) {
	if v.whole {
		return
	}
	v.received.Channels = setChannels(v.received.Channels, 8*int(m.Port),
		m.Chan1Raw, m.Chan2Raw, m.Chan3Raw, m.Chan4Raw, m.Chan5Raw, m.Chan6Raw, m.Chan7Raw, m.Chan8Raw)
	v.sendChannels(m.Rssi)
}

func (v *vehicle) sendChannels(rssi uint8) {
	v.received.Header, v.received.Rssi = v.header(""), rssi
	v.out.send(rcIn, &v.received)
}

func (v *vehicle) servoOutputRaw(m *common.MessageServoOutputRaw) {
	second := [...]uint16{m.Servo9Raw, m.Servo10Raw, m.Servo11Raw, m.Servo12Raw, m.Servo13Raw, m.Servo14Raw, m.Servo15Raw, m.Servo16Raw}
	v.wide = v.wide || second != [8]uint16{}
	width := 8
	if v.wide {
		width = 16
	}
	first := width * int(m.Port)
	v.sent.Channels = setChannels(v.sent.Channels, first,
		m.Servo1Raw, m.Servo2Raw, m.Servo3Raw, m.Servo4Raw, m.Servo5Raw, m.Servo6Raw, m.Servo7Raw, m.Servo8Raw)
	if v.wide {
		v.sent.Channels = setChannels(v.sent.Channels, first+8, second[:]...)
	}
	v.sent.Header = v.header("")
	v.out.send(rcOut, &v.sent)
}

// setChannels sets channels from one on, and makes room for them.
func setChannels(channels []uint16, first int, values ...uint16) []uint16 {
	for len(channels) < first+len(values) {
		channels = append(channels, 0)
	}
	copy(channels[first:], values)
	return channels
}
