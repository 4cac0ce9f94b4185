package mavros

import (
	"math"
	"strings"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"

	"tapedeck/bridge"
	"tapedeck/codec/encoding/number"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/rcl_interfaces"
	"tapedeck/msgs/sensor_msgs"
)

// heartbeatTimeout is the time in ns without a heartbeat after which a vehicle counts as disconnected.
const heartbeatTimeout = 10e9

// textTimeout is the longest time in ns to wait for the rest of a text.
const textTimeout = 2e9

// vehicleStatus is the last state that the autopilot sent.
type vehicleStatus struct {
	firmware ardupilotmega.MAV_AUTOPILOT // of the last heartbeat
	kind     ardupilotmega.MAV_TYPE      // of the last heartbeat
	// heartbeatAt is the reception of the last heartbeat, in ns since the Unix epoch.
	heartbeatAt int64

	// Messages. Each publication overwrites them.
	state     mavros_msgs.State
	extended  mavros_msgs.ExtendedState
	estimator mavros_msgs.EstimatorStatus
	text      mavros_msgs.StatusText
	parameter mavros_msgs.ParamEvent

	pending pendingText
}

// pendingText is the beginning of a text that is sent in several messages.
type pendingText struct {
	id       uint16 // 0: no text is pending
	next     uint8  // number of the next chunk
	severity common.MAV_SEVERITY
	at       int64 // reception of the last chunk, in ns since the Unix epoch
	text     strings.Builder
}

// heartbeatFrom publishes the state in a heartbeat.
func (v *Vehicle) heartbeatFrom(m *ardupilotmega.MessageHeartbeat) {
	v.firmware, v.kind, v.heartbeatAt = m.Autopilot, m.Type, v.now
	v.state = mavros_msgs.State{
		Header: v.header(""), Connected: true,
		Armed:        m.BaseMode&ardupilotmega.MAV_MODE_FLAG_SAFETY_ARMED != 0,
		Guided:       m.BaseMode&ardupilotmega.MAV_MODE_FLAG_GUIDED_ENABLED != 0,
		ManualInput:  m.BaseMode&ardupilotmega.MAV_MODE_FLAG_MANUAL_INPUT_ENABLED != 0,
		Mode:         flightMode(m),
		SystemStatus: uint8(m.SystemStatus),
	}
	v.out.Send(vehicleState, &v.state)
}

// statustext publishes a text when it is complete. It publishes an incomplete text when another text begins or a chunk
// is missing.
func (v *Vehicle) statustext(m *common.MessageStatustext) {
	const full = 50 // characters in a message; a shorter message ends the text
	p := &v.pending
	if p.id != 0 && (m.Id != p.id || m.ChunkSeq != p.next) {
		v.sendText()
	}
	p.text.WriteString(m.Text)
	p.id, p.next, p.severity, p.at = m.Id, m.ChunkSeq+1, m.Severity, v.now
	if m.Id == 0 || len(m.Text) < full || p.next == 0 { // p.next is 0 after the last of 256 chunks
		v.sendText()
	}
}

// sendText publishes and logs the pending text.
func (v *Vehicle) sendText() {
	severity := v.pending.severity
	v.text = mavros_msgs.StatusText{Header: v.header(""), Severity: uint8(severity), Text: v.pending.text.String()}
	v.pending = pendingText{}
	v.out.Send(statusText, &v.text)
	level := bridge.Info
	switch {
	case severity <= common.MAV_SEVERITY_ERROR:
		level = bridge.Error
	case severity <= common.MAV_SEVERITY_NOTICE:
		level = bridge.Warn
	case severity == common.MAV_SEVERITY_DEBUG:
		level = bridge.Debug
	}
	v.out.Log(level, "autopilot: %s", v.text.Text)
}

// paramValue publishes a parameter. ArduPilot sends an integer as a number, other autopilots as the bits of a float.
// Before the first heartbeat names the autopilot, a whole number counts as a number, because the bits of a small
// integer would be a tiny fraction.
func (v *Vehicle) paramValue(m *common.MessageParamValue) {
	p := &v.parameter
	*p = mavros_msgs.ParamEvent{Header: v.header(""), ParamId: m.ParamId, ParamIndex: m.ParamIndex,
		ParamCount: m.ParamCount}
	p.Value.Type = rcl_interfaces.ParameterType_PARAMETER_INTEGER
	bits := math.Float32bits(m.ParamValue)
	switch m.ParamType {
	case common.MAV_PARAM_TYPE_INT8:
		p.Value.IntegerValue = int64(int8(bits))
	case common.MAV_PARAM_TYPE_UINT8:
		p.Value.IntegerValue = int64(uint8(bits))
	case common.MAV_PARAM_TYPE_INT16:
		p.Value.IntegerValue = int64(int16(bits))
	case common.MAV_PARAM_TYPE_UINT16:
		p.Value.IntegerValue = int64(uint16(bits))
	case common.MAV_PARAM_TYPE_INT32:
		p.Value.IntegerValue = int64(int32(bits))
	case common.MAV_PARAM_TYPE_UINT32:
		p.Value.IntegerValue = int64(bits)
	default:
		p.Value.Type = rcl_interfaces.ParameterType_PARAMETER_DOUBLE
		p.Value.DoubleValue = float64(m.ParamValue)
	}
	numbers := v.firmware == ardupilotmega.MAV_AUTOPILOT_ARDUPILOTMEGA ||
		v.heartbeatAt == 0 && float64(m.ParamValue) == math.Trunc(float64(m.ParamValue))
	if numbers && p.Value.Type == rcl_interfaces.ParameterType_PARAMETER_INTEGER {
		p.Value.IntegerValue = number.Int64(float64(m.ParamValue))
	}
	v.out.Send(paramEvent, p)
}

