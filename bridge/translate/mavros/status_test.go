package mavros

import (
	"math"
	"strings"
	"testing"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
	"github.com/stretchr/testify/require"

	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/rcl_interfaces"
	"tapedeck/msgs/sensor_msgs"
)

// TestFlightModes compares names of modes with mavros' names.
func TestFlightModes(t *testing.T) {
	const (
		px4   = ardupilotmega.MAV_AUTOPILOT_PX4
		ardu  = ardupilotmega.MAV_AUTOPILOT_ARDUPILOTMEGA
		quad  = ardupilotmega.MAV_TYPE_QUADROTOR
		plane = ardupilotmega.MAV_TYPE_FIXED_WING
		rover = ardupilotmega.MAV_TYPE_GROUND_ROVER
		boat  = ardupilotmega.MAV_TYPE_SURFACE_BOAT
		sub   = ardupilotmega.MAV_TYPE_SUBMARINE
		vtol  = ardupilotmega.MAV_TYPE_VTOL_TILTROTOR
	)
	for _, test := range []struct {
		firmware ardupilotmega.MAV_AUTOPILOT
		kind     ardupilotmega.MAV_TYPE
		mode     uint32
		want     string
	}{
		{px4, quad, 1 << 16, "MANUAL"}, {px4, quad, 2 << 16, "ALTCTL"}, {px4, quad, 3 << 16, "POSCTL"},
		{px4, plane, 5 << 16, "ACRO"},
		{px4, quad, 6 << 16, "OFFBOARD"}, {px4, quad, 7 << 16, "STABILIZED"}, {px4, quad, 8 << 16, "RATTITUDE"},
		{px4, quad, 4<<16 | 4<<24, "AUTO.MISSION"}, {px4, quad, 4<<16 | 3<<24, "AUTO.LOITER"},
		{px4, quad, 4<<16 | 9<<24, "AUTO.PRECLAND"},
		{px4, quad, 4<<16 | 2<<24 | 17, "AUTO.TAKEOFF"}, {px4, quad, 3<<16 | 4<<24, "POSCTL"},
		{px4, quad, 4<<16 | 99<<24, "CMODE(1661206528)"}, {px4, quad, 0, "CMODE(0)"},
		{ardu, quad, 0, "STABILIZE"}, {ardu, quad, 2, "ALT_HOLD"}, {ardu, quad, 8, "POSITION"},
		{ardu, quad, 10, "OF_LOITER"},
		{ardu, quad, 20, "GUIDED_NOGPS"},
		{ardu, quad, 12, "CMODE(12)"}, {ardu, plane, 5, "FBWA"}, {ardu, plane, 6, "FBWB"},
		{ardu, plane, 16, "INITIALISING"},
		{ardu, vtol, 19, "QLOITER"},
		{ardu, rover, 4, "HOLD"}, {ardu, boat, 15, "GUIDED"}, {ardu, rover, 16, "INITIALISING"},
		{ardu, sub, 19, "MANUAL"},
		{ardu, ardupilotmega.MAV_TYPE_ANTENNA_TRACKER, 2, "SCAN"},
		{ardu, ardupilotmega.MAV_TYPE_AIRSHIP, 2, "CMODE(2)"},
		{ardupilotmega.MAV_AUTOPILOT_GENERIC, quad, 2, "CMODE(2)"},
	} {
		m := &ardupilotmega.MessageHeartbeat{Autopilot: test.firmware, Type: test.kind, CustomMode: test.mode,
			BaseMode: ardupilotmega.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED}
		require.Equal(t, test.want, flightMode(m), "%v %v %d", test.firmware, test.kind, test.mode)
		m.BaseMode = 0x51 &^ ardupilotmega.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED
		require.Equal(t, "MODE(0x50)", flightMode(m))
	}
}

