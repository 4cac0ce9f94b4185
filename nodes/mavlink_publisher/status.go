package main

import (
	"strings"

	"tapedeck/bridge"
	"tapedeck/msgs/mavros_msgs"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
)

// silence is for how long no heartbeat came when a vehicle is no longer connected, in ns.
const silence = 10e9

// patience is how long the rest of a text is waited for, in ns.
const patience = 2e9

// status is what an autopilot says of how it is.
type status struct {
	firmware  ardupilotmega.MAV_AUTOPILOT // of the last heartbeat
	kind      ardupilotmega.MAV_TYPE      // of the last heartbeat
	heartbeat int64                       // when the last one came, in ns since the Unix epoch

	state     mavros_msgs.State
	extended  mavros_msgs.ExtendedState
	estimator mavros_msgs.EstimatorStatus
	text      mavros_msgs.StatusText
	pending   sentence
}

// sentence is the beginning of a text that comes in several messages.
type sentence struct {
	id       uint16 // 0: none
	next     uint8
	severity common.MAV_SEVERITY
	at       int64 // when its last part came, in ns since the Unix epoch
	text     strings.Builder
}

func (v *vehicle) heartbeatFrom(m *ardupilotmega.MessageHeartbeat) {
	v.firmware, v.kind, v.heartbeat = m.Autopilot, m.Type, v.now
	v.state = mavros_msgs.State{
		Header: v.header(""), Connected: true,
		Armed:        m.BaseMode&ardupilotmega.MAV_MODE_FLAG_SAFETY_ARMED != 0,
		Guided:       m.BaseMode&ardupilotmega.MAV_MODE_FLAG_GUIDED_ENABLED != 0,
		ManualInput:  m.BaseMode&ardupilotmega.MAV_MODE_FLAG_MANUAL_INPUT_ENABLED != 0,
		Mode:         flightMode(m),
		SystemStatus: uint8(m.SystemStatus),
	}
	v.out.send(vehicleState, &v.state)
}

func (v *vehicle) extendedSysState(m *common.MessageExtendedSysState) {
	v.extended = mavros_msgs.ExtendedState{Header: v.header(""), VtolState: uint8(m.VtolState),
		LandedState: uint8(m.LandedState)}
	v.out.send(extendedState, &v.extended)
}

func (v *vehicle) sendEstimator(m *common.MessageEstimatorStatus) {
	has := func(bit common.ESTIMATOR_STATUS_FLAGS) bool { return m.Flags&bit != 0 }
	v.estimator = mavros_msgs.EstimatorStatus{
		Header:                    v.header(""),
		AttitudeStatusFlag:        has(common.ESTIMATOR_ATTITUDE),
		VelocityHorizStatusFlag:   has(common.ESTIMATOR_VELOCITY_HORIZ),
		VelocityVertStatusFlag:    has(common.ESTIMATOR_VELOCITY_VERT),
		PosHorizRelStatusFlag:     has(common.ESTIMATOR_POS_HORIZ_REL),
		PosHorizAbsStatusFlag:     has(common.ESTIMATOR_POS_HORIZ_ABS),
		PosVertAbsStatusFlag:      has(common.ESTIMATOR_POS_VERT_ABS),
		PosVertAglStatusFlag:      has(common.ESTIMATOR_POS_VERT_AGL),
		ConstPosModeStatusFlag:    has(common.ESTIMATOR_CONST_POS_MODE),
		PredPosHorizRelStatusFlag: has(common.ESTIMATOR_PRED_POS_HORIZ_REL),
		PredPosHorizAbsStatusFlag: has(common.ESTIMATOR_PRED_POS_HORIZ_ABS),
		GpsGlitchStatusFlag:       has(common.ESTIMATOR_GPS_GLITCH),
		AccelErrorStatusFlag:      has(common.ESTIMATOR_ACCEL_ERROR),
	}
	v.out.send(estimatorStatus, &v.estimator)
}

// statustext publishes a sentence once it is whole, or as much of it as there is when another begins or the rest does
// not come.
func (v *vehicle) statustext(m *common.MessageStatustext) {
	const full = 50 // characters of a message that another continues
	p := &v.pending
	if p.id != 0 && (m.Id != p.id || m.ChunkSeq != p.next) {
		v.sendText()
	}
	p.text.WriteString(m.Text)
	p.id, p.next, p.severity, p.at = m.Id, m.ChunkSeq+1, m.Severity, v.now
	if m.Id == 0 || len(m.Text) < full {
		v.sendText()
	}
}

func (v *vehicle) sendText() {
	severity := v.pending.severity
	v.text = mavros_msgs.StatusText{Header: v.header(""), Severity: uint8(severity), Text: v.pending.text.String()}
	v.pending = sentence{}
	v.out.send(statusText, &v.text)
	level := bridge.Info
	switch {
	case severity <= common.MAV_SEVERITY_ERROR:
		level = bridge.Error
	case severity <= common.MAV_SEVERITY_NOTICE:
		level = bridge.Warn
	case severity == common.MAV_SEVERITY_DEBUG:
		level = bridge.Debug
	}
	v.out.log(level, "the autopilot says: %s", v.text.Text)
}
