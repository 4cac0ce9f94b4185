package mavros

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/bluenviron/gomavlib/v3/pkg/message"

	"tapedeck/bridge/device/mavlink"
	"tapedeck/codec"
	"tapedeck/codec/format/tlog"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// rawPackage is the package of the types that are generated from MAVLink's definitions.
const rawPackage = "mavlink"

// rawType is the ROS 2 type for a message of MAVLink. It has the message's fields in the order of the definition.
type rawType struct {
	name, text string
	kinds      []string // ROS 2 types of the fields; nil for an unknown message
}

// rawTypes holds types by message id.
type rawTypes map[uint32]*rawType

// typeOf returns the type of a message. A message with an unknown id has one field with its bytes.
func (r rawTypes) typeOf(m message.Message) *rawType {
	id := m.GetID()
	if t := r[id]; t != nil {
		return t
	}
	t := &rawType{name: "Unknown", text: "uint32 id\nuint8[] payload\n"}
	if _, unknown := m.(*message.MessageRaw); !unknown {
		kind := reflect.TypeOf(m).Elem()
		t.name, t.text = strings.TrimPrefix(kind.Name(), "Message"), ""
		for i := range kind.NumField() {
			f := kind.Field(i)
			ros, length := rosKind(f.Type, f.Tag.Get("mavenum"))
			t.kinds = append(t.kinds, ros)
			t.text += ros + length + " " + fieldName(f.Name) + "\n"
		}
	}
	r[id] = t
	return t
}

// rosKind returns the ROS 2 type of a gomavlib field, and the length if the field is an array. enum is the type of an
// enumeration on the wire.
func rosKind(t reflect.Type, enum string) (kind, length string) {
	if t.Kind() == reflect.Array {
		kind, _ = rosKind(t.Elem(), enum)
		return kind, fmt.Sprintf("[%d]", t.Len())
	}
	if enum != "" {
		return strings.TrimSuffix(enum, "_t"), ""
	}
	return t.Kind().String(), "" // named as in ROS 2: uint8, float32, string
}

// fieldName returns the name of a field in ROS 2: "time_boot_ms" for TimeBootMs.
func fieldName(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.ReplaceAll(strings.ReplaceAll(b.String(), "__", "_"), "__", "_")
}

// sendRaw adds the raw message of a frame to the batch.
func (r *logTranslator) sendRaw(f *mavlink.Frame) error {
	t := r.raw.typeOf(f.Message)
	name := tlog.MessageName(f.Message)
	if t.kinds == nil && t.name == "Unknown" {
		name = fmt.Sprintf("%s_%d", name, f.Message.GetID())
	}
	var create func() (*codec.Channel, error)
	topic := fmt.Sprintf("/mavlink/%s/comp%d/%s", VehicleName(f.System), f.Component, name)
	if r.surveys {
		create = func() (*codec.Channel, error) { return t.channel(topic) }
	}
	r.send(topic, create, func(to []byte) ([]byte, error) { return t.encode(to, f.Message) })
	return r.fatal
}

// channel returns a channel of messages of the type.
func (t *rawType) channel(topic string) (*codec.Channel, error) {
	kind := rawPackage + "/msg/" + t.name
	library, err := rosidl.ParseConcatenated(kind, t.text)
	if err != nil {
		return nil, err
	}
	return codec.NewChannel(library, topic, kind)
}

// encode appends a message in CDR.
func (t *rawType) encode(to []byte, m message.Message) ([]byte, error) {
	e := wire.NewEncoder(to)
	if raw, unknown := m.(*message.MessageRaw); unknown {
		e.Uint32(raw.ID)
		wire.EncodeSequence(e, raw.Payload, 0)
		return e.Bytes(), e.Err()
	}
	v := reflect.ValueOf(m).Elem()
	for i, kind := range t.kinds {
		f := v.Field(i)
		if f.Kind() != reflect.Array {
			encodeValue(e, kind, f)
			continue
		}
		for k := range f.Len() {
			encodeValue(e, kind, f.Index(k))
		}
	}
	return e.Bytes(), e.Err()
}

// encodeValue encodes a value of the ROS 2 type kind. The Go type may differ: gomavlib's enumerations are wider than
// the enumerations on the wire.
func encodeValue(e *wire.Encoder, kind string, v reflect.Value) {
	var bits uint64
	switch {
	case v.CanUint():
		bits = v.Uint()
	case v.CanInt():
		bits = uint64(v.Int())
	case kind == "float32":
		e.Float32(float32(v.Float()))
		return
	case kind == "float64":
		e.Float64(v.Float())
		return
	default:
		e.String(v.String(), 0)
		return
	}
	switch strings.TrimPrefix(kind, "u") {
	case "int8":
		e.Uint8(uint8(bits))
	case "int16":
		e.Uint16(uint16(bits))
	case "int32":
		e.Uint32(uint32(bits))
	default:
		e.Uint64(bits)
	}
}