// TestState checks the state by heartbeats, and after the last heartbeat.
func TestState(t *testing.T) {
	s := newTestVehicle(t)
	for bits, want := range map[ardupilotmega.MAV_MODE_FLAG]mavros_msgs.State{
		0x80: {Connected: true, Armed: true, Mode: "MODE(0x80)", SystemStatus: 4},
		0x08: {Connected: true, Guided: true, Mode: "MODE(0x08)", SystemStatus: 4},
		0x40: {Connected: true, ManualInput: true, Mode: "MODE(0x40)", SystemStatus: 4},
	} {
		s.receive(&ardupilotmega.MessageHeartbeat{BaseMode: bits, SystemStatus: ardupilotmega.MAV_STATE_ACTIVE})
		got := publishedMessage[mavros_msgs.State](s, vehicleState, -1)
		want.Header = got.Header
		require.Equal(t, want, got)
	}
	last := s.now
	s.Tick(last + heartbeatTimeout)
	require.Len(t, s.sent[vehicleState], 3)
	for range 2 { // only the first Tick publishes the state
		s.Tick(last + heartbeatTimeout + 1)
		require.Len(t, s.sent[vehicleState], 4)
	}
	gone := publishedMessage[mavros_msgs.State](s, vehicleState, -1)
	require.Equal(t, mavros_msgs.State{Header: gone.Header}, gone)
	require.EqualValues(t, (last+heartbeatTimeout+1)/1e9, gone.Header.Stamp.Sec)
	s.receive(px4())
	s.message(vehicleState, -1, &gone)
	require.True(t, gone.Connected)
}

// TestExtendedStateAndEstimator checks that each flag of the estimator sets one field.
func TestExtendedStateAndEstimator(t *testing.T) {
	s := newTestVehicle(t)
	s.receive(&common.MessageExtendedSysState{VtolState: common.MAV_VTOL_STATE_FW,
		LandedState: common.MAV_LANDED_STATE_IN_AIR})
	extended := publishedMessage[mavros_msgs.ExtendedState](s, extendedState, 0)
	require.Equal(t, [2]uint8{mavros_msgs.ExtendedState_VTOL_STATE_FW, mavros_msgs.ExtendedState_LANDED_STATE_IN_AIR},
		[2]uint8{extended.VtolState, extended.LandedState})
	for bit := range 12 {
		s.receive(&common.MessageEstimatorStatus{Flags: 1 << bit})
		e := publishedMessage[mavros_msgs.EstimatorStatus](s, estimatorStatus, bit)
		flags := []bool{e.AttitudeStatusFlag, e.VelocityHorizStatusFlag, e.VelocityVertStatusFlag,
			e.PosHorizRelStatusFlag,
			e.PosHorizAbsStatusFlag,
			e.PosVertAbsStatusFlag, e.PosVertAglStatusFlag, e.ConstPosModeStatusFlag, e.PredPosHorizRelStatusFlag,
			e.PredPosHorizAbsStatusFlag,
			e.GpsGlitchStatusFlag, e.AccelErrorStatusFlag}
		for i, flag := range flags {
			require.Equal(t, i == bit, flag, "flag %d of bit %d", i, bit)
		}
	}
}

// TestIncompleteStatusTexts checks that incomplete texts are published when another text begins or textTimeout has
// passed.
func TestIncompleteStatusTexts(t *testing.T) {
	s := newTestVehicle(t)
	begin := &common.MessageStatustext{Severity: common.MAV_SEVERITY_ERROR, Id: 7, Text: strings.Repeat("x", 50)}
	s.receive(begin, &common.MessageStatustext{Severity: common.MAV_SEVERITY_INFO, Text: "b"}, begin)
	s.Tick(s.now + textTimeout)
	require.Len(t, s.sent[statusText], 2)
	s.Tick(s.now + textTimeout + 1)
	for i, want := range []uint8{mavros_msgs.StatusText_ERROR, mavros_msgs.StatusText_INFO,
		mavros_msgs.StatusText_ERROR} {
		m := publishedMessage[mavros_msgs.StatusText](s, statusText, i)
		require.Equal(t, want, m.Severity)
	}
}

// TestStatusTexts joins the chunks of texts.
func TestStatusTexts(t *testing.T) {
	full := strings.Repeat("x", 50)
	chunk := func(id uint16, seq uint8, text string) *common.MessageStatustext {
		return &common.MessageStatustext{Severity: common.MAV_SEVERITY_WARNING, Id: id, ChunkSeq: seq, Text: text}
	}
	for name, test := range map[string]struct {
		sent []*common.MessageStatustext
		want []string
	}{
		"short": {[]*common.MessageStatustext{chunk(0, 0, "a"), chunk(0, 0, full)}, []string{"a", full}},
		"in chunks": {[]*common.MessageStatustext{chunk(7, 0, full), chunk(7, 1, full), chunk(7, 2, "end")},
			[]string{full + full + "end"}},
		"ends with a chunk": {[]*common.MessageStatustext{chunk(7, 0, full), chunk(7, 1, "")}, []string{full}},
		"one is lost": {[]*common.MessageStatustext{chunk(7, 0, full), chunk(7, 2, "end")},
			[]string{full, "end"}},
		"the end is lost": {[]*common.MessageStatustext{chunk(7, 0, full), chunk(0, 0, "b")}, []string{full, "b"}},
		"another goes on": {[]*common.MessageStatustext{chunk(7, 0, full), chunk(8, 1, "b")}, []string{full, "b"}},
		"another begins":  {[]*common.MessageStatustext{chunk(7, 0, full), chunk(8, 0, "b")}, []string{full, "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestVehicle(t)
			for _, m := range test.sent {
				s.receive(m)
			}
			var got []string
			for i := range s.sent[statusText] {
				m := publishedMessage[mavros_msgs.StatusText](s, statusText, i)
				require.Equal(t, mavros_msgs.StatusText_WARNING, m.Severity)
				got = append(got, m.Text)
			}
			require.Equal(t, test.want, got)
			require.Len(t, s.lines, len(test.want))
		})
	}
}

