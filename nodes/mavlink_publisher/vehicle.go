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
)

// lasting is for how long a message may not come that is preferred to others, in ns: radio links lose streams for many
// seconds.
const lasting = 60e9

// outlet takes what is published of a vehicle.
type outlet interface {
	// send publishes a message of the topic's type, which is the caller's again when it returns.
	send(t topic, m msgs.Message)
	log(level bridge.LogLevel, format string, args ...any)
}

// vehicle turns what one autopilot says into messages of ROS 2, as mavros publishes them. It keeps a message of each
// kind, so that publishing allocates nothing.
type vehicle struct {
	o     *hardware.Vehicle
	out   outlet
	geoid *geoid                      // nil: none
	clock func() mavlink.VehicleClock // what is known of the autopilot's

	now   int64                   // when the frame in hand came, in ns since the Unix epoch
	stamp builtin_interfaces.Time // of the frame in hand
	told  map[string]bool         // what was said once

	status
	inertial
	globe
	local
	power
	radio
	clocks
}

func newVehicle(o *hardware.Vehicle, out outlet, g *geoid, clock func() mavlink.VehicleClock) *vehicle {
	v := &vehicle{o: o, out: out, geoid: g, clock: clock, told: map[string]bool{}}
	v.main = nan32
	v.setInertial()
	v.setGlobe()
	return v
}

// handle publishes what a frame from the autopilot says.
func (v *vehicle) handle(f *mavlink.Frame) {
	v.tick(f.Received)
	v.now, v.stamp = f.Received, rospub.Time(f.Stamp)
	switch m := f.Message.(type) {
	case *ardupilotmega.MessageHeartbeat:
		v.heartbeatFrom(m)
	case *common.MessageExtendedSysState:
		v.extendedSysState(m)
	case *common.MessageEstimatorStatus:
		v.sendEstimator(m)
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
	case *common.MessageAltitude:
		v.sendAltitude(m)
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
	case *common.MessageVfrHud:
		v.sendHUD(m)
	case *common.MessageSystemTime:
		v.systemTime(m)
	case *common.MessageTimesync:
		v.timesyncReply(m)
	}
}

// tick says that the vehicle is gone once it has been silent for long enough, at a time in ns since the Unix epoch.
func (v *vehicle) tick(now int64) {
	if v.state.Connected && now-v.heartbeat > silence {
		v.out.log(bridge.Warn, "there was no heartbeat for %d s", int64(silence/1e9))
		v.disconnect(now)
	}
	if v.pending.id != 0 && now-v.pending.at > patience {
		v.sendText()
	}
}

// disconnect publishes that there is no vehicle. The next one that comes may tell less than this one did.
func (v *vehicle) disconnect(now int64) {
	v.state = mavros_msgs.State{Header: std_msgs.Header{Stamp: rospub.Time(now)}}
	v.out.send(vehicleState, &v.state)
	v.source, v.highresBaro, v.quaternions, v.plain, v.covariant, v.detailed = 0, 0, 0, 0, 0, 0
	v.radio = radio{}
}

// comes says whether what came last at that time, in ns since the Unix epoch, still comes, rather than what says less;
// 0 is never.
func (v *vehicle) comes(at int64) bool { return at != 0 && v.now-at <= lasting }

func (v *vehicle) header(frame string) std_msgs.Header {
	return std_msgs.Header{Stamp: v.stamp, FrameId: frame}
}

// once logs what would be said again and again.
func (v *vehicle) once(level bridge.LogLevel, format string, args ...any) {
	if !v.told[format] {
		v.told[format] = true
		v.out.log(level, format, args...)
	}
}
