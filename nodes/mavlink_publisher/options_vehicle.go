package main

import "tapedeck/bridge/translate/mavros"

// vehicleOptions describe a vehicle that speaks MAVLink: an entry of mavlink_publisher's parameter vehicles.
type vehicleOptions struct {
	Source       string   `param:"source" group:"Link" value:"SOURCE" help:"serial:/dev/ttyACM0:57600, udp://:14550 (listens to any sender), udp://host:14550, tcp://host:5760, tcp-l://:5760 (as a server), udp-broadcast://192.168.5.255:14550, or a .tlog file"`
	System       int      `param:"system" group:"Link" min:"0" max:"255" help:"system id of the vehicle; 0 is every vehicle with an autopilot"`
	Rate         float64  `param:"rate" short:"r" group:"Link" min:"0" max:"1000000" help:"rate at which a .tlog file is read; 0 is as fast as subscribers accept messages"`
	Stamps       string   `param:"stamps" group:"Link" options:"sync|receive|vehicle" help:"stamp messages by the autopilot's clock mapped to this computer's (sync), by the time of arrival (receive), or by the GPS time of the autopilot (vehicle)"`
	Heartbeat    float64  `param:"heartbeat" group:"Sending" min:"0" max:"100" value:"HZ" help:"heartbeats to send per second, which make this node known to an autopilot behind udp://host or tcp://; 0 sends none"`
	TimeSync     float64  `param:"timesync" group:"Sending" min:"0" max:"100" value:"HZ" help:"how often per second to ask for the autopilot's clock (TIMESYNC), and answer when it asks; 10 is usual, 0 does neither"`
	Streams      []string `param:"streams" flag:"stream" group:"Sending" value:"ID=HZ" help:"request a stream of messages from ArduPilot (MAV_DATA_STREAM): 0=4 is all of them at 4 Hz"`
	Intervals    []string `param:"intervals" flag:"interval" group:"Sending" value:"MESSAGE=HZ" help:"request a message by name or id (MAV_CMD_SET_MESSAGE_INTERVAL): ATTITUDE_QUATERNION=100; -1 stops it, 0 is the default of the autopilot"`
	OwnSystem    int      `param:"own_system" group:"Sending" min:"1" max:"255" help:"system id of messages that are sent"`
	OwnComponent int      `param:"own_component" group:"Sending" min:"1" max:"255" help:"component id of messages that are sent"`

	translation
	Geoid    string `param:"geoid" group:"Messages" value:"FILE" help:"GeographicLib FILE with geoid heights, for autopilots that report only altitudes above mean sea level; by default the egm96-5.pgm of GeographicLib, if installed"`
	Reliable bool   `param:"reliable" group:"Messages" help:"publish all topics reliably, including sensor topics"`
}

// translation says how messages are translated. It has the fields of mavros.Options.
type translation struct {
	MapFrame  string `param:"map_frame" group:"Messages" value:"NAME" help:"coordinate frame of positions"`
	OdomFrame string `param:"odom_frame" group:"Messages" value:"NAME" help:"coordinate frame of odometry/in"`
	BaseFrame string `param:"base_frame" group:"Messages" value:"NAME" help:"coordinate frame of the vehicle"`

	LinearAccelerationStdev float64 `param:"linear_acceleration_stdev" group:"Accuracy" min:"0" value:"M/S²" help:"standard deviation of accelerations; 0 means unknown, here and below"`
	AngularVelocityStdev    float64 `param:"angular_velocity_stdev" group:"Accuracy" min:"0" value:"RAD/S" help:"standard deviation of angular velocities"`
	OrientationStdev        float64 `param:"orientation_stdev" group:"Accuracy" min:"0" value:"RAD" help:"standard deviation of the attitude"`
	MagneticStdev           float64 `param:"magnetic_stdev" group:"Accuracy" min:"0" value:"T" help:"standard deviation of magnetic fields"`
	RotationVariance        float64 `param:"rot_covariance" group:"Accuracy" min:"0" value:"RAD²" help:"variance of the attitude in global_position/local"`
	GPSError                float64 `param:"gps_uere" group:"Accuracy" min:"0" value:"M" help:"GPS error at a dilution of precision of 1, for receivers that report only the dilution"`
}

// defaultVehicle returns the defaults of a vehicle: mavros' translation, and nothing is sent.
func defaultVehicle() vehicleOptions {
	return vehicleOptions{
		Rate: 1, Stamps: "sync", OwnSystem: 255, OwnComponent: 191, translation: translation(mavros.DefaultOptions()),
	}
}
