package main

import (
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/sensor_msgs"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
)

const (
	leastTime   = 1234567890 * 1e6 // µs since the Unix epoch: an autopilot that tells less does not know the time
	latestTime  = 1 << 31 * 1e6    // µs since the Unix epoch: what ROS 2 cannot tell
	longestTrip = 10e9             // ns: a reply to a TIMESYNC request that took longer is one to somebody else's
)

// clocks is what an autopilot says of the time.
type clocks struct {
	reference sensor_msgs.TimeReference
	sync      mavros_msgs.TimesyncStatus
}

func (v *vehicle) systemTime(m *common.MessageSystemTime) {
	if m.TimeUnixUsec <= leastTime || m.TimeUnixUsec >= latestTime {
		return
	}
	v.reference.Header, v.reference.Source = v.header(""), "fcu"
	v.reference.TimeRef = builtin_interfaces.Time{Sec: int32(m.TimeUnixUsec / 1e6),
		Nanosec: uint32(m.TimeUnixUsec % 1e6 * 1e3)}
	v.out.send(timeReference, &v.reference)
}

// timesyncReply tells of a reply to a request.
func (v *vehicle) timesyncReply(m *common.MessageTimesync) {
	trip := v.now - m.Ts1
	if m.Tc1 <= 0 || trip < 0 || trip > longestTrip {
		return
	}
	v.sync = mavros_msgs.TimesyncStatus{
		Header: v.header(""), RemoteTimestampNs: uint64(m.Tc1), ObservedOffsetNs: m.Ts1 + trip/2 - m.Tc1,
		EstimatedOffsetNs: v.clock().Offset, RoundTripTimeMs: float32(float64(trip) / 1e6),
	}
	v.out.send(timesyncStatus, &v.sync)
}
