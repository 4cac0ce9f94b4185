// Package mavros translates the messages of MAVLink autopilots to ROS 2, with the topics, types and conventions of
// mavros 2.
package mavros

import (
	"math"

	"tapedeck/bridge"
	"tapedeck/bridge/device/mavlink"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
	"github.com/bluenviron/gomavlib/v3/pkg/message"
)

// preferenceTimeout is the time in ns for which a preferred message may be missing before other messages replace it.
// Radio links may lose messages of one kind for many seconds.
const preferenceTimeout = 60e9

// Publisher publishes the messages and logs the texts of a vehicle.
type Publisher interface {
	// Send publishes a message of the topic's type. The caller may reuse m when Send returns.
	Send(t Topic, m msgs.Message)
	Log(level bridge.LogLevel, format string, args ...any)
}

// Options configure the translation of messages.
type Options struct {
	MapFrame, OdomFrame, BaseFrame string // names of frames

	// Standard deviations in m/s², rad/s, rad and T; 0: unknown.
	LinearAccelerationStdev, AngularVelocityStdev, OrientationStdev, MagneticStdev float64

	RotationVariance float64 // variance of the attitude in global_position/local, in rad²
	// GPSError is the standard deviation in m at a dilution of precision of 1, for receivers that report only the
	// dilution.
	GPSError float64
}

// DefaultOptions returns mavros' defaults.
func DefaultOptions() Options {
	return Options{
		MapFrame: "map", OdomFrame: "odom", BaseFrame: "base_link",
		LinearAccelerationStdev: 0.0003, AngularVelocityStdev: 0.02 * math.Pi / 180, OrientationStdev: 1,
		RotationVariance: 99999, GPSError: 1,
	}
}

// Vehicle translates the messages of one autopilot to ROS 2 in the way of mavros. It reuses one message of each type,
// so that publishing does not allocate.
type Vehicle struct {
	o     *Options
	out   Publisher
	geoid *Geoid                      // nil: none
	clock func() mavlink.VehicleClock // the autopilot's clock

	now    int64                   // reception of the current frame, in ns since the Unix epoch
	stamp  builtin_interfaces.Time // stamp of the current frame
	logged map[string]bool         // formats that logOnce has logged

	vehicleStatus
	imuState
	globalState
	localState
	powerState
	radioState
	clockState
}

// NewVehicle returns a vehicle. clock must return the clock of the autopilot. g is nil without a geoid.
func NewVehicle(o *Options, out Publisher, g *Geoid, clock func() mavlink.VehicleClock) *Vehicle {
	v := &Vehicle{o: o, out: out, geoid: g, clock: clock, logged: map[string]bool{}}
	v.packVoltage = nan32
	v.initIMU()
	v.initGlobal()
	return v
}

// Handle publishes a frame of the autopilot. It reports whether there are topics for messages of the frame's kind.
func (v *Vehicle) Handle(f *mavlink.Frame) bool {
	v.Tick(f.Received)
	v.now, v.stamp = f.Received, builtin_interfaces.TimeAt(f.Stamp)
	switch m := f.Message.(type) {
	case *ardupilotmega.MessageHeartbeat:
		v.heartbeatFrom(m)
	case *common.MessageStatustext:
		v.statustext(m)
	case *common.MessageSysStatus:
		v.sendSystem(m)
	case *common.MessageBatteryStatus:
		v.batteryStatus(m)
	case *common.MessageAttitude:
		v.attitude(m)
	case *common.MessageAttitudeQuaternion:
		v.attitudeQuaternion(m)
	case *common.MessageHighresImu:
		v.highresIMU(m)
	case *common.MessageScaledImu:
		v.scaledIMU(m)
	case *common.MessageRawImu:
		v.rawIMU(m)
	case *common.MessageScaledPressure:
		v.scaledPressure(m)
	case *common.MessageGpsRawInt:
		v.gpsRawInt(m)
	case *ardupilotmega.MessageGlobalPositionInt:
		v.globalPositionInt(m)
	case *common.MessageLocalPositionNed:
		v.localPositionNED(m)
	case *common.MessageLocalPositionNedCov:
		v.localPositionNEDCov(m)
	case *common.MessageOdometry:
		v.sendOdometry(m)
	case *common.MessageRcChannels:
		v.rcChannels(m)
	case *common.MessageRcChannelsRaw:
		v.rcChannelsRaw(m)
	case *common.MessageServoOutputRaw:
		v.servoOutputRaw(m, f.V2)
	case *common.MessageParamValue:
		v.paramValue(m)
	case *common.MessageSystemTime:
		v.systemTime(m)
	case *common.MessageTimesync:
		v.timesyncReply(m)
	default:
		return v.handleDirect(m)
	}
	return true
}

