package apollo

import (
	_ "embed"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

//go:embed apollo.txtpb
var schemaText string

// parseSchema parses a FileDescriptorSet in the text format of Protocol Buffers.
func parseSchema(text string) (*descriptorpb.FileDescriptorSet, error) {
	set := new(descriptorpb.FileDescriptorSet)
	return set, prototext.Unmarshal([]byte(text), set)
}

// closure returns the files of set that describe a type: all that its file imports, at any depth, and its file last.
func closure(
	set *descriptorpb.FileDescriptorSet, typeName protoreflect.FullName,
) (*descriptorpb.FileDescriptorSet, error) {
	registry, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, err
	}
	d, err := registry.FindDescriptorByName(typeName)
	if err != nil {
		return nil, err
	}
	needed := new(descriptorpb.FileDescriptorSet)
	seen := map[string]bool{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		for _, file := range set.File {
			if file.GetName() == f.Path() {
				needed.File = append(needed.File, file)
			}
		}
	}
	add(d.ParentFile())
	return needed, nil
}