// TestSystemTime checks that only plausible times are published.
func TestSystemTime(t *testing.T) {
	s := newTestVehicle(t)
	s.receive(&common.MessageSystemTime{TimeBootMs: 5}, &common.MessageSystemTime{TimeUnixUsec: 1234567890e6},
		&common.MessageSystemTime{TimeUnixUsec: 1 << 63})
	require.Empty(t, s.sent, "the autopilot does not know the time")
	s.receive(&common.MessageSystemTime{TimeUnixUsec: 1764000000123456})
	m := publishedMessage[sensor_msgs.TimeReference](s, timeReference, 0)
	require.Equal(t, builtin_interfaces.Time{Sec: 1764000000, Nanosec: 123456000}, m.TimeRef)
}

// TestTimesync checks that only replies to this computer's requests are published.
func TestTimesync(t *testing.T) {
	for name, test := range map[string]struct {
		remote, roundTrip int64 // roundTrip is the time from the request to the reply
		published         bool
	}{
		"reply":                     {5e9, 3e6, true},
		"request":                   {0, 3e6, false},
		"in another's clock":        {5e9, 1e18, false},
		"in another's clock, later": {5e9, -1e9, false},
		"no time":                   {-1, 3e6, false},
	} {
		s := newTestVehicle(t)
		s.receive(&common.MessageTimesync{Tc1: test.remote, Ts1: logStart + 1e6 - test.roundTrip})
		require.Equal(t, test.published, len(s.sent[timesyncStatus]) == 1, name)
	}
}

// TestRemoteControl checks that RC_CHANNELS replaces RC_CHANNELS_RAW.
func TestRemoteControl(t *testing.T) {
	s := newTestVehicle(t)
	requireChannels := func(rssi uint8, want ...uint16) {
		t.Helper()
		m := publishedMessage[mavros_msgs.RCIn](s, rcIn, -1)
		require.Equal(t, want, m.Channels)
		require.Equal(t, rssi, m.Rssi)
	}
	raw := &common.MessageRcChannelsRaw{Chan1Raw: 1, Chan2Raw: 2, Chan3Raw: 3, Chan4Raw: 4, Chan5Raw: 5, Chan6Raw: 6,
		Chan7Raw: 7, Chan8Raw: 8, Rssi: 9}
	s.receive(raw)
	requireChannels(9, 1, 2, 3, 4, 5, 6, 7, 8)
	s.receive(&common.MessageRcChannelsRaw{Port: 1, Chan1Raw: 11, Chan8Raw: 18, Rssi: 10})
	requireChannels(10, 1, 2, 3, 4, 5, 6, 7, 8, 11, 0, 0, 0, 0, 0, 0, 18)
	s.receive(&common.MessageRcChannels{Chancount: 3, Chan1Raw: 21, Chan2Raw: 22, Chan3Raw: 23, Rssi: 255}, raw)
	requireChannels(255, 21, 22, 23)
	s.receive(&common.MessageRcChannels{Chancount: 200, Chan18Raw: 5})
	requireChannels(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5)
	require.Len(t, s.sent[rcIn], 4)
}

