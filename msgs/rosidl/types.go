// Package rosidl reads ROS 2 interface definitions: the text of .msg and .srv files, the concatenated texts that MCAP
// files carry, and folders of packages. It does not read payloads.
package rosidl

// Kind is the kind of a value of a field or constant.
type Kind uint8

// The kinds. Payloads hold Byte and Char as one unsigned byte.
const (
	Bool Kind = iota + 1
	Byte
	Char
	Int8
	Uint8
	Int16
	Uint16
	Int32
	Uint32
	Int64
	Uint64
	Float32
	Float64
	String
	WString
	Nested // another message
)

// kinds lists, by kind, the name in definitions, the size of a number in bytes, and the id of a single value in type
// descriptions, where "char" is a uint8.
var kinds = [...]struct {
	name     string
	size, id int
}{
	Bool: {"bool", 1, 15}, Byte: {"byte", 1, 16}, Char: {"char", 1, 3}, Int8: {"int8", 1, 2}, Uint8: {"uint8", 1, 3},
	Int16: {"int16", 2, 4}, Uint16: {"uint16", 2, 5}, Int32: {"int32", 4, 6}, Uint32: {"uint32", 4, 7},
	Int64: {"int64", 8, 8}, Uint64: {"uint64", 8, 9}, Float32: {"float32", 4, 10}, Float64: {"float64", 8, 11},
	String: {"string", 0, 17}, WString: {"wstring", 0, 18}, Nested: {"", 0, 1},
}

// Name returns the name of the kind in definitions, "uint8", or "" for Nested.
func (k Kind) Name() string { return kinds[k].name }

// Size returns the size of a number or bool in bytes, or 0 for other kinds.
func (k Kind) Size() int { return kinds[k].size }

// kindNamed returns the kind with a name in definitions, or 0 if there is none.
func kindNamed(name string) Kind {
	for k := Bool; k < Nested; k++ {
		if kinds[k].name == name {
			return k
		}
	}
	return 0
}

// Shape tells a single value from an array and a sequence.
type Shape uint8

// The shapes.
const (
	Single   Shape = iota
	Array          // T[N]: exactly Type.Length values
	Sequence       // T[] and T[<=N]: at most Type.Length values, or any number of values if Type.Length is 0
)

// Type is the type of a field or constant.
type Type struct {
	Kind        Kind
	Message     string // for Nested: the full name of the message, "geometry_msgs/msg/Point"
	StringBound int    // for String and WString: the largest number of characters; 0: no bound
	Shape       Shape
	Length      int // for Array: number of values; for Sequence: the largest number of values, 0: no bound
}

// Field is a field of a message. Default is nil or the default value: bool, int64, uint64, float64 or string, or, for
// arrays and sequences, a slice ([]any) of such values.
type Field struct {
	Name    string
	Type    Type
	Default any
}

// Constant is a constant of a message. Value is bool, int64, uint64, float64 or string.
type Constant struct {
	Name  string
	Type  Type
	Value any
}

// Message is the definition of a message, or of a request or response of a service.
type Message struct {
	Name      string // "sensor_msgs/msg/Imu", "std_srvs/srv/Trigger_Request"
	Fields    []Field
	Constants []Constant
	Text      string // the definition as it was read
	// Unproven means that the text has no fields, but the type may have some. A payload other than one to four zero
	// bytes proves that the type has fields.
	Unproven bool
}

// Service is the definition of a service.
type Service struct {
	Name     string // "std_srvs/srv/Trigger"
	Request  *Message
	Response *Message
	Text     string
}
