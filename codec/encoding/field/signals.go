package field

import (
	"fmt"
	"reflect"
	"strings"

	"tapedeck/codec/encoding/cdr"
)

const maxElements = 16 // elements of an array that Numbers visits

// defaultSignals lists by type the numbers that have a curve or statistics by default. An entry is a path and, after a
// space, a unit. A path stands for all numbers inside. A path that ends with "[]" stands for each element of an array.
var defaultSignals = map[string][]string{
	"sensor_msgs/msg/Imu":                          {"angular_velocity rad/s", "linear_acceleration m/s²"},
	"nav_msgs/msg/Odometry":                        {"twist.twist.linear m/s", "twist.twist.angular rad/s"},
	"geometry_msgs/msg/Twist":                      {"linear m/s", "angular rad/s"},
	"geometry_msgs/msg/TwistStamped":               {"twist.linear m/s", "twist.angular rad/s"},
	"geometry_msgs/msg/TwistWithCovarianceStamped": {"twist.twist.linear m/s", "twist.twist.angular rad/s"},
	"geometry_msgs/msg/AccelStamped":               {"accel.linear m/s²", "accel.angular rad/s²"},
	"geometry_msgs/msg/Wrench":                     {"force N", "torque N m"},
	"geometry_msgs/msg/WrenchStamped":              {"wrench.force N", "wrench.torque N m"},
	"geometry_msgs/msg/Vector3Stamped":             {"vector"},
	"sensor_msgs/msg/JointState":                   {"position[]", "velocity[]", "effort[]"},
	"sensor_msgs/msg/BatteryState":                 {"voltage V", "current A", "percentage"},
	"sensor_msgs/msg/Temperature":                  {"temperature °C"},
	"sensor_msgs/msg/FluidPressure":                {"fluid_pressure Pa"},
	"sensor_msgs/msg/RelativeHumidity":             {"relative_humidity"},
	"sensor_msgs/msg/Illuminance":                  {"illuminance lx"},
	"sensor_msgs/msg/Range":                        {"range m"},
	"sensor_msgs/msg/MagneticField":                {"magnetic_field T"},
	"carla_msgs/msg/CarlaEgoVehicleControl":        {"throttle", "steer", "brake"},
	"carla_msgs/msg/CarlaEgoVehicleStatus": {"velocity m/s", "control.throttle", "control.steer",
		"control.brake"},
	"carla_msgs/msg/CarlaWalkerControl":        {"speed m/s"},
	"ackermann_msgs/msg/AckermannDrive":        {"steering_angle rad", "speed m/s"},
	"ackermann_msgs/msg/AckermannDriveStamped": {"drive.steering_angle rad", "drive.speed m/s"},
	"std_msgs/msg/Float32":                     {"data"},
	"std_msgs/msg/Float64":                     {"data"},
	"std_msgs/msg/Int32":                       {"data"},
	"std_msgs/msg/Float32MultiArray":           {"data[]"},
	"std_msgs/msg/Float64MultiArray":           {"data[]"},
	"mavros_msgs/msg/VfrHud":                   {"airspeed m/s", "groundspeed m/s", "altitude m", "throttle"},
}

// DefaultSignal reports whether the number at a path in messages of a type has a curve or statistics by default. unit
// is the number's unit, or "" if the number has none or the unit is unknown.
func DefaultSignal(typeName, path string) (unit string, ok bool) {
	for _, entry := range defaultSignals[typeName] {
		signal, unit, _ := strings.Cut(entry, " ")
		if Within(path, signal) {
			return unit, true
		}
	}
	return "", false
}

// Within reports whether path is parent or leads into parent. If parent is "position[]", all elements of the array
// position are inside.
func Within(path, parent string) bool {
	array, isArray := strings.CutSuffix(parent, "[]")
	return path == parent || strings.HasPrefix(path, parent+".") || isArray && strings.HasPrefix(path, array+"[")
}

// Numbers calls do with the path of each number or bool in a message, except in the header. It visits the first 16
// elements of arrays of floats. It visits no other arrays.
func Numbers(m *cdr.Struct, do func(path string)) { numbers(m, "", do) }

func numbers(value any, path string, do func(path string)) {
	switch v := value.(type) {
	case *cdr.Struct:
		for _, f := range v.Fields {
			name := f.Name
			if path != "" {
				name = path + "." + f.Name
			}
			if name != "header" {
				numbers(f.Value, name, do)
			}
		}
	case []float64:
		elements(len(v), path, do)
	case []float32:
		elements(len(v), path, do)
	default:
		if v := reflect.ValueOf(v); v.CanInt() || v.CanUint() || v.CanFloat() || v.Kind() == reflect.Bool {
			do(path)
		}
	}
}

// elements calls do with the paths of the elements of an array of n elements.
func elements(n int, path string, do func(path string)) {
	for i := range min(n, maxElements) {
		do(fmt.Sprintf("%s[%d]", path, i))
	}
}
