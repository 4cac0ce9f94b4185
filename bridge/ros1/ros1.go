// Package ros1 knows what messages of ROS 1 are in ROS 2 and back, by their definitions alone: names and texts of
// types, the sums by which each knows them, and payloads.
//
// A message of ROS 1 becomes the one of ROS 2 with the same name, or its successor's, when that has all of its fields,
// in this order and under the names that ROS 2's rules make of them; fields that were added to it get their default.
// The seq of a header is left out, and so is what rcl_interfaces/msg/Log does not have of rosgraph_msgs/Log;
// translators count the messages that had it (bridge.Lossy). Any other type is kept with its own definition, rewritten
// by the rules of ROS 2.
package ros1

import "strings"

// successors are the types of ROS 2 that have other names than those of ROS 1. Fields decide whether they are the same.
var successors = map[string]string{
	"std_msgs/Time":        timeType,
	"std_msgs/Duration":    durationType,
	"tf/tfMessage":         "tf2_msgs/msg/TFMessage",
	"rosgraph_msgs/Log":    logType,
	"roscpp/Logger":        "rcl_interfaces/msg/LoggerLevel",
	"gps_common/GPSFix":    "gps_msgs/msg/GPSFix",
	"gps_common/GPSStatus": "gps_msgs/msg/GPSStatus",
}

// predecessors is the inverse, as far as names of ROS 2 do not stay.
var predecessors = map[string]string{
	timeType:                         "std_msgs/Time",
	durationType:                     "std_msgs/Duration",
	logType:                          logType1,
	"rcl_interfaces/msg/LoggerLevel": "roscpp/Logger",
	"gps_msgs/msg/GPSFix":            "gps_common/GPSFix",
	"gps_msgs/msg/GPSStatus":         "gps_common/GPSStatus",
}

// differing are the definitions of types of ROS 1 that have something else than those of ROS 2.
var differing = map[string]string{
	headerType1:         "uint32 seq\ntime stamp\nstring frame_id\n",
	"std_msgs/Time":     "time data\n",
	"std_msgs/Duration": "duration data\n",
	logType1: "byte DEBUG=1\nbyte INFO=2\nbyte WARN=4\nbyte ERROR=8\nbyte FATAL=16\n" +
		"Header header\nbyte level\nstring name\nstring msg\nstring file\nstring function\nuint32 line\nstring[] topics\n",
}

// renamed are fields and constants that types have in ROS 2, by their name in ROS 1, which is "" for what there is none
// of.
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

// constants are the types of all constants of a type, where they have another one in ROS 2.
var constants = map[string]string{"visualization_msgs/Marker": "uint8", "visualization_msgs/ImageMarker": "uint8"}

const (
	timeType     = "builtin_interfaces/msg/Time"
	durationType = "builtin_interfaces/msg/Duration"
	headerType   = "std_msgs/msg/Header"
	logType      = "rcl_interfaces/msg/Log"
	logType1     = "rosgraph_msgs/Log"
	headerType1  = "std_msgs/Header"
)

// typeName returns the name of ROS 2 that comes closest to that of a type of ROS 1.
func typeName(name string) string {
	pkg, base, _ := strings.Cut(name, "/")
	var camel strings.Builder
	for part := range strings.SplitSeq(base, "_") {
		if part != "" {
			camel.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	base = camel.String()
	if base == "" || base[0] < 'A' || base[0] > 'Z' {
		base = "X" + base
	}
	return fieldName(pkg) + "/msg/" + base
}

// fieldName returns the name of ROS 2 that comes closest to that of a field or package of ROS 1: lower case, without
// two "_" in a row or one at the end.
func fieldName(name string) string {
	b := make([]byte, 0, len(name)+4)
	for i := range len(name) {
		c := name[i]
		upper := c >= 'A' && c <= 'Z'
		if upper {
			c += 'a' - 'A'
			// aB, AAb
			if i > 0 && (!isUpper(name[i-1]) || i+1 < len(name) && isLower(name[i+1])) {
				b = append(b, '_')
			}
		}
		if c == '-' {
			c = '_'
		}
		b = append(b, c)
	}
	return tidy(string(b), "x")
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

// constantName is likewise, in upper case.
func constantName(name string) string { return strings.ToUpper(tidy(name, "X")) }

// tidy leaves out "_" where ROS 2 does not allow it, and puts first in front of a name that does not begin with a
// letter.
func tidy(name, first string) string {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '_' })
	name = strings.Join(parts, "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = first + name
	}
	return name
}
