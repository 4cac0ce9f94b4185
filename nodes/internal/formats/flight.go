package formats

import "tapedeck/bridge/mavros"

// FlightOptions say how flight logs become ROS 2 messages.
type FlightOptions struct {
	Raw bool `param:"raw" group:"Flight logs" help:"MAVLink logs: make a topic of each kind of message, too, such as /mavlink/uas1/comp1/ATTITUDE, with the fields as they are"`
}

// toROS2 returns how logs of MAVLink become ROS 2 messages.
func (o FlightOptions) toROS2() newTranslator { return mavros.ReadOptions{Raw: o.Raw}.ToROS2 }
