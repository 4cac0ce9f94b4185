// Package rosidl reads ROS 2 interface definitions: the text of .msg and .srv files, the concatenated texts that MCAP
// files carry, and folders of packages. It does not read payloads.
package rosidl

// Kind is what a field or constant holds.
type Kind uint8

// The kinds. In the text, "byte" is Byte and "char" is Char: both travel as one unsigned byte.
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

// Shape is how many values a field holds.
type Shape uint8

// The shapes.
const (
	Single   Shape = iota
	Array          // T[N]: exactly Type.Length values
	Sequence       // T[] and T[<=N]: any number, or at most Type.Length unless that is 0
)

// Type is the type of a field or constant.
type Type struct {
	Kind        Kind
	Message     string // of Nested: the full name, "geometry_msgs/msg/Point"
	StringBound int    // of String and WString: the most characters, 0 without bound
	Shape       Shape
	Length      int // of Array: how many; of Sequence: at most how many, 0 without bound
}

// Field is a field of a message. Default is nil or the default value: bool, int64, uint64, float64, string, or a slice
// ([]any) of these for arrays and sequences.
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
}

// Service is the definition of a service.
type Service struct {
	Name     string // "std_srvs/srv/Trigger"
	Request  *Message
	Response *Message
	Text     string
}
