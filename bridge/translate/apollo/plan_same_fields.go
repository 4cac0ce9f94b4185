package apollo

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/codec"
	"tapedeck/codec/format/record"
	"tapedeck/codec/text/plural"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// Keys of the metadata of a Protocol Buffers channel that FromROS2 made.
const (
	// MetadataROSType is the ROS 2 type, "sensor_msgs/msg/Imu".
	MetadataROSType = "ros2.type"
	// MetadataROSDefinition is the concatenated definition of the ROS 2 type.
	MetadataROSDefinition = "ros2.definition"
)

// sameFields returns the translation of a channel whose type has no counterpart in Apollo. The resulting messages have
// the fields of the original messages.
func sameFields(library *rosidl.Library, c *codec.Channel) (*outgoingChannel, error) {
	name, files, err := record.Describe(library, c.Type)
	if err != nil {
		return nil, err
	}
	target := targetOf(c, name, files)
	target.QoS = c.QoS
	if err := storeROSType(target, library, c); err != nil {
		return nil, err
	}
	p, err := planOf(library, c.Type, target)
	if err != nil {
		return nil, err
	}
	return &outgoingChannel{target: target, begin: p.begin}, nil
}

// storeROSType stores the type and the definition of the channel c in the metadata of the target.
func storeROSType(target *codec.Channel, library *rosidl.Library, c *codec.Channel) error {
	text := string(c.Schema.Data)
	if c.Schema.Encoding != codec.SchemaROS2Msg || text == "" {
		var err error
		text, err = library.Concatenated(c.Type)
		if err != nil {
			return err
		}
	}
	if target.Metadata == nil {
		target.Metadata = map[string]string{}
	}
	target.Metadata[MetadataROSType], target.Metadata[MetadataROSDefinition] = c.Type, text
	return nil
}

func (p *plan) begin(*outgoing) translation {
	d := new(wire.Decoder)
	return func(out, payload []byte) ([]byte, error) { return p.encodePayload(out, d, payload) }
}

// planOf returns the plan for a ROS 2 type and the Protocol Buffers messages of a channel. Both must have equal
// fields.
func planOf(library *rosidl.Library, typeName string, c *codec.Channel) (*plan, error) {
	d, err := descriptorOf(c)
	if err != nil {
		return nil, err
	}
	return planner{library, map[string]*plan{}}.plan(typeName, d)
}

// planner makes plans for types of a library. finished maps the name of a ROS 2 type to the plan.
type planner struct {
	library  *rosidl.Library
	finished map[string]*plan
}

func (p planner) plan(typeName string, d protoreflect.MessageDescriptor) (*plan, error) {
	m, err := p.library.Message(typeName)
	if err != nil {
		return nil, err
	}
	result := p.finished[m.Name]
	if result != nil {
		return result, nil
	}
	result = &plan{name: m.Name, descriptor: d}
	if d.Fields().Len() != len(m.Fields) {
		return nil, fmt.Errorf("%s has %s, but %s %d", d.FullName(), plural.Count(d.Fields().Len(), "field"), m.Name,
			len(m.Fields))
	}
	for i, field := range m.Fields {
		f := planField{Type: field.Type, name: field.Name}
		f.describe(d.Fields().Get(i))
		f.bytes = f.Shape != rosidl.Single && f.kind == protoreflect.BytesKind
		f.list = f.Shape != rosidl.Single && !f.bytes
		if !f.bytes {
			f.width = f.Kind.Size()
		}
		if string(f.descriptor.Name()) != f.name || f.list != f.descriptor.IsList() ||
			f.kind != kinds[f.Kind] && !f.bytes || f.bytes && f.Kind.Size() != 1 {
			return nil, fmt.Errorf("field %s of %s differs from the field of %s", f.descriptor.Name(), d.FullName(),
				m.Name)
		}
		if f.Kind == rosidl.Nested {
			f.message, err = p.plan(f.Message, f.descriptor.Message())
			if err != nil {
				return nil, err
			}
		}
		result.fields = append(result.fields, f)
	}
	result.finish()
	p.finished[m.Name] = result
	return result, nil
}

// kinds maps ROS 2 kinds to the kinds that record.Describe uses.
var kinds = map[rosidl.Kind]protoreflect.Kind{
	rosidl.Bool: protoreflect.BoolKind, rosidl.Byte: protoreflect.Uint32Kind, rosidl.Char: protoreflect.Uint32Kind,
	rosidl.Int8: protoreflect.Int32Kind, rosidl.Uint8: protoreflect.Uint32Kind, rosidl.Int16: protoreflect.Int32Kind,
	rosidl.Uint16: protoreflect.Uint32Kind, rosidl.Int32: protoreflect.Int32Kind,
	rosidl.Uint32: protoreflect.Uint32Kind, rosidl.Int64: protoreflect.Int64Kind,
	rosidl.Uint64: protoreflect.Uint64Kind, rosidl.Float32: protoreflect.FloatKind,
	rosidl.Float64: protoreflect.DoubleKind, rosidl.String: protoreflect.StringKind,
	rosidl.WString: protoreflect.StringKind, rosidl.Nested: protoreflect.MessageKind,
}
