package formats

import (
	"tapedeck/bridge/mavros"
	"tapedeck/bridge/px4"
	"tapedeck/codec"
)

// FlightOptions say how flight logs become ROS 2 messages.
type FlightOptions struct {
	Raw      bool `param:"raw" group:"Flight logs" help:"MAVLink logs: make a topic of each kind of message, too, such as /mavlink/uas1/comp1/ATTITUDE, with the fields as they are"`
	Standard bool `param:"standard_messages" group:"Flight logs" help:"PX4 logs: make messages of sensor_msgs and nav_msgs, too, such as /px4/vehicle_local_position/odom, in the axes and units of ROS"`
}

// toROS2 returns how logs of MAVLink become ROS 2 messages.
func (o FlightOptions) toROS2() newTranslator { return mavros.ReadOptions{Raw: o.Raw}.ToROS2 }

// add returns r, whose messages are those of ROS 2, with the messages that the options ask for. It owns r.
func (o FlightOptions) add(r codec.Reader) (codec.Reader, error) {
	if !o.Standard {
		return r, nil
	}
	return px4.Standard(r)
}
