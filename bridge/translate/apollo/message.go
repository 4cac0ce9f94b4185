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

// parser reads messages of Apollo, one after the other. Only one goroutine may use it.
type parser struct {
	logTime int64         // LogTime of the current message, in ns since the Unix epoch
	stack   []slot        // slots of the current message and of the messages in it
	opened  []opened      // messages whose losses are counted: the current message and messages in it
	damage  error         // first error in the current message
	lost    messageLosses // losses of the current message
}

// opened is a message that is being read.
type opened struct {
	b      []byte
	first  int // index of the message's first slot in parser.stack
	losses *fieldLoss
}

// begin begins to read a message. Fields that are not read count as lost, unless losses is nil.
func (r *parser) begin(p *plan, b []byte, logTime int64, losses *fieldLoss) message {
	r.logTime, r.stack, r.opened, r.damage = logTime, r.stack[:0], r.opened[:0], nil
	return r.message(p, b, losses)
}

// message scans an encoded message.
func (r *parser) message(p *plan, b []byte, losses *fieldLoss) message {
	first := len(r.stack)
	r.stack = append(r.stack, p.unset...)
	m := message{r, p, b, r.stack[first:], losses}
	unknown := func(*plan) {}
	if losses != nil {
		losses.open(p)
		r.opened = append(r.opened, opened{b, first, losses})
		unknown = func(*plan) { r.lost.add(losses.undescribed()) }
	}
	m.setDamage(p.scan(m.slots, b, unknown))
	return m
}

// close ends the reading of all opened messages but the first n. A field that has a value other than zero or empty, and
// was not read, is lost.
func (r *parser) close(n int) {
	for i := range r.opened[n:] {
		m := &r.opened[n+i]
		for k, read := range m.losses.read {
			if s := &r.stack[m.first+k]; s.count > 0 && !read && m.losses.plan.fields[k].isSet(*s, m.b) {
				r.lost.add(m.losses.fields[k].counter())
			}
		}
		clear(m.losses.read)
	}
	r.opened = r.opened[:n]
}

// message gives access to the fields of an encoded message by name. A field that is not set has its default, which is
// NaN for most numbers of Apollo. A field that the description does not have is zero.
type message struct {
	*parser
	plan   *plan // nil if the message is not set
	b      []byte
	slots  []slot
	losses *fieldLoss // nil: losses are not counted
}

// setDamage keeps the first error in the message.
func (m message) setDamage(err error) {
	if err != nil && m.damage == nil {
		m.damage = fmt.Errorf("%s: %w", m.plan.descriptor.FullName(), err)
	}
}

// field returns the field with a name, and its slot. It returns nil if the description does not have the field with one
// of the kinds. No kinds means any kind.
func (m message) field(name string, list bool, kinds ...protoreflect.Kind) (*planField, slot) {
	if m.plan == nil {
		return nil, slot{}
	}
	f := m.plan.find(name, 0)
	if f == nil || f.list != list || len(kinds) > 0 && !slices.Contains(kinds, f.kind) {
		return nil, slot{}
	}
	if m.losses != nil {
		m.losses.read[f.index] = true
	}
	return f, m.slots[f.index]
}

func (m message) has(name string) bool {
	_, place := m.field(name, false)
	return place.count > 0
}

// sub returns a message in the message, or an empty message if the field is not set.
func (m message) sub(name string) message {
	f, place := m.field(name, false, protoreflect.MessageKind)
	if place.count == 0 || f.message == nil {
		return message{parser: m.parser}
	}
	content := m.b[place.at:][:place.n]
	if place.count > 1 {
		var err error
		content, err = mergeOccurrences(f, place, m.b)
		m.setDamage(err)
	}
	return m.message(f.message, content, m.losses.field(f))
}

// occurrences returns an iterator over the occurrences of a list whose elements have a kind, and the number of
// occurrences.
func (m message) occurrences(name string, kind protoreflect.Kind) (occurrences, int) {
	f, place := m.field(name, true, kind)
	return occurrences{f, m.b, place.at, place.count}, place.count
}

