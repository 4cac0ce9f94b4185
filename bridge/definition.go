package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rosidl"
	tdi "tapedeck/msgs/type_description_interfaces"
)

// maxDefinition is the largest size in bytes of a node's answer about a type.
const maxDefinition = 4 << 20

// FetchDefinition asks the node of e for the definition of e's type, by the service ~/get_type_description that nodes
// of ROS 2 Iron and later offer. It returns the definitions of the type and of all types in it, in the form of
// rosidl.Library.Concatenated, and verifies that their hash is e's type hash. If the node has no .msg or .srv text of a
// type, as for service events, the definition lacks comments, constants and defaults. The service may never appear or
// answer: ctx limits the wait.
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

// verified returns text, a concatenated definition, in the usual order. It fails if text does not define e's type.
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
	var sections []string
	for _, s := range sources {
		if slices.Contains([]string{"msg", "srv", "action"}, s.Encoding) {
			sections = append(sections, section(strings.ToUpper(s.Encoding), s.TypeName_, s.RawFileContents))
		}
	}
	return strings.Join(sections, "\n")
}

// section returns one section of a concatenated definition: a separator, the type and its definition.
func section(kind, name, text string) string {
	return strings.Repeat("=", 80) + "\n" + kind + ": " + name + "\n" + text
}

// descriptionText returns the definitions of the described types.
func descriptionText(d *tdi.TypeDescription) (string, error) {
	var sections []string
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
			sections = append(sections, section("MSG", t.TypeName_, text))
		}
	}
	if isEvent {
		sections = append(sections, section("SRV", service, request+"---\n"+response))
	}
	return strings.Join(sections, "\n"), nil
}

func fieldsText(fields []tdi.Field) (string, error) {
	var b strings.Builder
	for _, f := range fields {
		if f.Name == rosidl.EmptyField {
			continue
		}
		t := f.Type
		text, err := rosidl.TypeText(int(t.TypeId), t.Capacity, t.StringCapacity, t.NestedTypeName)
		if err != nil {
			return "", fmt.Errorf("field %s: %w", f.Name, err)
		}
		fmt.Fprintf(&b, "%s %s\n", text, f.Name)
	}
	return b.String(), nil
}
