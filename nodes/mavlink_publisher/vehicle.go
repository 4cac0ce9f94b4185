package main

import (
	"tapedeck/bridge"
	"tapedeck/bridge/mavlink"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/internal/hardware"
	"tapedeck/nodes/internal/rospub"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
	"github.com/bluenviron/gomavlib/v3/pkg/message"
)

// lasting is how long a preferred message may be missing before others replace it, in ns: radio links lose streams for
// many seconds.
const lasting = 60e9

// output publishes the messages of a vehicle.
type output interface {
	// send publishes a message of the topic's type. The caller may reuse it afterwards.
	send(t topic, m msgs.Message)
	log(level bridge.LogLevel, format string, args ...any)
}

// vehicle translates the messages of one autopilot to ROS 2, as mavros does. It reuses one message of each type, so
// that publishing does not allocate.
type vehicle struct {
	o     *hardware.Vehicle
	out   output
	geoid *geoid                      // nil: none
	clock func() mavlink.VehicleClock // the autopilot's clock

	now    int64                   // reception of the current frame, in ns since the Unix epoch
	stamp  builtin_interfaces.Time // of the current frame
	logged map[string]bool         // formats that logOnce has logged

	vehicleStatus
	imuState
	globalState
	localState
	powerState
	radioState
	clockState
}

func newVehicle(o *hardware.Vehicle, out output, g *geoid, clock func() mavlink.VehicleClock) *vehicle {
	v := &vehicle{o: o, out: out, geoid: g, clock: clock, logged: map[string]bool{}}
	v.main = nan32
	v.initIMU()
	v.initGlobal()
	return v
}

// handle publishes a frame of the autopilot.
func (v *vehicle) handle(f *mavlink.Frame) {
	v.tick(f.Received)
	v.now, v.stamp = f.Received, rospub.Time(f.Stamp)
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
	case *common.MessageSystemTime:
		v.systemTime(m)
	case *common.MessageTimesync:
		v.timesyncReply(m)
	default:
		v.handleDirect(m)
	}
}

// handleDirect publishes messages whose fields mavros copies one by one.
func (v *vehicle) handleDirect(m message.Message) {
	switch m := m.(type) {
	case *common.MessageExtendedSysState:
		v.extended = mavros_msgs.ExtendedState{Header: v.header(""), VtolState: uint8(m.VtolState),
			LandedState: uint8(m.LandedState)}
		v.out.send(extendedState, &v.extended)
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
		v.out.send(estimatorStatus, &v.estimator)
	case *common.MessageAltitude:
		v.altitudes = mavros_msgs.Altitude{
			Header: v.header(v.o.MapFrame), Monotonic: m.AltitudeMonotonic, Amsl: m.AltitudeAmsl,
			Local:    m.AltitudeLocal,
			Relative: m.AltitudeRelative, Terrain: m.AltitudeTerrain, BottomClearance: m.BottomClearance,
		}
		v.out.send(altitude, &v.altitudes)
	case *common.MessageVfrHud:
		v.hud = mavros_msgs.VfrHud{
			Header: v.header(""), Airspeed: m.Airspeed, Groundspeed: m.Groundspeed, Heading: m.Heading,
			Throttle: float32(m.Throttle) / 100,
			Altitude: m.Alt, Climb: m.Climb,
		}
		v.out.send(vfrHUD, &v.hud)
	}
}

// tick disconnects a vehicle that has been silent too long, and publishes unfinished text. now is in ns since the Unix
// epoch.
func (v *vehicle) tick(now int64) {
	if v.state.Connected && now-v.heartbeat > silence {
		v.out.log(bridge.Warn, "no heartbeat for %d s", int64(silence/1e9))
		v.disconnect(now)
	}
	if v.pending.id != 0 && now-v.pending.at > patience {
		v.sendText()
	}
}

// disconnect publishes that the vehicle is not connected, and forgets which messages it sent: the next vehicle may send
// fewer.
func (v *vehicle) disconnect(now int64) {
	v.state = mavros_msgs.State{Header: std_msgs.Header{Stamp: rospub.Time(now)}}
	v.out.send(vehicleState, &v.state)
	v.source, v.highresBaro, v.quaternions, v.plain, v.covariant, v.detailed = 0, 0, 0, 0, 0, 0
	v.radioState = radioState{}
}

// isRecent reports whether a preferred message last received at this time, in ns since the Unix epoch, still replaces
// others; 0 is never.
func (v *vehicle) isRecent(at int64) bool { return at != 0 && v.now-at <= lasting }

func (v *vehicle) header(frame string) std_msgs.Header {
	return std_msgs.Header{Stamp: v.stamp, FrameId: frame}
}

// logOnce logs a format only the first time.
func (v *vehicle) logOnce(level bridge.LogLevel, format string, args ...any) {
	if !v.logged[format] {
		v.logged[format] = true
		v.out.log(level, format, args...)
	}
}
