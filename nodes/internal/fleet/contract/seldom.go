package contract

import (
	"slices"
	"strings"

	"tapedeck/codec"
)

// Latched reports whether a topic may be silent for any time, because of its name or because all its publishers are
// transient_local.
func Latched(name string, publishers []codec.QoS) bool {
	seldom := func(end string) bool { return strings.HasSuffix(name, end) }
	return slices.ContainsFunc([]string{"/tf_static", "/parameter_events", "/param/event"}, seldom) ||
		slices.Contains(logTopics, name) ||
		len(publishers) > 0 && !slices.ContainsFunc(publishers, func(q codec.QoS) bool {
			return q.Durability != codec.TransientLocal
		})
}

// seldom reports whether the topic may be silent for any time.
func (t *topicState) seldom() bool {
	return Latched(t.name, t.qos) ||
		slices.ContainsFunc(t.types, func(name string) bool { return slices.Contains(px4Events, name) })
}

// px4Events are types of messages that PX4 sends when something happens, not at a rate.
var px4Events = func() []string {
	var names []string
	for name := range strings.FieldsSeq(`ActionRequest CameraCapture CameraTrigger Event FollowTarget GeofenceResult
		GimbalManagerSetManualControl GpsInjectData HomePosition LedControl LogMessage LoggerStatus MavlinkLog Mission
		MissionResult ModeCompleted NavigatorMissionItem ObstacleDistance OrbitStatus ParameterUpdate
		PositionSetpointTriplet RegisterExtComponentReply RegisterExtComponentRequest TransponderReport TuneControl
		UlogStream UlogStreamAck VehicleCommand VehicleCommandAck VehicleRoi VtolVehicleStatus`) {
		names = append(names, "px4_msgs/msg/"+name)
	}
	return names
}()
