package apollo

import (
	"math"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/std_msgs"
)

// message gives the fields of a message by their names. What is not set has its default, which for most numbers of
// Apollo's is NaN; what the descriptor does not know is zero.
type message struct {
	m       protoreflect.Message
	logTime int64 // ns since the Unix epoch
}

func parse(d protoreflect.MessageDescriptor, data []byte, logTime int64) (message, error) {
	m := dynamicpb.NewMessage(d)
	// Apollo's messages are of proto2; one that lacks a required field still says what it says.
	err := proto.UnmarshalOptions{AllowPartial: true, DiscardUnknown: true}.Unmarshal(data, m)
	return message{m, logTime}, err
}

// value returns a field, which may be invalid. The kinds are those that the field may be of.
func (m message) value(name string, kinds ...protoreflect.Kind) protoreflect.Value {
	if m.m == nil {
		return protoreflect.Value{}
	}
	field := m.m.Descriptor().Fields().ByName(protoreflect.Name(name))
	if field == nil || field.IsList() || field.IsMap() {
		return protoreflect.Value{}
	}
	for _, kind := range kinds {
		if field.Kind() == kind {
			return m.m.Get(field)
		}
	}
	return protoreflect.Value{}
}

func (m message) has(name string) bool {
	if m.m == nil {
		return false
	}
	field := m.m.Descriptor().Fields().ByName(protoreflect.Name(name))
	return field != nil && m.m.Has(field)
}

// sub returns a message in the message, which is empty when it is not set.
func (m message) sub(name string) message {
	if !m.has(name) {
		return message{logTime: m.logTime}
	}
	v := m.value(name, protoreflect.MessageKind)
	if !v.IsValid() {
		return message{logTime: m.logTime}
	}
	return message{v.Message(), m.logTime}
}

// list returns the messages of a repeated field.
func (m message) list(name string) []message {
	if !m.has(name) {
		return nil
	}
	field := m.m.Descriptor().Fields().ByName(protoreflect.Name(name))
	if !field.IsList() || field.Kind() != protoreflect.MessageKind {
		return nil
	}
	values := m.m.Get(field).List()
	list := make([]message, values.Len())
	for i := range list {
		list[i] = message{values.Get(i).Message(), m.logTime}
	}
	return list
}

func (m message) float(name string) float64 {
	v := m.value(name, protoreflect.FloatKind, protoreflect.DoubleKind)
	if !v.IsValid() {
		return 0
	}
	return v.Float()
}

// known is float with zero for NaN, which stands for what is not known.
func (m message) known(name string) float64 {
	if f := m.float(name); !math.IsNaN(f) {
		return f
	}
	return 0
}

func (m message) uint(name string) uint64 {
	v := m.value(name, protoreflect.Uint32Kind, protoreflect.Uint64Kind)
	if !v.IsValid() {
		return 0
	}
	return v.Uint()
}

func (m message) bool(name string) bool {
	v := m.value(name, protoreflect.BoolKind)
	return v.IsValid() && v.Bool()
}

func (m message) text(name string) string {
	v := m.value(name, protoreflect.StringKind)
	if !v.IsValid() {
		return ""
	}
	return v.String()
}

func (m message) bytes(name string) []byte {
	v := m.value(name, protoreflect.BytesKind)
	if !v.IsValid() {
		return nil
	}
	return v.Bytes()
}

func (m message) enum(name string) int {
	v := m.value(name, protoreflect.EnumKind)
	if !v.IsValid() {
		return 0
	}
	return int(v.Enum())
}

// header returns the ROS header of the message: stamped by the sensor where Apollo keeps that, to a quarter of a
// microsecond otherwise, and with the time of the recording where there is no stamp.
func (m message) header(frame string) std_msgs.Header {
	h := m.sub("header")
	ns := m.logTime
	if s := h.float("timestamp_sec"); s > 0 && s < math.MaxInt32 {
		ns = int64(math.Round(s * 1e9))
	}
	for _, sensor := range []string{"lidar_timestamp", "camera_timestamp", "radar_timestamp"} {
		if t := h.uint(sensor); t > 0 && t < math.MaxInt32*uint64(1e9) {
			ns = int64(t)
			break
		}
	}
	for _, given := range []string{h.text("frame_id"), m.text("frame_id")} {
		if given != "" {
			frame = given
			break
		}
	}
	return std_msgs.Header{Stamp: stamp(ns), FrameId: frame}
}

func stamp(ns int64) builtin_interfaces.Time {
	return builtin_interfaces.Time{Sec: int32(ns / 1e9), Nanosec: uint32(ns % 1e9)}
}

// vector returns a Point3D.
func (m message) vector(name string) geometry_msgs.Vector3 {
	v := m.sub(name)
	return geometry_msgs.Vector3{X: v.known("x"), Y: v.known("y"), Z: v.known("z")}
}

// position returns a Point3D or PointENU.
func (m message) position(name string) geometry_msgs.Point {
	return geometry_msgs.Point(m.vector(name))
}

// orientation returns a Quaternion, whose qw may have been left out, as Apollo allows it.
func (m message) orientation(name string) geometry_msgs.Quaternion {
	v := m.sub(name)
	q := geometry_msgs.Quaternion{X: v.known("qx"), Y: v.known("qy"), Z: v.known("qz"), W: v.known("qw")}
	if !v.has("qw") || math.IsNaN(v.float("qw")) {
		q.W = math.Sqrt(max(0, 1-q.X*q.X-q.Y*q.Y-q.Z*q.Z))
	}
	return q
}
