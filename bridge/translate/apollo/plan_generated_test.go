package apollo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rosidl"
	"tapedeck/test/samples"
)

// generatedSchema returns the schema of the generated message, from the definition in a channel.
func generatedSchema(t testing.TB, plans *plans) *cdr.Schema {
	library, err := plans.library()
	require.NoError(t, err)
	c, err := codec.NewChannel(library, "/topic", plans.root().name, codec.DefaultQoS())
	require.NoError(t, err)
	require.Regexp(t, "^RIHS01_[0-9a-f]{64}$", c.TypeHash)
	library, err = rosidl.ParseConcatenated(c.Type, string(c.Schema.Data))
	require.NoError(t, err)
	schema, err := cdr.NewSchema(library, c.Type)
	require.NoError(t, err)
	return schema
}

// structOf returns the ROS 2 message for a message that dynamicpb has decoded.
func structOf(f *plan, m protoreflect.Message) *cdr.Struct {
	s := &cdr.Struct{Type: f.name}
	for i := range f.fields {
		field := &f.fields[i]
		s.Fields = append(s.Fields, cdr.Field{Name: field.name, Value: valueOf(field, m)})
	}
	return s
}

func valueOf(field *planField, m protoreflect.Message) any {
	d := field.descriptor
	v := m.Get(d)
	switch {
	case field.raw:
		alone := dynamicpb.NewMessage(m.Descriptor())
		if !m.Has(d) {
			return []uint8{}
		}
		alone.Set(d, v)
		b, err := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(alone)
		if err != nil {
			panic(err)
		}
		return b
	case d.IsMap():
		all := []*cdr.Struct{}
		v.Map().Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
			all = append(all, &cdr.Struct{Fields: []cdr.Field{
				{Name: "key", Value: single(&field.message.fields[0], key.Value())},
				{Name: "value", Value: mapValue(&field.message.fields[1], value)},
			}})
			return true
		})
		return all
	case d.IsList():
		switch field.Kind {
		case rosidl.Bool:
			return list[bool](field, v.List())
		case rosidl.Int32:
			return list[int32](field, v.List())
		case rosidl.Uint32:
			return list[uint32](field, v.List())
		case rosidl.Int64:
			return list[int64](field, v.List())
		case rosidl.Uint64:
			return list[uint64](field, v.List())
		case rosidl.Float32:
			return list[float32](field, v.List())
		case rosidl.Float64:
			return list[float64](field, v.List())
		case rosidl.String:
			return list[string](field, v.List())
		}
		return list[*cdr.Struct](field, v.List())
	}
	return single(field, v)
}

func mapValue(field *planField, v protoreflect.Value) any {
	if !field.raw {
		return single(field, v)
	}
	b, err := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(v.Message().Interface())
	if err != nil {
		panic(err)
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), b)
}

func list[T any](field *planField, l protoreflect.List) []T {
	all := make([]T, l.Len())
	for i := range all {
		all[i] = single(field, l.Get(i)).(T)
	}
	return all
}

func single(field *planField, v protoreflect.Value) any {
	switch d := field.descriptor; d.Kind() {
	case protoreflect.BytesKind:
		if d.IsList() {
			return &cdr.Struct{Fields: []cdr.Field{{Name: "data", Value: v.Bytes()}}}
		}
		return v.Bytes()
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return structOf(field.message, v.Message())
	case protoreflect.EnumKind:
		return int32(v.Enum())
	case protoreflect.FloatKind:
		return float32(v.Float())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return int32(v.Int())
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return uint32(v.Uint())
	}
	return v.Interface()
}

// requireSame compares the payload of the encoder with the payload that the schema makes of the values from dynamicpb.
func requireSame(t testing.TB, plans *plans, schema *cdr.Schema, encoder *planEncoder, data []byte) {
	m := dynamicpb.NewMessage(plans.root().descriptor)
	require.NoError(t, proto.UnmarshalOptions{AllowPartial: true}.Unmarshal(data, m))
	want, err := schema.Encode(structOf(plans.root(), m))
	require.NoError(t, err)
	got, err := encoder.append(nil, plans.root(), data, func(f *plan) { require.Fail(t, "unknown field", f.name) })
	require.NoError(t, err)
	if string(want) != string(got) {
		decoded, err := schema.Decode(got)
		require.NoError(t, err)
		expected, err := schema.Decode(want)
		require.NoError(t, err)
		require.Equal(t, expected, decoded)
		require.Equal(t, want, got)
	}
	_, err = schema.Decode(got)
	require.NoError(t, err)
}

