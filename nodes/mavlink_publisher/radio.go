package main

import (
	"tapedeck/msgs/mavros_msgs"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
)

// radio is what an autopilot says of its remote control and of what it tells its servos. Channels may come in several
// messages.
type radio struct {
	whole    int64 // when RC_CHANNELS came last, in ns since the Unix epoch
	received mavros_msgs.RCIn
	sent     mavros_msgs.RCOut
}

func (v *vehicle) rcChannels(m *common.MessageRcChannels) {
	v.whole = v.now
	all := [...]uint16{
		m.Chan1Raw, m.Chan2Raw, m.Chan3Raw, m.Chan4Raw, m.Chan5Raw, m.Chan6Raw, m.Chan7Raw, m.Chan8Raw, m.Chan9Raw,
		m.Chan10Raw, m.Chan11Raw, m.Chan12Raw, m.Chan13Raw, m.Chan14Raw, m.Chan15Raw, m.Chan16Raw, m.Chan17Raw, m.Chan18Raw,
	}
	v.received.Channels = append(v.received.Channels[:0], all[:min(int(m.Chancount), len(all))]...)
	v.sendChannels(m.Rssi)
}

func (v *vehicle) rcChannelsRaw(m *common.MessageRcChannelsRaw) {
	if v.comes(v.whole) {
		return
	}
	if v.whole != 0 { // it does no longer
		v.whole, v.received.Channels = 0, v.received.Channels[:0]
	}
	v.received.Channels = setChannels(v.received.Channels, 8*int(m.Port),
		m.Chan1Raw, m.Chan2Raw, m.Chan3Raw, m.Chan4Raw, m.Chan5Raw, m.Chan6Raw, m.Chan7Raw, m.Chan8Raw)
	v.sendChannels(m.Rssi)
}

func (v *vehicle) sendChannels(rssi uint8) {
	v.received.Header, v.received.Rssi = v.header(""), rssi
	v.out.send(rcIn, &v.received)
}

// servoOutputRaw takes a port of 8 channels, or 16 in MAVLink 2.
func (v *vehicle) servoOutputRaw(m *common.MessageServoOutputRaw, v2 bool) {
	all := [...]uint16{
		m.Servo1Raw, m.Servo2Raw, m.Servo3Raw, m.Servo4Raw, m.Servo5Raw, m.Servo6Raw, m.Servo7Raw, m.Servo8Raw,
		m.Servo9Raw, m.Servo10Raw, m.Servo11Raw, m.Servo12Raw, m.Servo13Raw, m.Servo14Raw, m.Servo15Raw, m.Servo16Raw,
	}
	width := 8
	if v2 {
		width = 16
	}
	v.sent.Channels = setChannels(v.sent.Channels, width*int(m.Port), all[:width]...)
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