// handleDirect publishes messages whose fields mavros copies one by one.
func (v *Vehicle) handleDirect(m message.Message) bool {
	switch m := m.(type) {
	case *common.MessageExtendedSysState:
		v.extended = mavros_msgs.ExtendedState{Header: v.header(""), VtolState: uint8(m.VtolState),
			LandedState: uint8(m.LandedState)}
		v.out.Send(extendedState, &v.extended)
	case *common.MessageEstimatorStatus:
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
		v.out.Send(estimatorStatus, &v.estimator)
	case *common.MessageAltitude:
		v.altitudes = mavros_msgs.Altitude{
			Header: v.header(v.o.MapFrame), Monotonic: m.AltitudeMonotonic, Amsl: m.AltitudeAmsl,
			Local:    m.AltitudeLocal,
			Relative: m.AltitudeRelative, Terrain: m.AltitudeTerrain, BottomClearance: m.BottomClearance,
		}
		v.out.Send(altitude, &v.altitudes)
	case *common.MessageVfrHud:
		v.hud = mavros_msgs.VfrHud{
			Header: v.header(""), Airspeed: m.Airspeed, Groundspeed: m.Groundspeed, Heading: m.Heading,
			Throttle: float32(m.Throttle) / 100, Altitude: m.Alt, Climb: m.Climb,
		}
		v.out.Send(vfrHUD, &v.hud)
	default:
		return false
	}
	return true
}

// Tick disconnects a vehicle whose last heartbeat is too old, and publishes an incomplete text whose rest is missing.
// now is in ns since the Unix epoch.
func (v *Vehicle) Tick(now int64) {
	if v.state.Connected && now-v.heartbeatAt > heartbeatTimeout {
		v.out.Log(bridge.Warn, "no heartbeat for %d s", int64(heartbeatTimeout/1e9))
		v.Disconnect(now)
	}
	if v.pending.id != 0 && now-v.pending.at > textTimeout {
		v.sendText()
	}
}

// Disconnect publishes that the vehicle is not connected, and forgets the kinds of messages that the vehicle sent: the
// next vehicle may send fewer kinds.
func (v *Vehicle) Disconnect(now int64) {
	v.state = mavros_msgs.State{Header: std_msgs.Header{Stamp: builtin_interfaces.TimeAt(now)}}
	v.out.Send(vehicleState, &v.state)
	v.receivedKind, v.highresPressureAt, v.quaternionAt = 0, 0, 0
	v.positionAt, v.covarianceAt, v.batteryStatusAt = 0, 0, 0
	v.radioState = radioState{}
}

// isRecent reports whether a preferred message still replaces other messages. received is the last reception of the
// preferred message in ns since the Unix epoch; 0 means never.
func (v *Vehicle) isRecent(received int64) bool {
	return received != 0 && v.now-received <= preferenceTimeout
}

func (v *Vehicle) header(frame string) std_msgs.Header {
	return std_msgs.Header{Stamp: v.stamp, FrameId: frame}
}

// logOnce logs a text, unless it has logged a text with that format before.
func (v *Vehicle) logOnce(level bridge.LogLevel, format string, args ...any) {
	if !v.logged[format] {
		v.logged[format] = true
		v.out.Log(level, format, args...)
	}
}

// Health is the state of a vehicle for diagnostics.
type Health struct {
	State      mavros_msgs.State
	Kind       ardupilotmega.MAV_TYPE
	Firmware   ardupilotmega.MAV_AUTOPILOT
	Oriented   bool                       // an attitude was received
	GPS        bool                       // a message of a GPS receiver was received
	Fixed      bool                       // the receiver has a fix
	Fix        ardupilotmega.GPS_FIX_TYPE // type of the receiver's fix
	Satellites int                        // number of visible satellites; -1: unknown
	NoGeoid    bool                       // altitudes are above mean sea level for lack of a geoid
	Battery    sensor_msgs.BatteryState
}

// Health returns the current state.
func (v *Vehicle) Health() Health {
	return Health{State: v.state, Kind: v.kind, Firmware: v.firmware, Oriented: v.oriented, GPS: v.hasRaw,
		Fixed: v.receiver.Status.Status >= sensor_msgs.NavSatStatus_STATUS_FIX,
		Fix:   ardupilotmega.GPS_FIX_TYPE(v.receiverRaw.FixType), Satellites: v.satellites,
		NoGeoid: v.noGeoidSince != 0, Battery: v.battery}
}
