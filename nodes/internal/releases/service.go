package releases

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"tapedeck/bridge"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// Services are what answers the services of a node of rosbag2, by their names behind ~/.
type Services map[string]func(request []byte) (msgs.Message, error)

// Serve offers those of which the release at hand, to which the library belongs, has the types. It logs which there are not.
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
		node.Log(bridge.Info, "no services %s: rosbag2_interfaces of this ROS 2 has not their types, or is not installed", strings.Join(missing, ", "))
	}
}

// serve offers a service whose type has several forms. The request is given to answer in that of the Go type, and the response has the
// form of the request, as far as that tells.
func serve(node bridge.Node, library *rosidl.Library, name, typeName string, answer func(request []byte) (msgs.Message, error)) error {
	requests, err := NewForms(library, typeName+"_Request")
	if err != nil {
		return err
	}
	responses, err := NewForms(library, typeName+"_Response")
	if err != nil {
		return err
	}
	_, err = node.Serve(name, typeName, func(_ context.Context, payload []byte) ([]byte, error) {
		request, form, err := requests.read(payload)
		if err != nil {
			return nil, err
		}
		response, err := answer(request)
		if err != nil {
			return nil, err
		}
		return responses.write(response, form)
	})
	return err
}
