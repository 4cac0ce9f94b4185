package apollo

import (
	_ "embed"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

//go:generate sh -c "cd proto && protoc -o ../apollo.binpb $(find modules -name '*.proto' | LC_ALL=C sort)"

// schemaFiles is the FileDescriptorSet of the files in proto. These files describe the types of Apollo to which ROS 2
// messages are translated, with the fields that the translation sets. Names and numbers are from Apollo's
// modules/common_msgs as of 2025.
//
//go:embed apollo.binpb
var schemaFiles []byte

// readSchema returns the decoded schemaFiles. It removes the JSON names of fields, which Apollo's own recordings do not
// have.
func readSchema() (*descriptorpb.FileDescriptorSet, error) {
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(schemaFiles, set); err != nil {
		return nil, err
	}
	for _, file := range set.File {
		for _, message := range file.MessageType {
			for _, field := range message.Field {
				field.JsonName = nil
			}
		}
	}
	return set, nil
}

// filesDescribing returns the files of set that describe a type: all files that the type's file imports, at any depth,
// and then the type's file.
func filesDescribing(
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
