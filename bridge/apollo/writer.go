package apollo

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
)

// wireOf returns the wire type of a field of a kind: protowire.BytesType unless it is a number.
func wireOf(kind protoreflect.Kind) protowire.Type {
	switch kind {
	case protoreflect.DoubleKind:
		return protowire.Fixed64Type
	case protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.Uint32Kind, protoreflect.Uint64Kind,
		protoreflect.BoolKind, protoreflect.EnumKind:
		return protowire.VarintType
	}
	return protowire.BytesType
}

// writer appends a message of Apollo's to a slice, field by field. Fields that the descriptor does not have are not
// written.
type writer struct {
	out *[]byte
	d   protoreflect.MessageDescriptor
}

// tag appends the tag of a field.
func (w writer) tag(f protoreflect.FieldDescriptor, kind protowire.Type) {
	*w.out = protowire.AppendTag(*w.out, f.Number(), kind)
}

// number writes a number into a field of whatever kind.
func (w writer) number(name protoreflect.Name, v float64) {
	f := w.d.Fields().ByName(name)
	if f == nil {
		return
	}
	switch wireOf(f.Kind()) {
	case protowire.Fixed64Type:
		w.tag(f, protowire.Fixed64Type)
		*w.out = protowire.AppendFixed64(*w.out, math.Float64bits(v))
	case protowire.Fixed32Type:
		w.tag(f, protowire.Fixed32Type)
		*w.out = protowire.AppendFixed32(*w.out, math.Float32bits(float32(v)))
	case protowire.VarintType:
		w.integer(name, int64(v))
	}
}

// integer writes an integer, a bool or the number of an enum.
func (w writer) integer(name protoreflect.Name, v int64) {
	f := w.d.Fields().ByName(name)
	if f == nil {
		return
	}
	switch wireOf(f.Kind()) {
	case protowire.VarintType:
		w.tag(f, protowire.VarintType)
		*w.out = protowire.AppendVarint(*w.out, uint64(v))
	case protowire.Fixed64Type, protowire.Fixed32Type:
		w.number(name, float64(v))
	}
}

func (w writer) bool(name protoreflect.Name, v bool) { w.integer(name, int64(protowire.EncodeBool(v))) }

func (w writer) text(name protoreflect.Name, v string) {
	if f := w.d.Fields().ByName(name); f != nil &&
		(f.Kind() == protoreflect.StringKind || f.Kind() == protoreflect.BytesKind) {
		w.tag(f, protowire.BytesType)
		*w.out = protowire.AppendString(*w.out, v)
	}
}

func (w writer) bytes(name protoreflect.Name, v []byte) {
	if f := w.d.Fields().ByName(name); f != nil && f.Kind() == protoreflect.BytesKind {
		w.tag(f, protowire.BytesType)
		*w.out = protowire.AppendBytes(*w.out, v)
	}
}

// numbers writes a repeated field of doubles.
func (w writer) numbers(name protoreflect.Name, list []float64) {
	f := w.d.Fields().ByName(name)
	if f == nil || f.Kind() != protoreflect.DoubleKind {
		return
	}
	w.tag(f, protowire.BytesType)
	*w.out = protowire.AppendVarint(*w.out, uint64(8*len(list)))
	for _, v := range list {
		*w.out = protowire.AppendFixed64(*w.out, math.Float64bits(v))
	}
}

// message writes a message in the message, or one more of a repeated field.
func (w writer) message(name protoreflect.Name, write func(w writer)) {
	f := w.d.Fields().ByName(name)
	if f == nil || f.Kind() != protoreflect.MessageKind {
		return
	}
	w.tag(f, protowire.BytesType)
	*w.out = append(*w.out, 0)
	start := len(*w.out)
	write(writer{w.out, f.Message()})
	*w.out = closeLength(*w.out, start)
}

// closeLength sets the length of what begins at start, for which one byte in front of it is reserved.
func closeLength(out []byte, start int) []byte {
	n := len(out) - start
	if n < 0x80 {
		out[start-1] = byte(n)
		return out
	}
	var room [binary.MaxVarintLen64]byte
	more := protowire.SizeVarint(uint64(n)) - 1
	out = append(out, room[:more]...)
	copy(out[start+more:], out[start:])
	binary.PutUvarint(out[start-1:], uint64(n))
	return out
}

func (w writer) vector(name protoreflect.Name, v geometry_msgs.Vector3) {
	w.message(name, func(w writer) {
		w.number("x", v.X)
		w.number("y", v.Y)
		w.number("z", v.Z)
	})
}

func (w writer) orientation(name protoreflect.Name, q geometry_msgs.Quaternion) {
	w.message(name, func(w writer) {
		w.number("qx", q.X)
		w.number("qy", q.Y)
		w.number("qz", q.Z)
		w.number("qw", q.W)
	})
}

func nanoseconds(t builtin_interfaces.Time) int64 { return int64(t.Sec)*1e9 + int64(t.Nanosec) }

func seconds(ns int64) float64 { return float64(ns/1e9) + float64(ns%1e9)/1e9 }

// gpsLead is by how many seconds GPS is ahead of UTC, from times of UTC on, in s since the Unix epoch.
var gpsLead = []struct{ from, seconds int64 }{{1483228800, 18}, {1435708800, 17}, {1341100800, 16}, {1230768000, 15}}

// gpsSeconds returns the seconds since the epoch of GPS, 1980-01-06.
func gpsSeconds(ns int64) float64 {
	const epoch = 315964800
	lead := int64(14)
	for _, l := range gpsLead {
		if ns >= l.from*1e9 {
			lead = l.seconds
			break
		}
	}
	return seconds(ns + (lead-epoch)*1e9)
}