// TestGeneratedSamples compares the generated message of every message of real recordings with the values that
// dynamicpb reads.
func TestGeneratedSamples(t *testing.T) {
	compared := map[string]int{}
	for _, name := range []string{"example.record.00000", "apollo_cpp_sensors.record"} {
		r, err := formats.Open(samples.Path(t, "apollo/"+name))
		require.NoError(t, err)
		info, err := r.Info()
		require.NoError(t, err)
		generated, schemas := map[*codec.Channel]*plans{}, map[*codec.Channel]*cdr.Schema{}
		for _, topic := range info.Topics {
			d, err := descriptorOf(topic.Channel)
			require.NoError(t, err)
			generated[topic.Channel], err = plansOf(d)
			require.NoError(t, err)
			schemas[topic.Channel] = generatedSchema(t, generated[topic.Channel])
			require.NotNil(t, generated[topic.Channel].byName[d.FullName()])
		}
		var encoder planEncoder
		bridgetest.Each(t, r, codec.Query{}, func(m *codec.Message) {
			compared[m.Channel.Type]++
			requireSame(t, generated[m.Channel], schemas[m.Channel], &encoder, m.Data)
		})
		require.NoError(t, r.Close())
	}
	require.Len(t, compared, 12)
}

// lastMessage returns the descriptor of the last message of a file.
func lastMessage(t testing.TB, file *descriptorpb.FileDescriptorProto) protoreflect.MessageDescriptor {
	d, err := protodesc.FileOptions{AllowUnresolvable: true}.New(file, nil)
	require.NoError(t, err)
	return d.Messages().Get(d.Messages().Len() - 1)
}

func parseFile(t testing.TB, text string) *descriptorpb.FileDescriptorProto {
	var file descriptorpb.FileDescriptorProto
	require.NoError(t, prototext.Unmarshal([]byte(text), &file))
	return &file
}

// odd is a description with the features of Protocol Buffers that ROS 2 does not have.
const odd = `
name: "odd.proto" package: "My.odd__pkg" syntax: "proto2" dependency: "missing.proto"
message_type {
  name: "Inner"
  field { name: "outer" number: 1 type: TYPE_MESSAGE type_name: ".My.odd__pkg.odd_Type" label: LABEL_REPEATED }
  field { name: "value" number: 2 type: TYPE_DOUBLE label: LABEL_OPTIONAL default_value: "nan" }
}
message_type { name: "odd_TypePart" }
message_type {
  name: "odd_Type"
  nested_type { name: "Part" field { name: "x" number: 1 type: TYPE_SINT32 label: LABEL_OPTIONAL default_value: "-3" } }
  nested_type {
    name: "ByNameEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
    field { name: "value" number: 2 type: TYPE_MESSAGE type_name: ".My.odd__pkg.odd_Type.Part" label: LABEL_OPTIONAL }
  }
  nested_type { name: "Grouped" field { name: "b" number: 6 type: TYPE_BOOL label: LABEL_OPTIONAL } }
  enum_type { name: "Mode" value { name: "SLOW" number: 3 } value { name: "slow" number: -1 }
  value { name: "Fast" number: 7 } }
  enum_type { name: "OtherMode" value { name: "FAST" number: 9 } }
  field { name: "theNumber" number: 1 type: TYPE_FLOAT label: LABEL_OPTIONAL default_value: "nan" }
  field { name: "the_number" number: 2 type: TYPE_INT64 label: LABEL_OPTIONAL default_value: "5" }
  field { name: "_HTTPCode_" number: 1000 type: TYPE_FIXED32 label: LABEL_REPEATED options { packed: true } }
  field { name: "blobs" number: 4 type: TYPE_BYTES label: LABEL_REPEATED }
  field { name: "by_name" number: 5 type: TYPE_MESSAGE type_name: ".My.odd__pkg.odd_Type.ByNameEntry"
    label: LABEL_REPEATED }
  field { name: "grouped" number: 6 type: TYPE_GROUP type_name: ".My.odd__pkg.odd_Type.Grouped" label: LABEL_OPTIONAL }
  field { name: "inner" number: 7 type: TYPE_MESSAGE type_name: ".My.odd__pkg.Inner" label: LABEL_OPTIONAL }
  field { name: "mode" number: 8 type: TYPE_ENUM type_name: ".My.odd__pkg.odd_Type.Mode" label: LABEL_OPTIONAL }
  field { name: "other" number: 9 type: TYPE_ENUM type_name: ".My.odd__pkg.odd_Type.OtherMode" label: LABEL_REPEATED }
  field { name: "text" number: 10 type: TYPE_STRING label: LABEL_OPTIONAL default_value: "none" }
  field { name: "nothing" number: 11 type: TYPE_MESSAGE type_name: ".My.odd__pkg.odd_TypePart" label: LABEL_OPTIONAL }
  field { name: "missing" number: 12 type: TYPE_MESSAGE type_name: ".elsewhere.Missing" label: LABEL_OPTIONAL }
  field { name: "Yield" number: 13 type: TYPE_BOOL label: LABEL_OPTIONAL }
}
`

