package ros1

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/rosbag"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// FromROS2 returns a translator of ROS 2 messages, codec.EncodingCDR, to ROS 1. If a channel has no usable definition,
// the translator uses the definition of msgs.Library.
func FromROS2(codec.Reader) (bridge.Translator, error) {
	library := msgs.Library()
	return newTranslator(fromCDR, ros1Channel, func(c *codec.Channel) (*plan, error) {
		if c.Encoding != codec.EncodingCDR {
			return nil, fmt.Errorf("its messages are %s, not ROS 2's CDR", c.Encoding)
		}
		return channelPlanToROS1(library, c)
	}), nil
}

// ros1Channel returns the channel of ROS 1 messages to which c, a channel of ROS 2 messages, is translated.
func ros1Channel(p *plan, c *codec.Channel) *codec.Channel {
	metadata := maps.Clone(c.Metadata)
	if metadata == nil {
		metadata = map[string]string{}
	}
	metadata["md5sum"] = p.sum
	if metadata["latching"] == "" && slices.ContainsFunc(c.QoS,
		func(q codec.QoS) bool { return q.Durability == codec.TransientLocal }) {
		metadata["latching"] = "true"
	}
	return &codec.Channel{
		Topic: c.Topic, Type: p.name, Encoding: codec.EncodingROS1, QoS: c.QoS, Metadata: metadata,
		Schema: codec.Schema{Encoding: codec.SchemaROS1Msg, Data: []byte(p.text)},
	}
}

// channelPlanToROS1 returns the plan for the definition in a channel or, if it is unusable, for the library's
// definition.
func channelPlanToROS1(library *rosidl.Library, c *codec.Channel) (*plan, error) {
	p, err := planToROS1(c.Library(library), c.Type)
	if err == nil {
		return p, nil
	}
	if _, empty := c.Definitions(); errors.Is(empty, codec.ErrEmptyDefinition) {
		return nil, err // the library may have another type with the name c.Type
	}
	if p, failed := planToROS1(library, c.Type); failed == nil {
		return p, nil
	}
	return nil, err
}

// planToROS1 returns the plan that translates messages of a ROS 2 type to ROS 1.
func planToROS1(library *rosidl.Library, name string) (*plan, error) {
	r := definer{library: library, definitions: map[string]*rosbag.Definition{}}
	root, err := r.define(name)
	if err != nil {
		return nil, err
	}
	m := matcher{definitions: r.definitions, library: library, matches: map[string]*match{}, texts: map[string]string{}}
	found, err := m.match(root)
	if err != nil {
		return nil, err
	}
	if found.name != name {
		return nil, fmt.Errorf("%s of ROS 1 would be %s in ROS 2", root, found.name)
	}
	t := &plan{
		name: root, text: text(r.definitions[root]), sum: rosbag.MD5(r.definitions, root), steps: found.steps,
		losses: m.losses,
		schema: sync.OnceValues(func() (*cdr.Schema, error) { return cdr.NewSchema(library, name) }),
	}
	if message, err := library.Message(name); err == nil {
		t.unproven = message.Unproven
	}
	for _, contained := range slices.Sorted(maps.Keys(r.definitions)) {
		if contained != root {
			t.text += fmt.Sprintf("\n%s\nMSG: %s\n%s", strings.Repeat("=", 80), contained,
				text(r.definitions[contained]))
		}
	}
	return t, nil
}

// definer finds the ROS 1 definitions of ROS 2 types.
type definer struct {
	library     *rosidl.Library
	definitions map[string]*rosbag.Definition
}

// define adds the ROS 1 definitions of a ROS 2 type and of all contained types. It returns the type's name in ROS 1.
func (r *definer) define(name string) (string, error) {
	target := predecessors[name]
	if target == "" {
		pkg, base, found := strings.Cut(name, "/msg/")
		switch {
		case name == "":
			return "", errors.New("the recording does not name the type of the messages")
		case !strings.Contains(name, "/"):
			return "", fmt.Errorf("%s has no package; types of ROS 1 have one", name)
		case !found:
			return "", fmt.Errorf("%s is not a message; ROS 1 has no counterpart", name)
		}
		target = pkg + "/" + base
	}
	if r.definitions[target] != nil {
		return target, nil
	}
	d, err := r.predefined(target)
	if d == nil && err == nil {
		var message *rosidl.Message
		message, err = r.library.Message(name)
		if err == nil {
			d, err = ros1Definition(message, r.define)
		}
	}
	if err != nil {
		return "", err
	}
	d.Name = target
	toOldNames(d)
	r.definitions[target] = d
	return target, nil
}

// toOldNames changes names and types of ROS 2 in a definition to names and types of ROS 1.
func toOldNames(d *rosbag.Definition) {
	names := renamedFields[d.Name]
	d.Lines = slices.DeleteFunc(d.Lines, func(l rosbag.Line) bool {
		name, ok := names[l.Name]
		return ok && name == ""
	})
	for i := range d.Lines {
		l := &d.Lines[i]
		if name := names[l.Name]; name != "" {
			l.Name = name
		}
		if constant := constantTypes[d.Name]; l.Const && constant != "" {
			l.Type = constant
		}
	}
}

// predefined returns the definition of a ROS 1 type that differs in ROS 2. It returns nil for other types.
func (r *definer) predefined(name string) (*rosbag.Definition, error) {
	text, ok := ros1Definitions[name]
	if !ok {
		return nil, nil
	}
	d, err := rosbag.ParseDefinition(name, text)
	if err != nil {
		return nil, err
	}
	for _, l := range d.Lines {
		if !l.Const && !rosbag.Builtin(l.Type) {
			if _, err := r.define(typeName(l.Type)); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}
