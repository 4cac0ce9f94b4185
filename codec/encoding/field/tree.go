// Package field writes messages and their fields as text, right from payloads: as YAML, as JSON and as cells of CSV. It
// knows which of their numbers are worth a curve.
package field

import (
	"fmt"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// Node is a field of a type, with the fields of the messages in it. It reads payloads without making a cdr.Struct of
// them; see cdr.FieldType. It is not for concurrent use.
type Node struct {
	cdr.FieldType
	Path  string  // from the message: "pose.position.x", "transforms[].header"
	Inner []*Node // none if it holds values
	Left  bool    // it is left out, and Over reads over it
	Seen  bool    // set by Over if there were values

	key []byte // of JSON
	was written
}

// written is what JSON made of a short array of numbers. Arrays often stay the same, as those of covariances.
type written struct {
	raw     []byte
	big     bool // byte order
	text    []byte
	lacking bool
}

// longest is how many bytes of an array are remembered.
const longest = 512

// maxNodes bounds the fields of a type, those of all messages in it included.
const maxNodes = 10000

// Of returns the node of a field. The paths in it begin with its name, if it has one. A type of more than 10,000 fields
// is an error.
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

// Tree returns the fields of a type. Those that leave reports are Left. A type of more than 10,000 fields is an error.
func Tree(s *cdr.Schema, leave func(cdr.FieldType) bool) ([]*Node, error) {
	return tree(s.Name(), s.Fields(), leave)
}

func tree(name string, fields []cdr.FieldType, leave func(cdr.FieldType) bool) ([]*Node, error) {
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
			n.Left = f.Kind != rosidl.Nested && leave(f)
			all = append(all, n)
		}
		return all, nil
	}
	return nodes(fields, "")
}

// Flat returns nodes in the order of payloads, with the fields of single messages in the place of these. Messages
// without fields are Left.
func Flat(nodes []*Node) (all []*Node) {
	for _, n := range nodes {
		switch {
		case n.Kind != rosidl.Nested || n.Shape != rosidl.Single:
			all = append(all, n)
		case len(n.Inner) == 0:
			n.Left = true
			all = append(all, n)
		default:
			all = append(all, Flat(n.Inner)...)
		}
	}
	return all
}

// Over reads over the field.
func (n *Node) Over(d *wire.Decoder) {
	count := n.Count(d)
	n.Skip(d, count)
	n.Seen = n.Seen || count > 0 && n.Kind != rosidl.Nested
}
