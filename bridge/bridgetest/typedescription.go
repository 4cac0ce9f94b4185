package bridgetest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec/cdr"
	"tapedeck/msgs/rosidl"
	tdi "tapedeck/msgs/type_description_interfaces"
)

// ServeTypeDescriptions has n offer ~/get_type_description for the types of a library, as nodes of ROS 2 Iron and later
// do. change is called with each answer before it is sent; it may be nil.
func ServeTypeDescriptions(t *testing.T, n bridge.Node, l *rosidl.Library,
	change func(*tdi.GetTypeDescription_Response)) {
	t.Helper()
	serve(t, n, "~/get_type_description", "type_description_interfaces/srv/GetTypeDescription",
		func(_ context.Context, request []byte) ([]byte, error) {
			var in tdi.GetTypeDescription_Request
			if err := cdr.Unmarshal(request, &in); err != nil {
				return nil, err
			}
			out := tdi.GetTypeDescription_Response{FailureReason: "Type not currently in use by this node"}
			if hash, err := l.Hash(in.TypeName_); err == nil && hash == in.TypeHash {
				out = describe(t, l, in.TypeName_)
			}
			if change != nil {
				change(&out)
			}
			return cdr.Marshal(&out)
		})
}

// describe returns what rosidl generates about a message.
func describe(t *testing.T, l *rosidl.Library, name string) tdi.GetTypeDescription_Response {
	out := tdi.GetTypeDescription_Response{Successful: true}
	names := []string{name}
	for i := 0; i < len(names); i++ {
		m, err := l.Message(names[i])
		require.NoError(t, err)
		source := tdi.TypeSource{TypeName_: m.Name, Encoding: "msg", RawFileContents: m.Text}
		if strings.Contains(m.Name, "/srv/") {
			source.Encoding, source.RawFileContents = "implicit", ""
		}
		out.TypeSources = append(out.TypeSources, source)
		fields := m.Fields
		if len(fields) == 0 {
			fields = []rosidl.Field{{Name: "structure_needs_at_least_one_member", Type: rosidl.Type{Kind: rosidl.Uint8}}}
		}
		individual := tdi.IndividualTypeDescription{TypeName_: m.Name}
		for _, f := range fields {
			individual.Fields = append(individual.Fields, tdi.Field{Name: f.Name, Type: tdi.FieldType{
				TypeId: uint8(f.Type.ID()), Capacity: uint64(f.Type.Length),
				StringCapacity: uint64(f.Type.StringBound), NestedTypeName: f.Type.Message,
			}})
			if nested := f.Type.Message; nested != "" && !slices.Contains(names, nested) {
				names = append(names, nested)
			}
		}
		out.TypeDescription.ReferencedTypeDescriptions = append(out.TypeDescription.ReferencedTypeDescriptions, individual)
	}
	all := out.TypeDescription.ReferencedTypeDescriptions
	out.TypeDescription.TypeDescription, out.TypeDescription.ReferencedTypeDescriptions = all[0], all[1:]
	return out
}
