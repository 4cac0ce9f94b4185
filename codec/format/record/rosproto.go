package record

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"tapedeck/codec"
	"tapedeck/msgs/rosidl"
)

var protoTypes = map[rosidl.Kind]descriptorpb.FieldDescriptorProto_Type{
	rosidl.Bool:    descriptorpb.FieldDescriptorProto_TYPE_BOOL,
	rosidl.Byte:    descriptorpb.FieldDescriptorProto_TYPE_UINT32,
	rosidl.Char:    descriptorpb.FieldDescriptorProto_TYPE_UINT32,
	rosidl.Int8:    descriptorpb.FieldDescriptorProto_TYPE_INT32,
	rosidl.Uint8:   descriptorpb.FieldDescriptorProto_TYPE_UINT32,
	rosidl.Int16:   descriptorpb.FieldDescriptorProto_TYPE_INT32,
	rosidl.Uint16:  descriptorpb.FieldDescriptorProto_TYPE_UINT32,
	rosidl.Int32:   descriptorpb.FieldDescriptorProto_TYPE_INT32,
	rosidl.Uint32:  descriptorpb.FieldDescriptorProto_TYPE_UINT32,
	rosidl.Int64:   descriptorpb.FieldDescriptorProto_TYPE_INT64,
	rosidl.Uint64:  descriptorpb.FieldDescriptorProto_TYPE_UINT64,
	rosidl.Float32: descriptorpb.FieldDescriptorProto_TYPE_FLOAT,
	rosidl.Float64: descriptorpb.FieldDescriptorProto_TYPE_DOUBLE,
	rosidl.String:  descriptorpb.FieldDescriptorProto_TYPE_STRING,
	rosidl.WString: descriptorpb.FieldDescriptorProto_TYPE_STRING,
	rosidl.Nested:  descriptorpb.FieldDescriptorProto_TYPE_MESSAGE,
}

// Describe returns the description of a ROS type in terms of protobuf (proto2): the full name of the message, and a
// FileDescriptorSet with that message and the messages that it contains. Fields are in the order of the definition and
// numbered from 1, without the numbers that protobuf reserves. Arrays and sequences are repeated fields, packed if the
// elements are numbers. Arrays of bytes become a bytes field, a wstring becomes a string.
func Describe(library *rosidl.Library, typeName string) (messageType string, files []byte, err error) {
	m, err := library.Message(typeName)
	if err != nil {
		return "", nil, fmt.Errorf("describe %s: %w", typeName, err)
	}
	var set fileSet
	addMessage(&set, library, m)
	return protoName(m.Name), set.encode(), nil
}

// describeChannel returns the protobuf name of a channel's type, and the files that describe the type.
func describeChannel(c *codec.Channel) (messageType string, files fileSet) {
	switch c.Schema.Encoding {
	case codec.SchemaProtobuf:
		if files := parseFileSet(c.Schema.Data); files != nil {
			return c.Type, files
		}
	case codec.SchemaROS2Msg, codec.SchemaROS1Msg:
		library, err := rosidl.ParseConcatenated(c.Type, string(c.Schema.Data))
		if c.Schema.Encoding == codec.SchemaROS2Msg {
			library, err = c.Definitions()
		}
		if err != nil {
			break
		}
		if m, err := library.Message(c.Type); err == nil {
			addMessage(&files, library, m)
			return protoName(m.Name), files
		}
	}
	m := &rosidl.Message{Name: c.Type}
	addMessage(&files, nil, m)
	return protoName(m.Name), files
}

// addMessage adds the file that describes m, behind the files of the messages that m contains.
func addMessage(files *fileSet, library *rosidl.Library, m *rosidl.Message) {
	fileName := protoFileName(m.Name)
	if slices.ContainsFunc(*files, func(f *protoFile) bool { return f.name == fileName }) {
		return
	}
	pkg, name := "", protoName(m.Name)
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		pkg, name = name[:i], name[i+1:]
	}
	descriptor := &descriptorpb.DescriptorProto{Name: &name}
	file := &descriptorpb.FileDescriptorProto{Name: &fileName, MessageType: []*descriptorpb.DescriptorProto{descriptor}}
	if pkg != "" {
		file.Package = &pkg
	}
	imported := map[string]bool{}
	for i, f := range m.Fields {
		number := int32(i + 1)
		if number >= 19000 { // protobuf reserves the numbers 19000 to 19999
			number += 1000
		}
		field := &descriptorpb.FieldDescriptorProto{
			Name:   &f.Name,
			Number: &number,
			Label:  descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
			Type:   protoTypes[f.Type.Kind].Enum(),
		}
		if f.Type.Shape != rosidl.Single {
			field.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
			switch f.Type.Kind {
			case rosidl.String, rosidl.WString, rosidl.Nested:
			case rosidl.Byte, rosidl.Char, rosidl.Uint8:
				field.Label = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
				field.Type = descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum()
			default:
				field.Options = &descriptorpb.FieldOptions{Packed: proto.Bool(true)}
			}
		}
		if f.Type.Kind == rosidl.Nested {
			field.TypeName = proto.String("." + protoName(f.Type.Message))
			if !imported[f.Type.Message] {
				imported[f.Type.Message] = true
				file.Dependency = append(file.Dependency, protoFileName(f.Type.Message))
				// always true: library.Message(m) needs the nested types
				if nested, err := library.Message(f.Type.Message); err == nil {
					addMessage(files, library, nested)
				}
			}
		}
		descriptor.Field = append(descriptor.Field, field)
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(file)
	if err != nil {
		panic(err) // marshalling fails only for invalid UTF-8, and all names are valid
	}
	*files = append(*files, &protoFile{raw: raw, name: fileName, imports: file.Dependency, file: file})
}

// protoName turns the name of a ROS type into a full name of protobuf: "sensor_msgs/msg/Imu" into
// "sensor_msgs.msg.Imu". Characters that protobuf does not allow become "_".
func protoName(rosType string) string {
	elements := strings.Split(strings.ReplaceAll(rosType, ".", "/"), "/")
	for i, element := range elements {
		name := []byte(element)
		for j, c := range name {
			if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
				name[j] = '_'
			}
		}
		if len(name) == 0 || name[0] >= '0' && name[0] <= '9' {
			name = append([]byte{'_'}, name...)
		}
		elements[i] = string(name)
	}
	return strings.Join(elements, ".")
}

// protoFileName returns the name of the file that describes a ROS type: "sensor_msgs/msg/Imu.msg".
func protoFileName(rosType string) string {
	return strings.ReplaceAll(protoName(rosType), ".", "/") + ".msg"
}
