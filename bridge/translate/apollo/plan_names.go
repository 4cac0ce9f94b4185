package apollo

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/msgs/rosidl"
)

// name returns the name of the ROS 2 type for d: apollo.canbus.Chassis becomes apollo_canbus/msg/Chassis. A type nested
// in d has the name of d's ROS 2 type as a prefix, followed by suffix.
func (s *plans) name(d protoreflect.MessageDescriptor, suffix string) string {
	proto := d.ParentFile().Package()
	pkg := "protobuf"
	if proto != "" {
		pkg = fieldName(string(proto))
	}
	name := typeName(strings.TrimPrefix(strings.TrimPrefix(string(d.FullName()), string(proto)), ".")) + suffix
	return uniqueName(s.taken, pkg+"/msg/"+name, "")
}

// uniqueName returns name, or name with a number as a suffix if name is taken. It marks the result as taken.
func uniqueName(taken map[string]bool, name, between string) string {
	free := name
	for n := 2; taken[free]; n++ {
		free = name + between + strconv.Itoa(n)
	}
	taken[free] = true
	return free
}

// keywords are the lower-case keywords of the languages for which ROS generates code.
var keywords = strings.Fields(`
	alignas alignof and as asm assert async auto await bool break case catch char class const constexpr continue
	decltype def default del delete do double elif else enum except explicit export extern false finally float for
	from friend global goto if import in inline int is lambda long mutable namespace new noexcept nonlocal not
	nullptr operator or pass private protected public raise register return short signed sizeof static struct switch
	template this throw true try typedef typeid typename union unsigned using virtual void volatile while with xor
	yield
`)

// fieldName returns a valid name of a field or package of ROS 2.
func fieldName(name string) string {
	s := rosidl.SnakeCase(name, "f")
	if slices.Contains(keywords, s) {
		return s + "_field"
	}
	return s
}

// constantName returns a valid name of a constant of ROS 2.
func constantName(name string) string { return strings.ToUpper(rosidl.SnakeCase(name, "f")) }

// typeName returns a valid name of a ROS 2 type.
func typeName(name string) string { return rosidl.CamelCase(name, "T") }
