package main

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"sync/atomic"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/internal/rospub"
)

// topic identifies a topic of a vehicle.
type topic int

const (
	imuData topic = iota
	imuRaw
	imuMag
	imuStaticPressure
	imuDiffPressure
	imuTemperature
	imuBaroTemperature
	gpsFix
	gpsVelocity
	gpsSatellites
	gpsRaw
	globalFix
	globalLocal
	globalRelativeAltitude
	globalHeading
	altitude
	localPose
	localPoseCov
	localVelocity
	localVelocityBody
	localVelocityBodyCov
	localOdometry
	localAcceleration
	odometryIn
	batteryState
	vehicleState
	extendedState
	sysStatus
	estimatorStatus
	statusText
	rcIn
	rcOut
	vfrHUD
	timeReference
	timesyncStatus
	topicCount
)

// topics are those of mavros 2: names below the vehicle's namespace, types and QoS.
var topics = [topicCount]struct {
	name    string
	message msgs.Message
	qos     func() codec.QoS
}{
	imuData:                {"imu/data", &sensor_msgs.Imu{}, bridge.SensorDataQoS},
	imuRaw:                 {"imu/data_raw", &sensor_msgs.Imu{}, bridge.SensorDataQoS},
	imuMag:                 {"imu/mag", &sensor_msgs.MagneticField{}, bridge.SensorDataQoS},
	imuStaticPressure:      {"imu/static_pressure", &sensor_msgs.FluidPressure{}, bridge.SensorDataQoS},
	imuDiffPressure:        {"imu/diff_pressure", &sensor_msgs.FluidPressure{}, bridge.SensorDataQoS},
	imuTemperature:         {"imu/temperature_imu", &sensor_msgs.Temperature{}, bridge.SensorDataQoS},
	imuBaroTemperature:     {"imu/temperature_baro", &sensor_msgs.Temperature{}, bridge.SensorDataQoS},
	gpsFix:                 {"global_position/raw/fix", &sensor_msgs.NavSatFix{}, bridge.SensorDataQoS},
	gpsVelocity:            {"global_position/raw/gps_vel", &geometry_msgs.TwistStamped{}, bridge.SensorDataQoS},
	gpsSatellites:          {"global_position/raw/satellites", &std_msgs.UInt32{}, bridge.SensorDataQoS},
	gpsRaw:                 {"gpsstatus/gps1/raw", &mavros_msgs.GPSRAW{}, codec.DefaultQoS},
	globalFix:              {"global_position/global", &sensor_msgs.NavSatFix{}, bridge.SensorDataQoS},
	globalLocal:            {"global_position/local", &nav_msgs.Odometry{}, bridge.SensorDataQoS},
	globalRelativeAltitude: {"global_position/rel_alt", &std_msgs.Float64{}, bridge.SensorDataQoS},
	globalHeading:          {"global_position/compass_hdg", &std_msgs.Float64{}, bridge.SensorDataQoS},
	altitude:               {"altitude", &mavros_msgs.Altitude{}, bridge.SensorDataQoS},
	localPose:              {"local_position/pose", &geometry_msgs.PoseStamped{}, bridge.SensorDataQoS},
	localPoseCov: {"local_position/pose_cov", &geometry_msgs.PoseWithCovarianceStamped{},
		bridge.SensorDataQoS},
	localVelocity:     {"local_position/velocity_local", &geometry_msgs.TwistStamped{}, bridge.SensorDataQoS},
	localVelocityBody: {"local_position/velocity_body", &geometry_msgs.TwistStamped{}, bridge.SensorDataQoS},
	localVelocityBodyCov: {"local_position/velocity_body_cov", &geometry_msgs.TwistWithCovarianceStamped{},
		bridge.SensorDataQoS},
	localOdometry:     {"local_position/odom", &nav_msgs.Odometry{}, bridge.SensorDataQoS},
	localAcceleration: {"local_position/accel", &geometry_msgs.AccelWithCovarianceStamped{}, bridge.SensorDataQoS},
	odometryIn:        {"odometry/in", &nav_msgs.Odometry{}, codec.DefaultQoS},
	batteryState:      {"battery", &sensor_msgs.BatteryState{}, bridge.SensorDataQoS},
	vehicleState:      {"state", &mavros_msgs.State{}, stateQoS},
	extendedState:     {"extended_state", &mavros_msgs.ExtendedState{}, stateQoS},
	sysStatus:         {"sys_status", &mavros_msgs.SysStatus{}, stateQoS},
	estimatorStatus:   {"estimator_status", &mavros_msgs.EstimatorStatus{}, stateQoS},
	statusText:        {"statustext/recv", &mavros_msgs.StatusText{}, bridge.SensorDataQoS},
	rcIn:              {"rc/in", &mavros_msgs.RCIn{}, codec.DefaultQoS},
	rcOut:             {"rc/out", &mavros_msgs.RCOut{}, codec.DefaultQoS},
	vfrHUD:            {"vfr_hud", &mavros_msgs.VfrHud{}, codec.DefaultQoS},
	timeReference:     {"time_reference", &sensor_msgs.TimeReference{}, bridge.SensorDataQoS},
	timesyncStatus:    {"timesync_status", &mavros_msgs.TimesyncStatus{}, bridge.SensorDataQoS},
}

// stateQoS is mavros' QoS for state: reliable, transient local, depth 10.
func stateQoS() codec.QoS {
	q := codec.DefaultQoS()
	q.Durability = codec.TransientLocal
	return q
}

// topicPublishers are the publishers of one vehicle's topics.
type topicPublishers struct {
	node   bridge.Node
	name   string                    // of the vehicle
	topics [topicCount]*rospub.Topic // nil: ROS 2 does not define the type
	failed atomic.Bool               // a failure to publish was logged
	sent   uint64                    // messages
}

// newTopicPublishers advertises the topics of a vehicle, all of them reliable if reliable is set. With whole,
// publishing waits for reliable subscribers, so that they miss nothing. Topics whose type ROS 2's libraries do not
// define are left out, with a warning.
func newTopicPublishers(node bridge.Node, name string, reliable, whole bool) (*topicPublishers, error) {
	o := &topicPublishers{node: node, name: name}
	var missing []string
	var cause error
	for i, t := range topics {
		qos := t.qos()
		if reliable || whole {
			qos.Reliability = codec.Reliable
		}
		if whole {
			qos.History, qos.Depth = codec.KeepAll, 0
		}
		var err error
		o.topics[i], err = rospub.Advertise(node, path.Join(name, t.name), t.message, qos)
		switch {
		case errors.Is(err, rosidl.ErrUnknownType):
			missing, cause = append(missing, t.name), err
		case err != nil:
			return nil, err
		}
	}
	if missing != nil {
		o.log(bridge.Warn, "not publishing %s: %v; --middleware dds does not need these definitions",
			strings.Join(missing, ", "),
			cause)
	}
	return o, nil
}

// send implements output.
func (o *topicPublishers) send(t topic, m msgs.Message) {
	if o.topics[t] == nil {
		return
	}
	if err := o.topics[t].Send(m); err == nil {
		o.sent++
	} else if !o.failed.Swap(true) {
		o.log(bridge.Error, "%v", err)
	}
}

// log implements output.
func (o *topicPublishers) log(level bridge.LogLevel, format string, args ...any) {
	o.node.Log(level, "%s: %s", o.name, fmt.Sprintf(format, args...))
}

// offers returns the publishers.
func (o *topicPublishers) offers() []rospub.Offer {
	var list []rospub.Offer
	for _, t := range o.topics {
		if t != nil {
			list = append(list, t.Offer)
		}
	}
	return list
}
