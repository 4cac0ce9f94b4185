package apollo

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// schemaText lists of Apollo's types what the translation of ROS 2 messages sets, with the names and numbers of the
// .proto files of modules/common_msgs as of 2025. A line is "file PATH PACKAGE", "message NAME", "enum NAME", a field
// of the message, "NUMBER [repeated|packed] TYPE NAME [= DEFAULT]", or a value of the enum, "NUMBER NAME". What a line
// refers to stands above it.
//
//go:embed apollo.schema
var schemaText string

// parseSchema reads a text like schemaText.
func parseSchema(text string) (*descriptorpb.FileDescriptorSet, error) {
	p := schemaParser{set: &descriptorpb.FileDescriptorSet{}, files: map[string]string{}, enums: map[string]bool{}}
	for i, line := range strings.Split(text, "\n") {
		if words := strings.Fields(line); len(words) > 0 {
			if err := p.line(words); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
	}
	return p.set, nil
}

type schemaParser struct {
	set     *descriptorpb.FileDescriptorSet
	file    *descriptorpb.FileDescriptorProto
	message *descriptorpb.DescriptorProto     // of which the fields are
	enum    *descriptorpb.EnumDescriptorProto // of which the values are
	files   map[string]string                 // by full name of what they define
	enums   map[string]bool
}

func (p *schemaParser) line(words []string) error {
	switch {
	case words[0] == "file" && len(words) == 3:
		p.file = &descriptorpb.FileDescriptorProto{Name: &words[1], Package: &words[2]}
		p.set.File = append(p.set.File, p.file)
	case words[0] == "message" && len(words) == 2:
		p.message, p.enum = p.define(words[1]), nil
	case words[0] == "enum" && len(words) == 2:
		name := words[1]
		p.enum = &descriptorpb.EnumDescriptorProto{}
		p.enums[p.full(name)], p.files[p.full(name)] = true, p.file.GetName()
		if outer, inner, nested := strings.Cut(name, "."); nested {
			p.enum.Name = &inner
			m := p.define(outer)
			m.EnumType = append(m.EnumType, p.enum)
		} else {
			p.enum.Name = &name
			p.file.EnumType = append(p.file.EnumType, p.enum)
		}
	default:
		number, err := strconv.ParseInt(words[0], 10, 32)
		if err != nil || len(words) < 2 {
			return fmt.Errorf("%q is no number of a field or value", words[0])
		}
		if p.enum != nil {
			value := &descriptorpb.EnumValueDescriptorProto{Name: &words[1], Number: proto.Int32(int32(number))}
			p.enum.Value = append(p.enum.Value, value)
			return nil
		}
		return p.field(int32(number), words[1:])
	}
	return nil
}

func (p *schemaParser) full(name string) string { return p.file.GetPackage() + "." + name }

// define returns the message of a name in the file.
func (p *schemaParser) define(name string) *descriptorpb.DescriptorProto {
	for _, m := range p.file.MessageType {
		if m.GetName() == name {
			return m
		}
	}
	m := &descriptorpb.DescriptorProto{Name: &name}
	p.file.MessageType = append(p.file.MessageType, m)
	p.files[p.full(name)] = p.file.GetName()
	return m
}

func (p *schemaParser) field(number int32, words []string) error {
	f := &descriptorpb.FieldDescriptorProto{Number: &number,
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	if words[0] == "packed" {
		f.Options = &descriptorpb.FieldOptions{Packed: proto.Bool(true)}
	}
	if words[0] == "repeated" || words[0] == "packed" {
		words, f.Label = words[1:], descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	}
	if len(words) == 4 && words[2] == "=" {
		f.DefaultValue = &words[3]
	} else if len(words) != 2 {
		return fmt.Errorf("%q is no field", strings.Join(words, " "))
	}
	f.Name = &words[1]
	kind, scalar := descriptorpb.FieldDescriptorProto_Type_value["TYPE_"+strings.ToUpper(words[0])]
	if scalar {
		f.Type = descriptorpb.FieldDescriptorProto_Type(kind).Enum()
	} else {
		f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String("."+words[0])
		if p.enums[words[0]] {
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_ENUM.Enum()
		}
		file, ok := p.files[words[0]]
		if !ok {
			return fmt.Errorf("%s is not defined", words[0])
		}
		if file != p.file.GetName() && !slices.Contains(p.file.Dependency, file) {
			p.file.Dependency = append(p.file.Dependency, file)
		}
	}
	p.message.Field = append(p.message.Field, f)
	return nil
}

// closure returns the files of set that describe a type: those that the one that defines it imports, at any depth, and
// that one as the last.
func closure(set *descriptorpb.FileDescriptorSet,
	typeName protoreflect.FullName) (*descriptorpb.FileDescriptorSet, error) {
	registry, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, err
	}
	d, err := registry.FindDescriptorByName(typeName)
	if err != nil {
		return nil, err
	}
	var needed descriptorpb.FileDescriptorSet
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
		i := slices.IndexFunc(set.File, func(p *descriptorpb.FileDescriptorProto) bool { return p.GetName() == f.Path() })
		needed.File = append(needed.File, set.File[i])
	}
	add(d.ParentFile())
	return &needed, nil
}
