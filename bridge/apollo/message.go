package apollo

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/codec"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/std_msgs"
)

// message reads the fields of an encoded message by name. A field that is not set has its default, which is NaN for
// most numbers of Apollo. A field that the descriptor does not have is zero.
type message struct {
	d       protoreflect.MessageDescriptor // nil if the message is not set
	b       []byte
	logTime int64  // ns since the Unix epoch
	damage  *error // the first that was found
}

// read calls use with a message, and returns the first damage that use met.
func read(d protoreflect.MessageDescriptor, data []byte, logTime int64, use func(message)) (err error) {
	use(message{d, data, logTime, &err})
	return err
}

// field returns the field with a name, nil if the descriptor does not have it with one of the kinds, which are all if
// none are given.
func (m message) field(name string, kinds ...protoreflect.Kind) protoreflect.FieldDescriptor {
	if m.d == nil {
		return nil
	}
	f := m.d.Fields().ByName(protoreflect.Name(name))
	if f == nil || f.IsMap() || len(kinds) > 0 && !slices.Contains(kinds, f.Kind()) {
		return nil
	}
	return f
}

// each calls found with all values of a field, if there is one: with the bits of a number, or the content of any other
// kind.
func (m message) each(f protoreflect.FieldDescriptor, found func(bits uint64, content []byte)) {
	if f == nil {
		return
	}
	wanted, want := f.Number(), protowire.BytesType
	if number := numberKinds[f.Kind()]; number.width > 0 {
		want = number.wire
	}
	for at := 0; at < len(m.b); {
		number, kind, n := consumeTag(m.b[at:])
		if n < 0 {
			m.damaged(at, n)
			return
		}
		bits, content, size := consume(number, kind, m.b[at+n:])
		if size < 0 {
			m.damaged(at, size)
			return
		}
		switch {
		case number != wanted:
		case kind == want:
			found(bits, content)
		case kind == protowire.BytesType && f.IsList(): // packed
			for len(content) > 0 {
				bits, _, n := consume(number, want, content)
				if n < 0 {
					m.damaged(at, n)
					return
				}
				found(bits, nil)
				content = content[n:]
			}
		}
		at += n + size
	}
}

func (m message) damaged(at, code int) {
	if *m.damage == nil {
		*m.damage = fmt.Errorf("%s: byte %d: %w", m.d.FullName(), at, parseError(code))
	}
}

// one returns the last value of a field. ok reports whether it is set.
func (m message) one(f protoreflect.FieldDescriptor) (bits uint64, content []byte, ok bool) {
	m.each(f, func(b uint64, c []byte) { bits, content, ok = b, c, true })
	return bits, content, ok
}

func (m message) has(name string) bool {
	_, _, ok := m.one(m.field(name))
	return ok
}

// sub returns a message in the message, empty if it is not set.
func (m message) sub(name string) message {
	inner := message{logTime: m.logTime, damage: m.damage}
	f := m.field(name, protoreflect.MessageKind)
	m.each(f, func(_ uint64, content []byte) {
		if inner.d != nil { // in parts
			content = slices.Concat(inner.b, content)
		}
		inner.d, inner.b = f.Message(), content
	})
	return inner
}

// list returns the messages of a repeated field.
func (m message) list(name string) []message {
	var list []message
	f := m.field(name, protoreflect.MessageKind)
	m.each(f, func(_ uint64, content []byte) {
		list = append(list, message{f.Message(), content, m.logTime, m.damage})
	})
	return list
}

// number returns the bits of a number as planField has them, or of its default, if the field is of one of the kinds.
func (m message) number(name string, kinds ...protoreflect.Kind) (bits uint64, kind protoreflect.Kind) {
	f := m.field(name, kinds...)
	if f == nil {
		return 0, 0
	}
	bits, _, ok := m.one(f)
	if !ok {
		bits = defaultBits(f)
	}
	return bits, f.Kind()
}

