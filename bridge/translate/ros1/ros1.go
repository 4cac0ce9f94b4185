// Package ros1 translates messages of ROS 1 to ROS 2 and back, by their definitions alone: names, definitions and
// hashes of types, and payloads.
//
// A ROS 1 message becomes the ROS 2 message with the same name, or with the name of its successor, if that has all of
// its fields in the same order, with their names by ROS 2's rules. Fields that ROS 2 added get their defaults. The seq
// of a header is dropped, and so are fields of rosgraph_msgs/Log that rcl_interfaces/msg/Log does not have; translators
// count the messages that had values in them (Losses). Any other type keeps its own definition, rewritten by the
// rules of ROS 2.
package ros1

import (
	"strings"

	"tapedeck/msgs/rosidl"
)

// successors are the ROS 2 types whose names differ from those of ROS 1. Their fields must match, too.
var successors = map[string]string{
	"std_msgs/Time":        timeType,
	"std_msgs/Duration":    durationType,
	"tf/tfMessage":         "tf2_msgs/msg/TFMessage",
	"rosgraph_msgs/Log":    logType,
	"roscpp/Logger":        "rcl_interfaces/msg/LoggerLevel",
	"gps_common/GPSFix":    "gps_msgs/msg/GPSFix",
	"gps_common/GPSStatus": "gps_msgs/msg/GPSStatus",
}

// predecessors is the inverse, for types whose names ROS 1 does not have.
var predecessors = map[string]string{
	timeType:                         "std_msgs/Time",
	durationType:                     "std_msgs/Duration",
	logType:                          logType1,
	"rcl_interfaces/msg/LoggerLevel": "roscpp/Logger",
	"gps_msgs/msg/GPSFix":            "gps_common/GPSFix",
	"gps_msgs/msg/GPSStatus":         "gps_common/GPSStatus",
}

// differing are the ROS 1 definitions of types that differ in ROS 2.
var differing = map[string]string{
	headerType1:         "uint32 seq\ntime stamp\nstring frame_id\n",
	"std_msgs/Time":     "time data\n",
	"std_msgs/Duration": "duration data\n",
	logType1: "byte DEBUG=1\nbyte INFO=2\nbyte WARN=4\nbyte ERROR=8\nbyte FATAL=16\n" +
		"Header header\nbyte level\nstring name\nstring msg\nstring file\nstring function\nuint32 line\nstring[] " +
		"topics\n",
}

// renamed lists ROS 1 types with the names of fields and constants in ROS 2 and in ROS 1, where "" is none.
var renamed = map[string]map[string]string{
	"sensor_msgs/BatteryState":   {"POWER_SUPPLY_TECHNOLOGY_TERNARY": "", "POWER_SUPPLY_TECHNOLOGY_VRLA": ""},
	"sensor_msgs/CameraInfo":     {"d": "D", "k": "K", "r": "R", "p": "P"},
	"sensor_msgs/NavSatStatus":   {"STATUS_UNKNOWN": "", "SERVICE_UNKNOWN": ""},
	"sensor_msgs/Range":          {"variance": ""},
	"shape_msgs/SolidPrimitive":  {"PRISM": "", "PRISM_HEIGHT": "", "polygon": ""},
	"stereo_msgs/DisparityImage": {"t": "T"},
	"visualization_msgs/Marker": {"ARROW_STRIP": "", "texture_resource": "", "texture": "", "uv_coordinates": "",
		"mesh_file": ""},
}

// constants are the types of a message's constants in ROS 1, where ROS 2 has another type.
var constants = map[string]string{"visualization_msgs/Marker": "uint8", "visualization_msgs/ImageMarker": "uint8"}

const (
	timeType     = "builtin_interfaces/msg/Time"
	durationType = "builtin_interfaces/msg/Duration"
	headerType   = "std_msgs/msg/Header"
	logType      = "rcl_interfaces/msg/Log"
	logType1     = "rosgraph_msgs/Log"
	headerType1  = "std_msgs/Header"
)

// typeName returns the name of a ROS 1 type by the rules of ROS 2.
func typeName(name string) string {
	pkg, base, _ := strings.Cut(name, "/")
	return fieldName(pkg) + "/msg/" + rosidl.CamelCase(base, "X")
}

// fieldName returns the name of a ROS 1 field or package by the rules of ROS 2.
func fieldName(name string) string { return rosidl.SnakeCase(name, "x") }

// constantName returns the name of a ROS 1 constant by the rules of ROS 2: words are what underscores separate.
func constantName(name string) string {
	return strings.ToUpper(rosidl.SnakeCase(strings.ToLower(name), "x"))
}
