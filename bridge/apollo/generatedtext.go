package apollo

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/msgs/rosidl"
)

// library returns the definitions of all forms.
func (all *forms) library() (*rosidl.Library, error) {
	root := all.root()
	var b strings.Builder
	b.WriteString(root.text())
	for _, f := range all.all[:len(all.all)-1] {
		fmt.Fprintf(&b, "\n%s\nMSG: %s\n%s", strings.Repeat("=", 80), f.name, f.text())
	}
	return rosidl.ParseConcatenated(root.name, b.String())
}

// primitives are the names of the kinds that forms have.
var primitives = map[rosidl.Kind]string{
	rosidl.Bool: "bool", rosidl.Uint8: "uint8", rosidl.Int32: "int32", rosidl.Uint32: "uint32", rosidl.Int64: "int64",
	rosidl.Uint64: "uint64", rosidl.Float32: "float32", rosidl.Float64: "float64", rosidl.String: "string",
}

// text returns the definition. The values of an enumeration stand in front of the first field that has them.
func (f *form) text() string {
	var b strings.Builder
	if f.descriptor != nil {
		fmt.Fprintf(&b, "# %s\n", f.descriptor.FullName())
	}
	constants, enums := map[string]bool{}, map[protoreflect.FullName]bool{}
	for _, field := range f.fields {
		if d := field.descriptor; d != nil && d.Kind() == protoreflect.EnumKind && !enums[d.Enum().FullName()] {
			enums[d.Enum().FullName()] = true
			appendConstants(&b, d.Enum(), constants)
		}
		name := primitives[field.kind]
		if field.form != nil {
			name = strings.Replace(field.form.name, "/msg/", "/", 1)
		}
		if field.list || field.kind == rosidl.Uint8 {
			name += "[]"
		}
		fmt.Fprintf(&b, "%s %s", name, field.name)
		if field.raw {
			fmt.Fprintf(&b, " # %s, as Protocol Buffers encodes the field", field.descriptor.Message().FullName())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// appendConstants appends the values of an enumeration. A name that another enumeration has already gets that of its own in front.
func appendConstants(b *strings.Builder, d protoreflect.EnumDescriptor, taken map[string]bool) {
	for i := range d.Values().Len() {
		v := d.Values().Get(i)
		name := constantName(string(v.Name()))
		if taken[name] {
			name = constantName(string(d.Name())) + "_" + name
		}
		fmt.Fprintf(b, "int32 %s=%d\n", untaken(taken, name, "_"), v.Number())
	}
}