func (m message) float(name string) float64 {
	bits, kind := m.number(name, protoreflect.FloatKind, protoreflect.DoubleKind)
	if kind == protoreflect.FloatKind {
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

// known is float with zero for NaN, which Apollo uses for unknown numbers.
func (m message) known(name string) float64 {
	if f := m.float(name); !math.IsNaN(f) {
		return f
	}
	return 0
}

func (m message) uint(name string) uint64 {
	bits, _ := m.number(name, protoreflect.Uint32Kind, protoreflect.Uint64Kind)
	return bits
}

func (m message) int(name string) int {
	bits, _ := m.number(name, protoreflect.Int32Kind)
	return int(int32(bits))
}

func (m message) bool(name string) bool {
	bits, _ := m.number(name, protoreflect.BoolKind)
	return bits != 0
}

func (m message) text(name string) string {
	f := m.field(name, protoreflect.StringKind)
	_, content, ok := m.one(f)
	if f != nil && !ok {
		return f.Default().String()
	}
	return string(content)
}

// bytes returns a part of the encoded message itself.
func (m message) bytes(name string) []byte {
	_, content, _ := m.one(m.field(name, protoreflect.BytesKind))
	return content
}

func (m message) enum(name string) int {
	bits, _ := m.number(name, protoreflect.EnumKind)
	return int(int32(bits))
}

// enumName returns the name of the value of an enumeration, or its number if it has none.
func (m message) enumName(name string) string {
	f := m.field(name, protoreflect.EnumKind)
	if f == nil {
		return ""
	}
	n := m.enum(name)
	if v := f.Enum().Values().ByNumber(protoreflect.EnumNumber(n)); v != nil {
		return string(v.Name())
	}
	return strconv.Itoa(n)
}

// floats returns the numbers of a list.
func (m message) floats(name string) []float64 {
	var list []float64
	m.each(m.field(name, protoreflect.DoubleKind), func(bits uint64, _ []byte) {
		list = append(list, math.Float64frombits(bits))
	})
	return list
}

// header returns the ROS header of the message: stamped by the sensor where Apollo keeps that, to a quarter of a
// microsecond otherwise, and with the time of the recording where there is no stamp.
func (m message) header(frame string) std_msgs.Header {
	h := m.sub("header")
	ns := m.logTime
	if s := h.float("timestamp_sec"); h.has("timestamp_sec") && s >= 0 && s < math.MaxInt32 {
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
	return std_msgs.Header{Stamp: builtin_interfaces.TimeAt(ns), FrameId: frame}
}

// vector returns a Point3D.
func (m message) vector(name string) geometry_msgs.Vector3 {
	v := m.sub(name)
	return geometry_msgs.Vector3{X: v.known("x"), Y: v.known("y"), Z: v.known("z")}
}

// orientation returns a Quaternion. Apollo allows messages to omit its qw.
func (m message) orientation(name string) geometry_msgs.Quaternion {
	v := m.sub(name)
	q := geometry_msgs.Quaternion{X: v.known("qx"), Y: v.known("qy"), Z: v.known("qz"), W: v.known("qw")}
	if !v.has("qw") || math.IsNaN(v.float("qw")) {
		q.W = math.Sqrt(max(0, 1-q.X*q.X-q.Y*q.Y-q.Z*q.Z))
	}
	return q
}

// consumeTag does what protowire.ConsumeTag does, and refuses numbers that no field can have, as proto.Unmarshal does.
func consumeTag(b []byte) (protowire.Number, protowire.Type, int) {
	number, kind, n := protowire.ConsumeTag(b)
	if n > 0 && !number.IsValid() {
		return protowire.ConsumeTag([]byte{0}) // the error of a field 0
	}
	return number, kind, n
}

// parseError returns the error that a negative length of protowire stands for.
func parseError(n int) error { return codec.Plain(protowire.ParseError(n)) }
