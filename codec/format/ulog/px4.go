package ulog

import (
	_ "embed"
	"strings"
	"sync"

	"tapedeck/msgs/rosidl"
)

// px4Text has the types of px4_msgs, of each release from 1.13 on. It has a line "topic = Type" for each topic that is
// not named like its type, then a line "Type: field; field" for each version of a type.
//
//go:embed px4_msgs.txt
var px4Text string

// px4Type is one version of a type of px4_msgs.
type px4Type struct {
	name   string
	fields []field  // with types of ROS 2 as kinds, without counts
	arrays []string // types of the fields, with counts: "float32[3]"
}

type px4Definitions struct {
	types      map[string][]*px4Type // by name, the newest first
	topicTypes map[string]string     // names of types by topic, for topics that are not named like their types
}

var px4 = sync.OnceValue(func() px4Definitions {
	all := px4Definitions{map[string][]*px4Type{}, map[string]string{}}
	for line := range strings.Lines(px4Text) {
		line = strings.TrimSuffix(line, "\n")
		if topic, name, ok := strings.Cut(line, " = "); ok {
			all.topicTypes[topic] = name
			continue
		}
		name, list, _ := strings.Cut(line, ": ")
		t := &px4Type{name: name}
		for text := range strings.SplitSeq(list, "; ") {
			kind, name, _ := strings.Cut(text, " ")
			base, _, _ := strings.Cut(kind, "[")
			t.fields = append(t.fields, field{name: name, kind: base})
			t.arrays = append(t.arrays, kind)
		}
		all.types[name] = append(all.types[name], t)
	}
	return all
})

// px4Nested returns the version of a type that is nested in holder; nil if holder is nil, which is not of px4_msgs.
func px4Nested(n *node, holder *px4Type, name string) *px4Type {
	if holder == nil {
		return nil
	}
	return px4Version(n, name)
}

// px4Version returns the version of a type that has the same fields as n; nil if there is none.
func px4Version(n *node, name string) *px4Type {
	for _, t := range px4().types[name] {
		if t.matches(n) {
			return t
		}
	}
	return nil
}

// matches reports whether n has the fields of t, in any order: PX4 sorts the fields of a log by size.
func (t *px4Type) matches(n *node) bool {
	fields := map[string]*placedField{}
	for i, f := range n.fields {
		if !f.isPadding() {
			fields[f.name] = &n.fields[i]
		}
	}
	if len(fields) != len(t.fields) {
		return false
	}
	for i, want := range t.fields {
		f := fields[want.name]
		if f == nil || f.rosType(want.kind) != t.arrays[i] || f.node != nil && px4Version(f.node, want.kind) == nil {
			return false
		}
	}
	return true
}

// camelCase returns the name of a type for a format: "VehicleAttitude" for vehicle_attitude.
func camelCase(name string) string { return rosidl.CamelCase(name, "Format") }
