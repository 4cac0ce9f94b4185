package codec

import (
	"errors"
	"fmt"
	"strings"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// ErrEmptyDefinition is wrapped by errors about a definition without fields, if the type has or may have fields.
var ErrEmptyDefinition = errors.New("is empty")

// Hints of errors about unknown types.
const (
	definitionHint = "name a folder with its package by --definition-paths or AMENT_PREFIX_PATH"
	undefinedHint  = "the recording does not define it; " + definitionHint
)

// Definitions returns the ROS 2 definitions in c.Schema. A definition without fields is an error if the hash
// or the name of the type tells that it has fields. If neither tells, payloads must prove that it has none.
func (c *Channel) Definitions() (*rosidl.Library, error) {
	if c.Schema.Encoding != SchemaROS2Msg {
		return nil, fmt.Errorf("no definition of the encoding %s", SchemaROS2Msg)
	}
	own, err := rosidl.ParseConcatenated(c.Type, string(c.Schema.Data))
	if err != nil {
		return nil, err
	}
	empty, itself, err := own.Empty(c.Type)
	if err != nil || empty == "" {
		return own, err
	}
	if c.TypeHash != "" {
		if hash, err := own.Hash(c.Type); err == nil && hash == c.TypeHash {
			return own, nil
		}
		return nil, fmt.Errorf("the definition of %s %w", empty, ErrEmptyDefinition)
	}
	known, err := msgs.Library().Message(empty) // without a hash, the name tells
	if err == nil && len(known.Fields) > 0 {
		return nil, fmt.Errorf("the definition of %s %w", empty, ErrEmptyDefinition)
	}
	if m, found := own.Message(empty); err != nil && itself && found == nil {
		m.Unproven = true
	}
	return own, nil
}

// Library returns the ROS 2 definitions in c.Schema, or else other. The library's errors about an unknown type say what
// to do.
func (c *Channel) Library(other *rosidl.Library) *rosidl.Library {
	own, err := c.Definitions()
	if err == nil {
		return own
	}
	if other == nil {
		other = rosidl.NewLibrary()
	}
	if fits(other, c) {
		return other
	}
	_, unknown := other.Message(c.Type)
	switch {
	case unknown == nil && c.TypeHash != "" && c.Schema.Encoding != SchemaROS2Msg:
		return rosidl.NewLibrary().WithHint("the definition at hand has another type hash; " + definitionHint)
	case errors.Is(err, ErrEmptyDefinition):
		return rosidl.NewLibrary().WithHint(fmt.Sprintf("%v; %s", err, definitionHint))
	case c.Schema.Encoding == "" || len(c.Schema.Data) == 0:
		return other.WithHint(undefinedHint)
	case c.Schema.Encoding != SchemaROS2Msg:
		return other.WithHint(fmt.Sprintf("the recording defines it by %s, which is not read; %s", c.Schema.Encoding,
			definitionHint))
	}
	return other.WithHint(err.Error())
}

// fits reports whether a library has the type of c, by its hash if that is known.
func fits(library *rosidl.Library, c *Channel) bool {
	if c.TypeHash == "" {
		_, err := library.Concatenated(c.Type)
		return err == nil
	}
	hash, err := library.Hash(c.Type)
	return err == nil && hash == c.TypeHash
}

// Define sets the definition of c to one from libraries, if c has none or an empty one. The hash of the type must
// match, or its name if the hash is unknown. Define returns an event about a replaced definition, or about an empty
// definition without a replacement, or nil.
func (c *Channel) Define(libraries ...*rosidl.Library) *Event {
	missing := c.Encoding == EncodingCDR && c.Schema.Encoding == "" && c.Type != ""
	own, err := c.Definitions()
	if err == nil {
		if m, found := own.Message(c.Type); found == nil && m.Unproven {
			err = fmt.Errorf("the definition of %s %w", c.Type, ErrEmptyDefinition)
		}
	}
	if !missing && !errors.Is(err, ErrEmptyDefinition) {
		return nil
	}
	for _, library := range libraries {
		if !fits(library, c) {
			continue
		}
		text, found := library.Concatenated(c.Type)
		if found != nil {
			continue
		}
		c.Schema = Schema{Encoding: SchemaROS2Msg, Data: []byte(text)}
		if missing {
			return nil
		}
		return &Event{Kind: EventLabel, Topic: c.Topic, Text: fmt.Sprintf("%v; another definition of the type is used",
			err)}
	}
	if missing || own != nil { // payloads may prove that the type has no fields
		return nil
	}
	return &Event{Kind: EventLabel, Topic: c.Topic, Text: fmt.Sprintf("%v, so that values of %s cannot be read; %s",
		err, c.Topic, definitionHint)}
}

// emptyMD5 is the MD5 sum of a ROS 1 type without fields.
const emptyMD5 = "d41d8cd98f00b204e9800998ecf8427e"

// emptyROS1 reports whether the definition of a ROS 1 type is empty although the type has fields. Package
// bridge/translate/ros1 searches for another definition.
func (c *Channel) emptyROS1() bool {
	root, _, _ := strings.Cut("\n"+string(c.Schema.Data), "\n==")
	if c.Schema.Encoding != SchemaROS1Msg || !rosidl.HasEmpty(root) {
		return false
	}
	if sum := c.Metadata["md5sum"]; sum != "" && sum != "*" {
		return sum != emptyMD5
	}
	known, err := msgs.Library().Message(c.Type)
	return err == nil && len(known.Fields) > 0
}

// DefineAll calls Define, with definitions of tapedeck and of the environment, for channels whose definitions are
// empty, and returns the events.
func DefineAll(channels []*Channel) (events []Event) {
	for _, c := range channels {
		if c != nil && c.emptyROS1() {
			events = append(events, Event{Kind: EventLabel, Topic: c.Topic, Text: fmt.Sprintf("the definition of %s %v"+
				"; that of tapedeck is used if it has the same MD5 sum", c.Type, ErrEmptyDefinition)})
		}
		if c == nil || c.Schema.Encoding != SchemaROS2Msg || !rosidl.HasEmpty(string(c.Schema.Data)) {
			continue
		}
		if e := c.Define(msgs.Library(), msgs.Release(""), msgs.Release("humble")); e != nil {
			events = append(events, *e)
		}
	}
	return events
}

// Stamps returns the stamps in the messages of c, by the definition that Library finds. It returns nil if there are no
// stamps, or the type is unknown.
func (c *Channel) Stamps(other *rosidl.Library) *cdr.Stamps {
	schema, err := cdr.NewSchema(c.Library(other), c.Type)
	if err != nil {
		return nil
	}
	return schema.Stamps()
}
