package report

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

const (
	mostSignals  = 96  // that are drawn by default
	mostFields   = 200 // of a topic that are listed
	mostElements = 16  // of an array
)

// usual are the numbers that are drawn by default, by type, with their unit. A path that ends with "[]" is each element
// of an array.
var usual = map[string][]string{
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

// signal gathers a number.
type signal struct {
	Signal
	path *cdr.Path
	some bool
}

// fields gathers the numbers of a topic.
type fields struct {
	builder *builder
	channel *codec.Channel
	schema  *cdr.Schema
	begun   bool
	signals []*signal
}

func (b *builder) fields(c *codec.Channel, s *cdr.Schema) sink {
	return &fields{builder: b, channel: c, schema: s}
}

// begin lists the numeric fields that the first message has, and chooses those that are drawn.
func (f *fields) begin(payload []byte) error {
	f.begun = true
	m, err := f.schema.Decode(payload)
	if err != nil {
		return err
	}
	b, listed := f.builder, 0
	drawn := map[string]bool{}
	draw := func(path, unit string) {
		if drawn[path] || len(b.signals) >= mostSignals && !slices.Contains(b.wanted[f.channel.Topic], path) {
			return
		}
		if p, err := f.schema.Path(path); err == nil {
			group := path
			if i := strings.LastIndexAny(path, ".["); i > 0 {
				group = path[:i]
			}
			s := &signal{Signal: Signal{Topic: f.channel.Topic, Path: path, Group: group, Unit: unit}, path: p}
			s.Low, s.High = make(Numbers, Bins), make(Numbers, Bins)
			for i := range s.Low {
				s.Low[i], s.High[i] = float32(math.NaN()), float32(math.NaN())
			}
			drawn[path] = true
			f.signals, b.signals = append(f.signals, s), append(b.signals, s)
		}
	}
	wanted := b.wanted[f.channel.Topic]
	each(m, "", func(path string) {
		if listed++; listed > mostFields {
			return
		}
		for _, usual := range usual[f.channel.Type] {
			usual, unit, _ := strings.Cut(usual, " ")
			array, isArray := strings.CutSuffix(usual, "[]")
			if path == usual || strings.HasPrefix(path, usual+".") || isArray && strings.HasPrefix(path, array+"[") {
				draw(path, unit)
			}
		}
		if slices.Contains(wanted, path) {
			draw(path, "")
		}
		b.Fields = append(b.Fields, Field{f.channel.Topic, path, drawn[path]})
	})
	for _, path := range wanted {
		draw(path, "")
	}
	return nil
}

// each calls do with the path of each number in a message.
func each(value any, path string, do func(path string)) {
	switch v := value.(type) {
	case *cdr.Struct:
		for _, f := range v.Fields {
			name := f.Name
			if path != "" {
				name = path + "." + f.Name
			}
			if name != "header" {
				each(f.Value, name, do)
			}
		}
	case []float64:
		elements(len(v), path, do)
	case []float32:
		elements(len(v), path, do)
	default:
		if _, ok := number(v); ok {
			do(path)
		}
	}
}

func elements(n int, path string, do func(path string)) {
	for i := range min(n, mostElements) {
		do(fmt.Sprintf("%s[%d]", path, i))
	}
}

func (f *fields) add(m *codec.Message, _ float64) error {
	if !f.begun {
		if err := f.begin(m.Data); err != nil {
			return err
		}
	}
	bin := f.builder.density.bin(m.LogTime)
	for _, s := range f.signals {
		value, err := s.path.Get(m.Data)
		if err != nil {
			if s.path.Type().Shape == rosidl.Sequence || strings.Contains(s.Path, "[") {
				continue // there are fewer elements than before
			}
			return err
		}
		v, ok := number(value)
		if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		s.some = true
		n := float32(v)
		if !(s.Low[bin] <= n) {
			s.Low[bin] = n
		}
		if !(s.High[bin] >= n) {
			s.High[bin] = n
		}
	}
	return nil
}

// numeric reports whether messages of a channel may have a number at a path.
func numeric(c *codec.Channel, path string) bool {
	if c.Encoding != codec.EncodingCDR {
		return false
	}
	schema, err := cdr.NewSchema(c.Library(msgs.Library()), c.Type)
	if err != nil {
		return false
	}
	p, err := schema.Path(path)
	return err == nil && p.Type().Shape == rosidl.Single &&
		!slices.Contains([]rosidl.Kind{rosidl.Nested, rosidl.String, rosidl.WString}, p.Type().Kind)
}

// addSignal adds a signal that has any value.
func (b *builder) addSignal(s *signal) {
	if s.some {
		b.Signals = append(b.Signals, s.Signal)
	}
}

// number returns the value of a numeric field.
func number(value any) (float64, bool) {
	switch v := reflect.ValueOf(value); {
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanUint():
		return float64(v.Uint()), true
	case v.CanFloat():
		return v.Float(), true
	case v.Kind() == reflect.Bool && v.Bool():
		return 1, true
	default:
		return 0, v.Kind() == reflect.Bool
	}
}