const oddDefinition = `# My.odd__pkg.odd_Type
float32 the_number
int64 the_number_2
uint32[] http_code
my_odd_pkg/OddTypeBlobs[] blobs
my_odd_pkg/OddTypeByNameEntry[] by_name
my_odd_pkg/OddTypeGrouped grouped
my_odd_pkg/Inner inner
int32 SLOW=3
int32 MODE_SLOW=-1
int32 FAST=7
int32 mode
int32 OTHER_MODE_FAST=9
int32[] other
string text
my_odd_pkg/OddTypePart2 nothing
uint8[] missing # elsewhere.Missing, as Protocol Buffers encodes the field
bool yield_field

================================================================================
MSG: my_odd_pkg/Inner
# My.odd__pkg.Inner
uint8[] outer # My.odd__pkg.odd_Type, as Protocol Buffers encodes the field
float64 value

================================================================================
MSG: my_odd_pkg/OddTypeBlobs
uint8[] data

================================================================================
MSG: my_odd_pkg/OddTypeByNameEntry
# My.odd__pkg.odd_Type.ByNameEntry
string key
my_odd_pkg/OddTypePart value

================================================================================
MSG: my_odd_pkg/OddTypePart
# My.odd__pkg.odd_Type.Part
int32 x

================================================================================
MSG: my_odd_pkg/OddTypeGrouped
# My.odd__pkg.odd_Type.Grouped
bool b

================================================================================
MSG: my_odd_pkg/OddTypePart2
# My.odd__pkg.odd_TypePart
`

func TestGeneratedOddities(t *testing.T) {
	d := lastMessage(t, parseFile(t, odd))
	plans, err := plansOf(d)
	require.NoError(t, err)
	library, err := plans.library()
	require.NoError(t, err)
	text, err := library.Concatenated(plans.root().name)
	require.NoError(t, err)
	require.Equal(t, oddDefinition, text)
	schema := generatedSchema(t, plans)

	decode := func(data []byte, unknown ...string) *cdr.Struct {
		var names []string
		payload, err := new(planEncoder).append(nil, plans.root(), data, func(f *plan) { names = append(names, f.name) })
		require.NoError(t, err)
		require.Equal(t, unknown, names)
		s, err := schema.Decode(payload)
		require.NoError(t, err)
		return s
	}
	get := func(s *cdr.Struct, name string) any {
		for _, f := range s.Fields {
			if f.Name == name {
				return f.Value
			}
		}
		require.Fail(t, "no field "+name)
		return nil
	}

	unset := decode(nil)
	require.True(t, math.IsNaN(float64(get(unset, "the_number").(float32))))
	require.True(t, math.IsNaN(get(get(unset, "inner").(*cdr.Struct), "value").(float64)))
	require.EqualValues(t, 5, get(unset, "the_number_2"))
	require.EqualValues(t, 3, get(unset, "mode"))
	require.Equal(t, "none", get(unset, "text"))

	// A field of messages may occur several times, and numbers may be packed or not, whatever the descriptor says.
	var b []byte
	appendField := func(field protowire.Number, content ...byte) {
		b = protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), content)
	}
	appendField(7, protowire.AppendTag(nil, 2, protowire.Fixed64Type)[0], 0, 0, 0, 0, 0, 0, 0, 0x40)
	appendField(9, 9, 9)
	appendField(4, 'a')
	appendField(7, 0x0a, 2, 0x08, 1)
	appendField(4)
	b = append(protowire.AppendTag(b, 9, protowire.VarintType), 3)
	appendField(7, 0x0a, 0)
	appendField(12, 1, 2, 3)
	appendField(1000, 1, 0, 0, 0, 2, 0, 0, 0)
	appendField(10, 't', 'o', 'o')
	appendField(10, 't', 'w', 'o')
	decoded := decode(b)
	inner := get(decoded, "inner").(*cdr.Struct)
	require.Equal(t, 2.0, get(inner, "value"))
	require.Equal(t, []uint8{0x0a, 2, 0x08, 1, 0x0a, 0}, get(inner, "outer"))
	require.Equal(t, []int32{9, 9, 3}, get(decoded, "other"))
	require.Equal(t, []uint32{1, 2}, get(decoded, "http_code"))
	require.Equal(t, []uint8{0x62, 3, 1, 2, 3}, get(decoded, "missing"))
	require.Equal(t, "two", get(decoded, "text"))
	blobs := get(decoded, "blobs").([]*cdr.Struct)
	require.Len(t, blobs, 2)
	require.Equal(t, []uint8{'a'}, blobs[0].Fields[0].Value)

	// A field without a description is reported with the type of the message.
	b = nil
	appendField(77, 1)
	appendField(7, 0x18, 1)
	appendField(8, 1) // field 8 has another wire type
	decode(b, "my_odd_pkg/msg/OddType", "my_odd_pkg/msg/OddType", "my_odd_pkg/msg/Inner")

	for name, data := range map[string][]byte{
		"tag": {0x80}, "field 0": {0}, "varint": {0x40, 0x80}, "length": {0x52, 5, 'a'}, "nested": {0x3a, 1, 0x11},
		"group": {0x33, 0x30, 1}, "other end": {0x33, 0x3c}, "packed": {0xc2, 0x3e, 3, 1, 2, 3},
		"unknown": {0xea, 4, 9},
		"part":    {0x3a, 1, 0x0a, 0x3a, 1, 0},
	} {
		_, err := new(planEncoder).append(nil, plans.root(), data, func(*plan) {})
		require.Error(t, err, name)
	}
}

