// Package ros1 translates messages of ROS 1 to ROS 2 and back. It needs only the definitions of the messages. It
// translates names, definitions and hashes of types, and payloads.
//
// A ROS 1 type becomes the ROS 2 type with an equal name, or its successor in ROS 2, if the ROS 2 type has all fields
// of the ROS 1 type in equal order, with names that follow ROS 2's rules. Fields that ROS 2 added get their defaults.
// Header.seq is dropped. Fields of rosgraph_msgs/Log that rcl_interfaces/msg/Log does not have are dropped, too.
// Translators count the messages in which dropped fields had values (Losses). Any other type keeps its definition,
// rewritten by the rules of ROS 2.
package ros1

import (
	"strings"

	"tapedeck/msgs/rosidl"
)

// successors maps ROS 1 types to ROS 2 types with other names. A successor applies only if its fields match.
var successors = map[string]string{
	"std_msgs/Time":        timeType,
	"std_msgs/Duration":    durationType,
	"tf/tfMessage":         "tf2_msgs/msg/TFMessage",
	"rosgraph_msgs/Log":    logType,
	"roscpp/Logger":        "rcl_interfaces/msg/LoggerLevel",
	"gps_common/GPSFix":    "gps_msgs/msg/GPSFix",
	"gps_common/GPSStatus": "gps_msgs/msg/GPSStatus",
}

// predecessors is the inverse of successors, for types whose ROS 2 names do not exist in ROS 1.
var predecessors = map[string]string{
	timeType:                         "std_msgs/Time",
	durationType:                     "std_msgs/Duration",
	logType:                          ros1LogType,
	"rcl_interfaces/msg/LoggerLevel": "roscpp/Logger",
	"gps_msgs/msg/GPSFix":            "gps_common/GPSFix",
	"gps_msgs/msg/GPSStatus":         "gps_common/GPSStatus",
}

// ros1Definitions are the ROS 1 definitions of types that differ in ROS 2.
var ros1Definitions = map[string]string{
	ros1HeaderType:      "uint32 seq\ntime stamp\nstring frame_id\n",
	"std_msgs/Time":     "time data\n",
	"std_msgs/Duration": "duration data\n",
	ros1LogType: "byte DEBUG=1\nbyte INFO=2\nbyte WARN=4\nbyte ERROR=8\nbyte FATAL=16\n" +
		"Header header\nbyte level\nstring name\nstring msg\nstring file\nstring function\nuint32 line\nstring[] " +
		"topics\n",
}

// renamedFields maps, for each ROS 1 type, names of fields and constants in ROS 2 to names in ROS 1. An empty name
// means that ROS 1 does not have the field or constant.
var renamedFields = map[string]map[string]string{
	"sensor_msgs/BatteryState":   {"POWER_SUPPLY_TECHNOLOGY_TERNARY": "", "POWER_SUPPLY_TECHNOLOGY_VRLA": ""},
	"sensor_msgs/CameraInfo":     {"d": "D", "k": "K", "r": "R", "p": "P"},
	"sensor_msgs/NavSatStatus":   {"STATUS_UNKNOWN": "", "SERVICE_UNKNOWN": ""},
	"sensor_msgs/Range":          {"variance": ""},
	"shape_msgs/SolidPrimitive":  {"PRISM": "", "PRISM_HEIGHT": "", "polygon": ""},
	"stereo_msgs/DisparityImage": {"t": "T"},
	"visualization_msgs/Marker": {"ARROW_STRIP": "", "texture_resource": "", "texture": "", "uv_coordinates": "",
		"mesh_file": ""},
}

// constantTypes maps a ROS 1 message to the type of its constants, if ROS 2 has another type.
var constantTypes = map[string]string{"visualization_msgs/Marker": "uint8", "visualization_msgs/ImageMarker": "uint8"}

const (
	timeType       = "builtin_interfaces/msg/Time"
	durationType   = "builtin_interfaces/msg/Duration"
	headerType     = "std_msgs/msg/Header"
	logType        = "rcl_interfaces/msg/Log"
	ros1LogType    = "rosgraph_msgs/Log"
	ros1HeaderType = "std_msgs/Header"
)

// typeName converts the name of a ROS 1 type by the rules of ROS 2.
func typeName(name string) string {
	pkg, base, _ := strings.Cut(name, "/")
	return fieldName(pkg) + "/msg/" + rosidl.CamelCase(base, "X")
}

// fieldName converts the name of a ROS 1 field or package by the rules of ROS 2.
func fieldName(name string) string { return rosidl.SnakeCase(name, "x") }

// constantName converts the name of a ROS 1 constant by the rules of ROS 2. Underscores separate words.
func constantName(name string) string {
	return strings.ToUpper(rosidl.SnakeCase(strings.ToLower(name), "x"))
}
