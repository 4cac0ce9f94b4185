// Package rosbag2compat handles services and messages of rosbag2 whose types have different fields in different
// releases of ROS 2.
package rosbag2compat

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tapedeck/bridge"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// form is a message type by the definition of one release of ROS 2.
type form struct {
	schema *cdr.Schema
	fields []rosidl.Field
}

// newForm returns the form of a type by the definitions in library.
func newForm(library *rosidl.Library, typeName string) (*form, error) {
	m, err := library.Message(typeName)
	if err != nil {
		return nil, err
	}
	schema, err := cdr.NewSchema(library, typeName)
	return &form{schema, m.Fields}, err
}

// convert converts a payload of this form to the form to. Fields that to lacks are dropped. Fields that this form lacks
// are zero.
func (f *form) convert(payload []byte, to *form) ([]byte, error) {
	out := new(cdr.Struct)
	if len(f.fields) > 0 || len(payload) > wire.HeaderSize { // a message without fields is empty or one byte
		in, err := f.schema.Decode(payload)
		if err != nil {
			return nil, err
		}
		for _, field := range in.Fields {
			if slices.ContainsFunc(to.fields, func(own rosidl.Field) bool { return own.Name == field.Name }) {
				out.Fields = append(out.Fields, field)
			}
		}
	}
	return to.schema.Encode(out)
}

// Forms are the forms of one message type of rosbag2 in different releases of ROS 2.
type Forms struct {
	goForm   *form   // form of the Go type
	releases []*form // forms of the installed, the newest and the oldest release
}

// NewForms returns the forms of a type. library has the definitions of the installed release.
func NewForms(library *rosidl.Library, typeName string) (Forms, error) {
	var f Forms
	for _, l := range []*rosidl.Library{library, msgs.Release(""), msgs.Release("humble")} {
		one, err := newForm(l, typeName)
		if err != nil {
			return f, err
		}
		f.releases = append(f.releases, one)
	}
	f.goForm = f.releases[1]
	return f, nil
}

// read converts a payload of any release to the form of the Go type. It returns the index of the first release whose
// form fits the payload.
func (f *Forms) read(payload []byte) (converted []byte, release int, err error) {
	for i, one := range f.releases {
		converted, formErr := one.convert(payload, f.goForm)
		if formErr == nil {
			return converted, i, nil
		}
		if i == 0 {
			err = formErr
		}
	}
	return nil, 0, err
}

// Marshal encodes a message in the form of the installed release.
func (f *Forms) Marshal(m msgs.Message) ([]byte, error) { return f.write(m, 0) }

// write encodes a message in the form of a release.
func (f *Forms) write(m msgs.Message, release int) ([]byte, error) {
	payload, err := cdr.Marshal(m)
	if err != nil {
		return nil, err
	}
	return f.goForm.convert(payload, f.releases[release])
}

// Services are the handlers of the services of a rosbag2 node, by their names without ~/.
type Services map[string]func(request []byte) (msgs.Message, error)

// Serve offers the services whose types library defines. It logs the others. library has the definitions of the
// installed release.
func (s Services) Serve(node bridge.Node, library *rosidl.Library) {
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		typeName := "rosbag2_interfaces/srv/"
		for word := range strings.SplitSeq(name, "_") {
			typeName += strings.ToUpper(word[:1]) + word[1:]
		}
		err := serve(node, library, "~/"+name, typeName, s[name])
		switch {
		case errors.Is(err, rosidl.ErrUnknownType):
			missing = append(missing, name)
		case err != nil:
			node.Log(bridge.Warn, "no service %s: %v", name, err)
		}
	}
	if missing != nil {
		node.Log(bridge.Info, "no services %s: this ROS 2's rosbag2_interfaces is not installed or does not define "+
			"them",
			strings.Join(missing, ", "))
	}
}

// Reply returns the handler of a service whose requests are empty.
func Reply(handle func() msgs.Message) func([]byte) (msgs.Message, error) {
	return func([]byte) (msgs.Message, error) { return handle(), nil }
}

// Answer returns the handler of a service with requests of type T.
func Answer[T any, P interface {
	*T
	msgs.Message
}](handle func(P) msgs.Message) func([]byte) (msgs.Message, error) {
	return func(payload []byte) (msgs.Message, error) {
		request := P(new(T))
		if err := cdr.Unmarshal(payload, request); err != nil {
			return nil, err
		}
		return handle(request), nil
	}
}

// serve offers a service whose type has several forms. answer receives the request in the form of the Go type. The
// response has the form of the request's release.
func serve(
	node bridge.Node, library *rosidl.Library, name, typeName string,
	answer func(request []byte) (msgs.Message, error),
) error {
	requests, err := NewForms(library, typeName+"_Request")
	if err != nil {
		return err
	}
	responses, err := NewForms(library, typeName+"_Response")
	if err != nil {
		return err
	}
	_, err = node.Serve(name, typeName, func(_ context.Context, payload []byte) ([]byte, error) {
		request, release, err := requests.read(payload)
		if err != nil {
			return nil, err
		}
		response, err := answer(request)
		if err != nil {
			return nil, err
		}
		return responses.write(response, release)
	})
	return err
}

// Call calls a service of rosbag2. It sends the request in the form of the installed release.
func Call(ctx context.Context, node bridge.Node, name string, request, response msgs.Message) error {
	typeName := strings.TrimSuffix(request.TypeName(), "_Request")
	library := msgs.Library()
	requests, err := NewForms(library, request.TypeName())
	if err != nil {
		return err
	}
	responses, err := NewForms(library, response.TypeName())
	if err != nil {
		return err
	}
	payload, err := requests.Marshal(request)
	if err != nil {
		return err
	}
	payload, err = node.Call(ctx, name, typeName, payload)
	if err != nil {
		return err
	}
	payload, _, err = responses.read(payload)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return cdr.Unmarshal(payload, response)
}