// number returns the bits of a number as in planField.bits, and its kind. It returns zeros if the field does not have
// one of the kinds.
func (m message) number(name string, kinds ...protoreflect.Kind) (bits uint64, kind protoreflect.Kind) {
	f, place := m.field(name, false, kinds...)
	if f == nil {
		return 0, 0
	}
	return place.bits, f.kind
}

func (m message) float(name string) float64 {
	bits, kind := m.number(name, protoreflect.FloatKind, protoreflect.DoubleKind)
	if kind == protoreflect.FloatKind {
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

// numberOrZero returns a float, or zero if it is NaN, which Apollo uses for unknown numbers.
func (m message) numberOrZero(name string) float64 {
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
	f, place := m.field(name, false, protoreflect.StringKind)
	if f != nil && place.count == 0 {
		return f.text
	}
	return string(m.b[place.at:][:place.n])
}

// bytes returns the value of a field of bytes, in the memory of the encoded message.
func (m message) bytes(name string) []byte {
	_, place := m.field(name, false, protoreflect.BytesKind)
	return m.b[place.at:][:place.n]
}

func (m message) enum(name string) int {
	bits, _ := m.number(name, protoreflect.EnumKind)
	return int(int32(bits))
}

// enumName returns the name of the value of an enumeration, or the number of a value without a name.
func (m message) enumName(name string) string {
	f, place := m.field(name, false, protoreflect.EnumKind)
	if f == nil {
		return ""
	}
	n := protoreflect.EnumNumber(place.bits)
	if v := f.descriptor.Enum().Values().ByNumber(n); v != nil {
		return string(v.Name())
	}
	return strconv.Itoa(int(n))
}

// floats returns the numbers of a list.
func (m message) floats(name string) []float64 {
	var list []float64
	all, _ := m.occurrences(name, protoreflect.DoubleKind)
	for all.next() {
		_, kind, bits, packed := all.read()
		if kind != protowire.BytesType {
			list = append(list, math.Float64frombits(bits))
		}
		for len(packed) > 0 {
			v, n := protowire.ConsumeFixed64(packed)
			if n < 0 {
				m.setDamage(fmt.Errorf("%s: %w", name, parseError(n)))
				break
			}
			list, packed = append(list, math.Float64frombits(v)), packed[n:]
		}
	}
	return list
}

// header returns the ROS header of the message. The stamp is the sensor's time in ns if Apollo has it, else
// timestamp_sec, which is exact to a quarter of a microsecond, else the log time.
func (m message) header(frame string) std_msgs.Header {
	h := m.sub("header")
	ns := m.logTime
	if s := h.float("timestamp_sec"); h.has("timestamp_sec") && s >= 0 && s < math.MaxInt32 {
		ns = int64(math.Round(s * 1e9))
	}
	for _, sensor := range []string{"radar_timestamp", "camera_timestamp", "lidar_timestamp"} {
		if t := h.uint(sensor); t > 0 && t < math.MaxInt32*uint64(1e9) {
			ns = int64(t)
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
	return geometry_msgs.Vector3{X: v.numberOrZero("x"), Y: v.numberOrZero("y"), Z: v.numberOrZero("z")}
}

// orientation returns a Quaternion. Apollo allows messages to omit qw.
func (m message) orientation(name string) geometry_msgs.Quaternion {
	v := m.sub(name)
	q := geometry_msgs.Quaternion{
		X: v.numberOrZero("qx"), Y: v.numberOrZero("qy"), Z: v.numberOrZero("qz"), W: v.numberOrZero("qw"),
	}
	if !v.has("qw") || math.IsNaN(v.float("qw")) {
		q.W = math.Sqrt(max(0, 1-q.X*q.X-q.Y*q.Y-q.Z*q.Z))
	}
	return q
}

// consumeTag is protowire.ConsumeTag, but refuses invalid field numbers, as proto.Unmarshal does.
func consumeTag(b []byte) (protowire.Number, protowire.Type, int) {
	number, kind, n := protowire.ConsumeTag(b)
	if n > 0 && !number.IsValid() {
		return protowire.ConsumeTag([]byte{0}) // the error of a field 0
	}
	return number, kind, n
}

// parseError returns the error that a negative length of protowire stands for.
func parseError(n int) error { return codec.Plain(protowire.ParseError(n)) }
