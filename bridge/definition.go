package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tapedeck/codec/cdr"
	"tapedeck/msgs/rosidl"
	tdi "tapedeck/msgs/type_description_interfaces"
)

// maxDefinition is how many bytes an answer of a node about a type may have.
const maxDefinition = 4 << 20

// FetchDefinition asks the node of e for the definition of e's type, by the service ~/get_type_description that nodes
// of ROS 2 Iron and later offer. It returns the text with those of all messages in it, in the form of
// rosidl.Library.Concatenated, and has made sure that e's type hash is its hash. What the node has as another text than
// .msg or .srv, as the events of services, comes without comments, constants and defaults. The service may never appear
// or answer: ctx limits the wait.
func FetchDefinition(ctx context.Context, n Node, e Endpoint) (string, error) {
	text, err := fetchDefinition(ctx, n, e)
	if err != nil {
		return "", fmt.Errorf("fetch the definition of %s: %w", e.Type, err)
	}
	return text, nil
}

func fetchDefinition(ctx context.Context, n Node, e Endpoint) (string, error) {
	switch {
	case e.TypeHash == "":
		return "", errors.New("no type hash was announced, as before ROS 2 Iron; the service needs it")
	case e.Node == "":
		return "", errors.New("the node that uses it is not known")
	}
	request, err := cdr.Marshal(&tdi.GetTypeDescription_Request{
		TypeName_: e.Type, TypeHash: e.TypeHash, IncludeTypeSources: true,
	})
	if err != nil {
		return "", err
	}
	const service = "type_description_interfaces/srv/GetTypeDescription"
	payload, err := n.Call(ctx, e.Node+"/get_type_description", service, request)
	if err != nil {
		return "", err
	}
	if n := len(payload); n > maxDefinition {
		return "", fmt.Errorf("the answer of node %s has %d bytes, more than %d", e.Node, n, maxDefinition)
	}
	var response tdi.GetTypeDescription_Response
	if err := cdr.Unmarshal(payload, &response); err != nil {
		return "", err
	}
	if !response.Successful {
		return "", fmt.Errorf("node %s says: %s", e.Node, response.FailureReason)
	}
	text, err := verified(e, sourceText(response.TypeSources))
	if err == nil {
		return text, nil
	}
	described, err := descriptionText(&response.TypeDescription)
	if err == nil {
		text, err = verified(e, described)
	}
	if err != nil {
		return "", fmt.Errorf("the answer of node %s cannot be used: %w", e.Node, err)
	}
	return text, nil
}

// verified returns a concatenated definition in the usual order if it is that of e's type.
func verified(e Endpoint, text string) (string, error) {
	l, err := rosidl.ParseConcatenated(e.Type, text)
	if err != nil {
		return "", err
	}
	hash, err := l.Hash(e.Type)
	if err != nil {
		return "", err
	}
	if hash != e.TypeHash {
		return "", fmt.Errorf("its hash is %s, not %s", hash, e.TypeHash)
	}
	return l.Concatenated(e.Type)
}

// sourceText concatenates the sources in .msg, .srv and .action.
func sourceText(sources []tdi.TypeSource) string {
	var parts []string
	for _, s := range sources {
		if slices.Contains([]string{"msg", "srv", "action"}, s.Encoding) {
			parts = append(parts, part(strings.ToUpper(s.Encoding), s.TypeName_, s.RawFileContents))
		}
	}
	return strings.Join(parts, "\n")
}

func part(kind, name, text string) string {
	return strings.Repeat("=", 80) + "\n" + kind + ": " + name + "\n" + text
}

// descriptionText returns the definitions of the described types.
func descriptionText(d *tdi.TypeDescription) (string, error) {
	var parts []string
	var request, response string
	service, isEvent := strings.CutSuffix(d.TypeDescription.TypeName_, "_Event")
	for _, t := range append(d.ReferencedTypeDescriptions, d.TypeDescription) {
		text, err := fieldsText(t.Fields)
		if err != nil {
			return "", fmt.Errorf("%s: %w", t.TypeName_, err)
		}
		switch t.TypeName_ {
		case service + "_Request":
			request = text
		case service + "_Response":
			response = text
		case service + "_Event":
		default:
			parts = append(parts, part("MSG", t.TypeName_, text))
		}
	}
	if isEvent {
		parts = append(parts, part("SRV", service, request+"---\n"+response))
	}
	return strings.Join(parts, "\n"), nil
}

// emptyField is the field that descriptions have of a message without fields.
const emptyField = "structure_needs_at_least_one_member"

func fieldsText(fields []tdi.Field) (string, error) {
	var b strings.Builder
	for _, f := range fields {
		if f.Name == emptyField {
			continue
		}
		text, err := typeText(&f.Type)
		if err != nil {
			return "", fmt.Errorf("field %s: %w", f.Name, err)
		}
		fmt.Fprintf(&b, "%s %s\n", text, f.Name)
	}
	return b.String(), nil
}

// fieldTypes are what definitions call the types of single values, by their ids.
var fieldTypes = map[uint8]string{
	tdi.FieldType_FIELD_TYPE_INT8: "int8", tdi.FieldType_FIELD_TYPE_UINT8: "uint8",
	tdi.FieldType_FIELD_TYPE_INT16: "int16", tdi.FieldType_FIELD_TYPE_UINT16: "uint16",
	tdi.FieldType_FIELD_TYPE_INT32: "int32", tdi.FieldType_FIELD_TYPE_UINT32: "uint32",
	tdi.FieldType_FIELD_TYPE_INT64: "int64", tdi.FieldType_FIELD_TYPE_UINT64: "uint64",
	tdi.FieldType_FIELD_TYPE_FLOAT: "float32", tdi.FieldType_FIELD_TYPE_DOUBLE: "float64",
	tdi.FieldType_FIELD_TYPE_BOOLEAN: "bool", tdi.FieldType_FIELD_TYPE_BYTE: "byte",
	tdi.FieldType_FIELD_TYPE_STRING: "string", tdi.FieldType_FIELD_TYPE_WSTRING: "wstring",
	tdi.FieldType_FIELD_TYPE_BOUNDED_STRING: "string<=", tdi.FieldType_FIELD_TYPE_BOUNDED_WSTRING: "wstring<=",
}

func typeText(t *tdi.FieldType) (string, error) {
	const shape = tdi.FieldType_FIELD_TYPE_NESTED_TYPE_ARRAY - tdi.FieldType_FIELD_TYPE_NESTED_TYPE
	if t.TypeId == 0 || t.TypeId > 4*shape {
		return "", fmt.Errorf("type %d is not known", t.TypeId)
	}
	single := (t.TypeId-1)%shape + 1
	text, ok := fieldTypes[single]
	switch {
	case single == tdi.FieldType_FIELD_TYPE_NESTED_TYPE:
		text = t.NestedTypeName
	case !ok:
		return "", fmt.Errorf("type %d is none of .msg", t.TypeId)
	case strings.HasSuffix(text, "<="):
		text += fmt.Sprint(t.StringCapacity)
	}
	switch (t.TypeId - 1) / shape {
	case 1:
		text += fmt.Sprintf("[%d]", t.Capacity)
	case 2:
		text += fmt.Sprintf("[<=%d]", t.Capacity)
	case 3:
		text += "[]"
	}
	return text, nil
}