// TestServos checks the number of outputs of a port by the version of MAVLink.
func TestServos(t *testing.T) {
	s := newTestVehicle(t)
	requireChannels := func(want ...uint16) {
		t.Helper()
		m := publishedMessage[mavros_msgs.RCOut](s, rcOut, -1)
		require.Equal(t, want, m.Channels)
	}
	s.receive(&common.MessageServoOutputRaw{Servo1Raw: 1, Servo8Raw: 8})
	requireChannels(1, 0, 0, 0, 0, 0, 0, 8)
	s.receive(&common.MessageServoOutputRaw{Port: 1, Servo1Raw: 9})
	requireChannels(1, 0, 0, 0, 0, 0, 0, 8, 9, 0, 0, 0, 0, 0, 0, 0)
	s = newTestVehicle(t)
	s.v2 = true
	s.receive(&common.MessageServoOutputRaw{Servo1Raw: 1, Servo8Raw: 8})
	requireChannels(1, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0)
	s.receive(&common.MessageServoOutputRaw{Servo1Raw: 1, Servo8Raw: 8, Servo9Raw: 10, Servo16Raw: 16})
	requireChannels(1, 0, 0, 0, 0, 0, 0, 8, 10, 0, 0, 0, 0, 0, 0, 16)
	s.receive(&common.MessageServoOutputRaw{Port: 255, Servo1Raw: 2})
	m := publishedMessage[mavros_msgs.RCOut](s, rcOut, -1)
	require.Len(t, m.Channels, 256*16)
	require.EqualValues(t, 2, m.Channels[255*16])
}

// TestParameters checks how autopilots encode integers.
func TestParameters(t *testing.T) {
	const px4, ardu = ardupilotmega.MAV_AUTOPILOT_PX4, ardupilotmega.MAV_AUTOPILOT_ARDUPILOTMEGA
	for _, test := range []struct {
		firmware ardupilotmega.MAV_AUTOPILOT
		kind     common.MAV_PARAM_TYPE
		value    float32
		want     any
	}{
		{px4, common.MAV_PARAM_TYPE_REAL32, 1.5, 1.5},
		{px4, common.MAV_PARAM_TYPE_INT32, math.Float32frombits(0xffff_fffe), int64(-2)},
		{px4, common.MAV_PARAM_TYPE_UINT32, math.Float32frombits(0xffff_fffe), int64(0xffff_fffe)},
		{px4, common.MAV_PARAM_TYPE_INT16, math.Float32frombits(0xffff), int64(-1)},
		{px4, common.MAV_PARAM_TYPE_UINT16, math.Float32frombits(0xffff), int64(0xffff)},
		{px4, common.MAV_PARAM_TYPE_INT8, math.Float32frombits(0xff), int64(-1)},
		{px4, common.MAV_PARAM_TYPE_UINT8, math.Float32frombits(0xff), int64(255)},
		{ardu, common.MAV_PARAM_TYPE_INT8, -3, int64(-3)},
		{ardu, common.MAV_PARAM_TYPE_INT32, 16_000_000, int64(16_000_000)},
		{ardu, common.MAV_PARAM_TYPE_INT32, float32(math.NaN()), int64(0)},
		{ardu, common.MAV_PARAM_TYPE_INT32, float32(math.Inf(-1)), int64(math.MinInt64)},
		{ardu, common.MAV_PARAM_TYPE_REAL32, float32(math.Inf(1)), math.Inf(1)},
	} {
		s := newTestVehicle(t)
		s.receive(&ardupilotmega.MessageHeartbeat{Autopilot: test.firmware}, &common.MessageParamValue{ParamId: "A_B",
			ParamValue: test.value, ParamType: test.kind, ParamIndex: 3, ParamCount: 900})
		p := publishedMessage[mavros_msgs.ParamEvent](s, paramEvent, 0)
		if want, ok := test.want.(float64); ok {
			require.Equal(t, rcl_interfaces.ParameterType_PARAMETER_DOUBLE, p.Value.Type)
			require.Equal(t, want, p.Value.DoubleValue)
		} else {
			require.Equal(t, rcl_interfaces.ParameterType_PARAMETER_INTEGER, p.Value.Type)
			require.Equal(t, test.want, p.Value.IntegerValue)
		}
		require.Equal(t, "A_B", p.ParamId)
		require.Equal(t, [2]uint16{3, 900}, [2]uint16{p.ParamIndex, p.ParamCount})
	}
}

// TestParametersBeforeTheFirstHeartbeat checks that whole numbers count as numbers while the autopilot is unknown.
func TestParametersBeforeTheFirstHeartbeat(t *testing.T) {
	for value, want := range map[float32]int64{20: 20, 0: 0, math.Float32frombits(20): 20} {
		s := newTestVehicle(t)
		s.receive(&common.MessageParamValue{ParamId: "A_B", ParamValue: value, ParamType: common.MAV_PARAM_TYPE_INT8})
		require.Equal(t, want, publishedMessage[mavros_msgs.ParamEvent](s, paramEvent, 0).Value.IntegerValue)
	}
}