const (
	earliestTime = 1234567890 * 1e6 // µs since the Unix epoch; an autopilot that sends less does not know the time
	latestTime   = 1 << 31 * 1e6    // µs since the Unix epoch; the range of builtin_interfaces/Time ends here
	maxRoundTrip = 10e9             // ns; a TIMESYNC reply that took longer answers another computer
)

// clockState holds the messages about the autopilot's clock. Each publication overwrites these messages.
type clockState struct {
	reference sensor_msgs.TimeReference
	sync      mavros_msgs.TimesyncStatus
}

// systemTime publishes the autopilot's time, if the autopilot knows the time.
func (v *Vehicle) systemTime(m *common.MessageSystemTime) {
	if m.TimeUnixUsec <= earliestTime || m.TimeUnixUsec >= latestTime {
		return
	}
	v.reference.Header, v.reference.Source = v.header(""), "fcu"
	v.reference.TimeRef = builtin_interfaces.TimeAt(int64(m.TimeUnixUsec) * 1e3)
	v.out.Send(timeReference, &v.reference)
}

// timesyncReply publishes the result of a TIMESYNC exchange.
func (v *Vehicle) timesyncReply(m *common.MessageTimesync) {
	trip := v.now - m.Ts1
	if m.Tc1 <= 0 || trip < 0 || trip > maxRoundTrip {
		return
	}
	v.sync = mavros_msgs.TimesyncStatus{
		Header: v.header(""), RemoteTimestampNs: uint64(m.Tc1), ObservedOffsetNs: m.Ts1 + trip/2 - m.Tc1,
		EstimatedOffsetNs: v.clock().Offset, RoundTripTimeMs: float32(float64(trip) / 1e6),
	}
	v.out.Send(timesyncStatus, &v.sync)
}

// radioState holds the channels of remote control and servos. The autopilot may send them in several messages.
type radioState struct {
	rcChannelsAt int64 // reception of the last RC_CHANNELS, in ns since the Unix epoch; 0: never
	rcIn         mavros_msgs.RCIn
	rcOut        mavros_msgs.RCOut
}

// rcChannels publishes the channels of the remote control.
func (v *Vehicle) rcChannels(m *common.MessageRcChannels) {
	v.rcChannelsAt = v.now
	channels := [...]uint16{
		m.Chan1Raw, m.Chan2Raw, m.Chan3Raw, m.Chan4Raw, m.Chan5Raw, m.Chan6Raw, m.Chan7Raw, m.Chan8Raw, m.Chan9Raw,
		m.Chan10Raw, m.Chan11Raw, m.Chan12Raw, m.Chan13Raw, m.Chan14Raw, m.Chan15Raw, m.Chan16Raw, m.Chan17Raw,
		m.Chan18Raw,
	}
	v.rcIn.Channels = append(v.rcIn.Channels[:0], channels[:min(int(m.Chancount), len(channels))]...)
	v.sendChannels(m.Rssi)
}

// rcChannelsRaw publishes the channels of a port, unless RC_CHANNELS was received recently.
func (v *Vehicle) rcChannelsRaw(m *common.MessageRcChannelsRaw) {
	if v.isRecent(v.rcChannelsAt) {
		return
	}
	if v.rcChannelsAt != 0 { // RC_CHANNELS stopped
		v.rcChannelsAt, v.rcIn.Channels = 0, v.rcIn.Channels[:0]
	}
	v.rcIn.Channels = setChannels(v.rcIn.Channels, 8*int(m.Port),
		m.Chan1Raw, m.Chan2Raw, m.Chan3Raw, m.Chan4Raw, m.Chan5Raw, m.Chan6Raw, m.Chan7Raw, m.Chan8Raw)
	v.sendChannels(m.Rssi)
}

func (v *Vehicle) sendChannels(rssi uint8) {
	v.rcIn.Header, v.rcIn.Rssi = v.header(""), rssi
	v.out.Send(rcIn, &v.rcIn)
}

// servoOutputRaw publishes the outputs of a port. A port has 8 outputs in MAVLink 1, and 16 in MAVLink 2.
func (v *Vehicle) servoOutputRaw(m *common.MessageServoOutputRaw, v2 bool) {
	outputs := [...]uint16{
		m.Servo1Raw, m.Servo2Raw, m.Servo3Raw, m.Servo4Raw, m.Servo5Raw, m.Servo6Raw, m.Servo7Raw, m.Servo8Raw,
		m.Servo9Raw, m.Servo10Raw, m.Servo11Raw, m.Servo12Raw, m.Servo13Raw, m.Servo14Raw, m.Servo15Raw, m.Servo16Raw,
	}
	width := 8
	if v2 {
		width = 16
	}
	v.rcOut.Channels = setChannels(v.rcOut.Channels, width*int(m.Port), outputs[:width]...)
	v.rcOut.Header = v.header("")
	v.out.Send(rcOut, &v.rcOut)
}

// setChannels sets the channels from index first on, and grows the slice as needed.
func setChannels(channels []uint16, first int, values ...uint16) []uint16 {
	for len(channels) < first+len(values) {
		channels = append(channels, 0)
	}
	copy(channels[first:], values)
	return channels
}
