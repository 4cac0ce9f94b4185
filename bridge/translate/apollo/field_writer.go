package apollo

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/codec/encoding/number"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/rosidl"
)

// fieldWriter appends a message of Apollo to out, field by field. It does not write fields that the plan does not have.
type fieldWriter struct {
	out  []byte
	plan *plan
	next int // index at which field begins to search: fields are written roughly in the order of the description
}

// field returns the field with a name, or nil if there is none.
func (w *fieldWriter) field(name string) *planField {
	f := w.plan.find(name, w.next)
	if f != nil {
		w.next = f.index + 1
	}
	return f
}

// number writes a number into a field of any numeric kind.
func (w *fieldWriter) number(name string, v float64) {
	if f := w.field(name); f != nil && f.width > 0 {
		w.put(f, f.bitsOf(v))
	}
}

// integer writes an integer, a bool or the number of an enum into a field of any numeric kind.
func (w *fieldWriter) integer(name string, v int64) {
	f := w.field(name)
	switch {
	case f == nil || f.width == 0:
	case f.kind == protoreflect.FloatKind || f.kind == protoreflect.DoubleKind:
		w.put(f, f.bitsOf(float64(v)))
	default:
		w.put(f, uint64(v))
	}
}

func (w *fieldWriter) put(f *planField, bits uint64) {
	w.out = f.appendNumber(protowire.AppendVarint(w.out, f.tag), bits)
}

// bitsOf returns the bits of a number in the field. Integers are truncated, limited to the range of the field or of
// int64, and sign-extended to 64 bits. NaN becomes the integer 0.
func (f *planField) bitsOf(v float64) uint64 {
	switch f.kind {
	case protoreflect.FloatKind:
		return uint64(math.Float32bits(float32(v)))
	case protoreflect.DoubleKind:
		return math.Float64bits(v)
	}
	switch numberKinds[f.kind].kind {
	case rosidl.Int32:
		v = min(max(v, math.MinInt32), math.MaxInt32)
	case rosidl.Uint32:
		v = min(max(v, 0), math.MaxUint32)
	case rosidl.Uint64:
		v = max(v, 0)
	}
	return uint64(number.Int64(v))
}

func (w *fieldWriter) bool(name string, v bool) { w.integer(name, int64(protowire.EncodeBool(v))) }

func (w *fieldWriter) text(name, v string) {
	if f := w.field(name); f != nil && (f.kind == protoreflect.StringKind || f.kind == protoreflect.BytesKind) {
		w.out = protowire.AppendString(protowire.AppendVarint(w.out, f.tag), v)
	}
}

func (w *fieldWriter) bytes(name string, v []byte) {
	if f := w.field(name); f != nil && f.kind == protoreflect.BytesKind {
		w.out = protowire.AppendBytes(protowire.AppendVarint(w.out, f.tag), v)
	}
}

// numbers writes a repeated field of doubles.
func (w *fieldWriter) numbers(name string, list []float64) {
	f := w.field(name)
	if f == nil || f.kind != protoreflect.DoubleKind {
		return
	}
	w.out = protowire.AppendTag(w.out, f.number, protowire.BytesType)
	w.out = protowire.AppendVarint(w.out, uint64(8*len(list)))
	for _, v := range list {
		w.out = protowire.AppendFixed64(w.out, math.Float64bits(v))
	}
}

// message writes a message in the message, or an element of a repeated message. write writes the fields.
func (w *fieldWriter) message(name string, write func()) {
	f := w.field(name)
	if f == nil || f.kind != protoreflect.MessageKind || f.message == nil {
		return
	}
	w.out = append(protowire.AppendVarint(w.out, f.tag), 0)
	start, outer, next := len(w.out), w.plan, w.next
	w.plan, w.next = f.message, 0
	write()
	w.out, w.plan, w.next = closeLength(w.out, start), outer, next
}

// closeLength writes the length of out[start:] before it. One byte must be reserved for the length.
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

func (w *fieldWriter) vector(name string, v geometry_msgs.Vector3) {
	w.message(name, func() {
		w.number("x", v.X)
		w.number("y", v.Y)
		w.number("z", v.Z)
	})
}

func (w *fieldWriter) orientation(name string, q geometry_msgs.Quaternion) {
	w.message(name, func() {
		w.number("qx", q.X)
		w.number("qy", q.Y)
		w.number("qz", q.Z)
		w.number("qw", q.W)
	})
}

func seconds(ns int64) float64 { return float64(ns/1e9) + float64(ns%1e9)/1e9 }

// gpsLead lists the numbers of seconds by which GPS is ahead of UTC, and the times from which they apply, in s since
// the Unix epoch.
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
