package mavros

import (
	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

// Topic identifies a topic of a vehicle.
type Topic int

const (
	imuData Topic = iota
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
	paramEvent
	topicCount
)

// TopicCount is the number of topics.
const TopicCount = int(topicCount)

// Topics describes the topics of mavros 2, by Topic: names below the vehicle's namespace, types and QoS.
var Topics = [topicCount]struct {
	Name    string
	Message msgs.Message
	QoS     func() codec.QoS
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
	vehicleState:      {"state", &mavros_msgs.State{}, StateQoS},
	extendedState:     {"extended_state", &mavros_msgs.ExtendedState{}, StateQoS},
	sysStatus:         {"sys_status", &mavros_msgs.SysStatus{}, StateQoS},
	estimatorStatus:   {"estimator_status", &mavros_msgs.EstimatorStatus{}, StateQoS},
	statusText:        {"statustext/recv", &mavros_msgs.StatusText{}, bridge.SensorDataQoS},
	rcIn:              {"rc/in", &mavros_msgs.RCIn{}, codec.DefaultQoS},
	rcOut:             {"rc/out", &mavros_msgs.RCOut{}, codec.DefaultQoS},
	vfrHUD:            {"vfr_hud", &mavros_msgs.VfrHud{}, codec.DefaultQoS},
	timeReference:     {"time_reference", &sensor_msgs.TimeReference{}, bridge.SensorDataQoS},
	timesyncStatus:    {"timesync_status", &mavros_msgs.TimesyncStatus{}, bridge.SensorDataQoS},
	paramEvent:        {"param/event", &mavros_msgs.ParamEvent{}, bridge.ParameterEventsQoS},
}

// StateQoS is mavros' QoS for state: reliable, transient local, depth 10.
func StateQoS() codec.QoS {
	q := codec.DefaultQoS()
	q.Durability = codec.TransientLocal
	return q
}
