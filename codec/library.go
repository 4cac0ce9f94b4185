package codec

import (
	"tapedeck/codec/cdr"
	"tapedeck/msgs/rosidl"
)

// Library returns the definitions of ROS 2 that c comes with, or else another library.
func (c *Channel) Library(other *rosidl.Library) *rosidl.Library {
	if c.Schema.Encoding == SchemaROS2Msg {
		if own, err := rosidl.ParseConcatenated(c.Type, string(c.Schema.Data)); err == nil {
			return own
		}
	}
	return other
}

// Stamps returns the stamps in the messages of ROS 2 that c has, of the type as Library finds it. They are nil if there
// are none, or the type is not known.
func (c *Channel) Stamps(other *rosidl.Library) *cdr.Stamps {
	schema, err := cdr.NewSchema(c.Library(other), c.Type)
	if err != nil {
		return nil
	}
	return schema.Stamps()
}