// TestGeneratedTooLarge checks that a description is refused in which each type doubles the size of the messages.
func TestGeneratedTooLarge(t *testing.T) {
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("f"), Package: proto.String("p")}
	for i := range 60 {
		m := &descriptorpb.DescriptorProto{Name: proto.String(fmt.Sprint("M", i))}
		for n := int32(1); n <= 2 && i > 0; n++ {
			m.Field = append(m.Field, &descriptorpb.FieldDescriptorProto{
				Name: proto.String(fmt.Sprint("f", n)), Number: &n,
				Label:    descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
				Type:     descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(),
				TypeName: proto.String(fmt.Sprint(".p.M", i-1)),
			})
		}
		file.MessageType = append(file.MessageType, m)
	}
	_, err := plansOf(lastMessage(t, file))
	require.ErrorContains(t, err, "too large for ROS 2, even when nothing is set")
}

// TestGeneratedRandom compares random messages of random types with the values from dynamicpb.
func TestGeneratedRandom(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 80
	}
	for seed := range seeds {
		r := randomTypes{rand.New(rand.NewPCG(seed, 7))}
		d := lastMessage(t, r.file())
		plans, err := plansOf(d)
		require.NoError(t, err)
		schema := generatedSchema(t, plans)
		var encoder planEncoder
		for range 10 {
			m := dynamicpb.NewMessage(d)
			r.fill(m, 0)
			data, err := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(m)
			require.NoError(t, err)
			requireSame(t, plans, schema, &encoder, data)
			if one := d.Oneofs().ByName("oneof"); one != nil {
				for i := range one.Fields().Len() { // the last field of a oneof counts
					if f := one.Fields().Get(i); f.Kind() == protoreflect.BoolKind {
						data = protowire.AppendVarint(protowire.AppendTag(data, f.Number(), protowire.VarintType), 1)
					}
				}
				requireSame(t, plans, schema, &encoder, data)
			}
		}
	}
}

type randomTypes struct{ *rand.Rand }

