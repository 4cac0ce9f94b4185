// Package field writes messages and single fields as text, directly from payloads: as YAML, as JSON and as cells of
// CSV. It knows which numbers are worth a curve.
package field

import (
	"fmt"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// Node is a field of a type, with the fields of its messages as a tree. See cdr.FieldType for how payloads are read. A
// Node is not for concurrent use.
type Node struct {
	cdr.FieldType
	Path  string  // from the message: "pose.position.x", "transforms[].header"
	Inner []*Node // fields of its messages; none if it holds values
	// Omitted is set if the field is not written, but skipped with SkipAll.
	Omitted bool
	Seen    bool // set by SkipAll if it skipped values

	key  []byte // of JSON
	last written
}

// written is a short array of numbers and its JSON. Arrays such as covariances often repeat in the next message.
type written struct {
	raw       []byte
	big       bool // raw is big-endian
	text      []byte
	nonFinite bool // text contains NaN or infinity
}

// longest is the most bytes of an array that a Node remembers.
const longest = 512

// maxNodes is the most fields of a type, including the fields of nested messages.
const maxNodes = 10000

// Of returns the node of a field. If the field has a name, the paths in the node begin with it. A type of more than
// 10,000 fields is an error.
func Of(f cdr.FieldType) (*Node, error) {
	none := func(cdr.FieldType) bool { return false }
	if f.Name == "" {
		inner, err := tree(f.Message, f.Fields(), none)
		return &Node{FieldType: f, Inner: inner}, err
	}
	one, err := tree(f.Name, []cdr.FieldType{f}, none)
	if err != nil {
		return nil, err
	}
	return one[0], nil
}

// Tree returns the fields of a type. Values for which omit returns true are Omitted. A type of more than 10,000 fields
// is an error.
func Tree(s *cdr.Schema, omit func(cdr.FieldType) bool) ([]*Node, error) {
	return tree(s.Name(), s.Fields(), omit)
}

func tree(name string, fields []cdr.FieldType, omit func(cdr.FieldType) bool) ([]*Node, error) {
	count := 0
	var nodes func(fields []cdr.FieldType, prefix string) ([]*Node, error)
	nodes = func(fields []cdr.FieldType, prefix string) (all []*Node, err error) {
		for _, f := range fields {
			count++
			if count > maxNodes {
				return nil, fmt.Errorf("%s has more than %d fields", name, maxNodes)
			}
			n := &Node{FieldType: f, Path: prefix + f.Name, key: append(AppendQuoted(nil, f.Name), ':')}
			inside := n.Path + "."
			if f.Shape != rosidl.Single {
				inside = n.Path + "[]."
			}
			n.Inner, err = nodes(f.Fields(), inside)
			if err != nil {
				return nil, err
			}
			n.Omitted = f.Kind != rosidl.Nested && omit(f)
			all = append(all, n)
		}
		return all, nil
	}
	return nodes(fields, "")
}

// Flat returns nodes in the order of payloads, and replaces each single message by its fields. It sets Omitted for
// messages without fields.
func Flat(nodes []*Node) (all []*Node) {
	for _, n := range nodes {
		switch {
		case n.Kind != rosidl.Nested || n.Shape != rosidl.Single:
			all = append(all, n)
		case len(n.Inner) == 0:
			n.Omitted = true
			all = append(all, n)
		default:
			all = append(all, Flat(n.Inner)...)
		}
	}
	return all
}

// SkipAll skips the field.
func (n *Node) SkipAll(d *wire.Decoder) {
	count := n.Count(d)
	n.Skip(d, count)
	n.Seen = n.Seen || count > 0 && n.Kind != rosidl.Nested
}
