package bridge

import (
	"context"
	"strings"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rosidl"
	tdi "tapedeck/msgs/type_description_interfaces"
)

// ServeDefinitions serves ~/get_type_description, as nodes of ROS 2 Iron and later do. library returns the library that
// defines a type.
func ServeDefinitions(n Node, library func(typeName string) *rosidl.Library) error {
	const typeName = "type_description_interfaces/srv/GetTypeDescription"
	_, err := n.Serve("~/get_type_description", typeName, func(_ context.Context, request []byte) ([]byte, error) {
		var in tdi.GetTypeDescription_Request
		if err := cdr.Unmarshal(request, &in); err != nil {
			return nil, err
		}
		out := DescribeType(library(in.TypeName_), &in)
		return cdr.Marshal(&out)
	})
	return err
}

// DescribeType answers a request from the definitions of a library.
func DescribeType(l *rosidl.Library, in *tdi.GetTypeDescription_Request) (out tdi.GetTypeDescription_Response) {
	if hash, err := l.Hash(in.TypeName_); err != nil || hash != in.TypeHash {
		out.FailureReason = "Type not currently in use by this node"
		return out
	}
	var messages []*rosidl.Message
	root, err := l.Message(in.TypeName_)
	if err == nil {
		messages, err = l.Closure(root)
	}
	if err != nil {
		return tdi.GetTypeDescription_Response{FailureReason: err.Error()}
	}
	var descriptions []tdi.IndividualTypeDescription
	for _, m := range messages {
		source := tdi.TypeSource{TypeName_: m.Name, Encoding: "msg", RawFileContents: m.Text}
		if strings.Contains(m.Name, "/srv/") {
			source.Encoding, source.RawFileContents = "implicit", ""
		}
		out.TypeSources = append(out.TypeSources, source)
		description := tdi.IndividualTypeDescription{TypeName_: m.Name}
		for _, f := range m.DescribedFields() {
			description.Fields = append(description.Fields, tdi.Field{Name: f.Name, Type: tdi.FieldType{
				TypeId: uint8(f.Type.ID()), Capacity: uint64(f.Type.Length),
				StringCapacity: uint64(f.Type.StringBound), NestedTypeName: f.Type.Message,
			}})
		}
		descriptions = append(descriptions, description)
	}
	out.TypeDescription.TypeDescription = descriptions[0]
	out.TypeDescription.ReferencedTypeDescriptions = descriptions[1:]
	if !in.IncludeTypeSources {
		out.TypeSources = nil
	}
	out.Successful = true
	return out
}
