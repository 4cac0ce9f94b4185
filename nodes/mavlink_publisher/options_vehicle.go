package main

import "tapedeck/bridge/translate/mavros"

// vehicleOptions describe a vehicle that speaks MAVLink: an entry of mavlink_publisher's parameter vehicles.
type vehicleOptions struct {
	Source       string   `param:"source" group:"Link" value:"SOURCE"`
	System       int      `param:"system" group:"Link" min:"0" max:"255"`
	Rate         float64  `param:"rate" short:"r" group:"Link" min:"0" max:"1000000"`
	Stamps       string   `param:"stamps" group:"Link" options:"sync|receive|vehicle"`
	Heartbeat    float64  `param:"heartbeat" group:"Sending" min:"0" max:"100" value:"HZ"`
	TimeSync     float64  `param:"timesync" group:"Sending" min:"0" max:"100" value:"HZ"`
	Streams      []string `param:"streams" flag:"stream" group:"Sending" value:"ID=HZ"`
	Intervals    []string `param:"intervals" flag:"interval" group:"Sending" value:"MESSAGE=HZ"`
	OwnSystem    int      `param:"own_system" group:"Sending" min:"1" max:"255"`
	OwnComponent int      `param:"own_component" group:"Sending" min:"1" max:"255"`

	translation
	Geoid    string `param:"geoid" group:"Messages" value:"FILE"`
	Reliable bool   `param:"reliable" group:"Messages"`
}

func (*vehicleOptions) OptionTexts() string { return optionTexts }

// translation are the options of translating messages. It has the fields of mavros.Options.
type translation struct {
	MapFrame  string `param:"map_frame" group:"Messages" value:"NAME"`
	OdomFrame string `param:"odom_frame" group:"Messages" value:"NAME"`
	BaseFrame string `param:"base_frame" group:"Messages" value:"NAME"`

	LinearAccelerationStdev float64 `param:"linear_acceleration_stdev" group:"Accuracy" min:"0" value:"M/S²"`
	AngularVelocityStdev    float64 `param:"angular_velocity_stdev" group:"Accuracy" min:"0" value:"RAD/S"`
	OrientationStdev        float64 `param:"orientation_stdev" group:"Accuracy" min:"0" value:"RAD"`
	MagneticStdev           float64 `param:"magnetic_stdev" group:"Accuracy" min:"0" value:"T"`
	RotationVariance        float64 `param:"rot_covariance" group:"Accuracy" min:"0" value:"RAD²"`
	GPSError                float64 `param:"gps_uere" group:"Accuracy" min:"0" value:"M"`
}

// defaultVehicle returns the defaults of a vehicle: messages are translated as by mavros, and nothing is sent.
func defaultVehicle() vehicleOptions {
	return vehicleOptions{
		Rate: 1, Stamps: "sync", OwnSystem: 255, OwnComponent: 191, translation: translation(mavros.DefaultOptions()),
	}
}
