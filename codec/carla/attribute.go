package carla

// Attribute is one of the properties with which an actor was made.
type Attribute struct {
	Type  AttributeType
	ID    string // "role_name"
	Value string // as text, whatever the type
}

// AttributeType says how the value of an attribute is meant. The numbers are those of version 2 of the header; what is in files
// of version 1 is less by one, and is converted.
type AttributeType uint8

// The types of attributes.
const (
	AttributeBool AttributeType = 1 + iota
	AttributeInt
	AttributeFloat
	AttributeString
	AttributeColor
	AttributeVector // UE5 only
)

func (r *Attribute) code(c *Coder) {
	var shift uint8
	if c.Profile.Version <= 1 {
		shift = 1
	}
	t := uint8(r.Type) - shift
	c.Uint8(&t)
	r.Type = AttributeType(t + shift)
	c.String(&r.ID)
	c.String(&r.Value)
}