func (r randomTypes) file() *descriptorpb.FileDescriptorProto {
	syntax := []string{"proto2", "proto3"}[r.IntN(2)]
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("random.proto"), Package: proto.String("a.random"), Syntax: &syntax,
		EnumType: []*descriptorpb.EnumDescriptorProto{{Name: proto.String("Enum")}},
	}
	for i := range int32(4) {
		file.EnumType[0].Value = append(file.EnumType[0].Value, &descriptorpb.EnumValueDescriptorProto{
			Name: proto.String(fmt.Sprint("VALUE_", i)), Number: proto.Int32(i * i),
		})
	}
	count := 1 + r.IntN(5)
	for i := range count {
		m := &descriptorpb.DescriptorProto{Name: proto.String(fmt.Sprint("Message", i))}
		inOneof := r.IntN(2) == 0
		for j := range r.IntN(12) {
			f := &descriptorpb.FieldDescriptorProto{
				Name: proto.String(fmt.Sprint("field", j)), Number: proto.Int32(int32(1 + j + r.IntN(2)*100)),
				Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
				Type:  descriptorpb.FieldDescriptorProto_Type(1 + r.IntN(18)).Enum(),
			}
			if r.IntN(3) == 0 {
				f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
			}
			switch *f.Type {
			case descriptorpb.FieldDescriptorProto_TYPE_GROUP:
				if syntax == "proto3" || i == 0 {
					f.Type = descriptorpb.FieldDescriptorProto_TYPE_BOOL.Enum()
					break
				}
				group := fmt.Sprint("Field", j)
				*f.Name = fmt.Sprint("field", j)
				m.NestedType = append(m.NestedType, &descriptorpb.DescriptorProto{Name: &group,
					Field: []*descriptorpb.FieldDescriptorProto{{
						Name: proto.String("inside"), Number: proto.Int32(1),
						Label:    descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
						Type:     descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(),
						TypeName: proto.String(fmt.Sprint(".a.random.Message", r.IntN(i))),
					}}})
				f.TypeName = proto.String(fmt.Sprintf(".a.random.Message%d.%s", i, group))
			case descriptorpb.FieldDescriptorProto_TYPE_MESSAGE:
				// The type may contain the type of the field's message.
				f.TypeName = proto.String(fmt.Sprint(".a.random.Message", r.IntN(count)))
				if r.IntN(4) == 0 {
					entry := fmt.Sprintf("Field%dEntry", j)
					optional := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
					m.NestedType = append(m.NestedType, &descriptorpb.DescriptorProto{
						Name: &entry, Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
						Field: []*descriptorpb.FieldDescriptorProto{
							{Name: proto.String("key"), Number: proto.Int32(1), Label: optional,
								Type: descriptorpb.FieldDescriptorProto_TYPE_SINT32.Enum()},
							{Name: proto.String("value"), Number: proto.Int32(2), Label: optional, Type: f.Type,
								TypeName: f.TypeName},
						},
					})
					f.TypeName = proto.String(fmt.Sprintf(".a.random.Message%d.%s", i, entry))
					f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
				}
			case descriptorpb.FieldDescriptorProto_TYPE_ENUM:
				f.TypeName = proto.String(".a.random.Enum")
			case descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, descriptorpb.FieldDescriptorProto_TYPE_FLOAT:
				if syntax == "proto2" && *f.Label == descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL {
					f.DefaultValue = proto.String("nan")
				}
			case descriptorpb.FieldDescriptorProto_TYPE_INT32, descriptorpb.FieldDescriptorProto_TYPE_UINT64,
				descriptorpb.FieldDescriptorProto_TYPE_STRING:
				if syntax == "proto2" && *f.Label == descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL {
					f.DefaultValue = proto.String("17")
				}
			}
			inOneof = inOneof && *f.Label == descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
			if inOneof {
				f.OneofIndex = proto.Int32(0)
				m.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: proto.String("oneof")}}
			}
			m.Field = append(m.Field, f)
		}
		file.MessageType = append(file.MessageType, m)
	}
	return file
}

func (r randomTypes) fill(m protoreflect.Message, depth int) {
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		message := f.Kind() == protoreflect.MessageKind || f.Kind() == protoreflect.GroupKind
		switch {
		case r.IntN(3) == 0 || message && depth > 4:
		case f.IsMap():
			v := m.NewField(f).Map()
			value := v.NewValue()
			r.fill(value.Message(), depth+1)
			v.Set(protoreflect.ValueOfInt32(r.Int32()).MapKey(), value)
			m.Set(f, protoreflect.ValueOfMap(v))
		case f.IsList():
			l := m.NewField(f).List()
			for range r.IntN(4) {
				v := l.NewElement()
				if message {
					r.fill(v.Message(), depth+1)
				} else {
					v = r.value(f)
				}
				l.Append(v)
			}
			m.Set(f, protoreflect.ValueOfList(l))
		case message:
			v := m.NewField(f)
			r.fill(v.Message(), depth+1)
			m.Set(f, v)
		default:
			m.Set(f, r.value(f))
		}
	}
}

func (r randomTypes) value(f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(r.IntN(2) == 0)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(r.Int32() >> r.IntN(32)))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(r.NormFloat64()))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(r.NormFloat64())
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("text äöü"[:r.IntN(6)])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(make([]byte, r.IntN(5)))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(r.Uint32()) >> r.IntN(32))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(r.Uint32() >> r.IntN(32))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(int64(r.Uint64()) >> r.IntN(64))
	}
	return protoreflect.ValueOfUint64(r.Uint64() >> r.IntN(64))
}

// plansOf returns the plans of a type whose messages are generated.
func plansOf(d protoreflect.MessageDescriptor) (*plans, error) {
	plans := describe(d)
	return plans, plans.encodeBlanks()
}
