package robot

import (
	"errors"
	"fmt"
	"strings"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/text/plural"
	"tapedeck/msgs/rosidl"
)

// numbers reads numbers from messages of a type: a number, an array of numbers, or the fields of a pose.
type numbers struct {
	name   string      // last element of the path: "position"
	paths  []*cdr.Path // one path, or the paths to x, y, z, qx, qy, qz and qw of a pose
	labels *cdr.Path   // path to the names of the numbers in an array; nil: none
	pose   bool
}

// labelFields are the names of fields with the names of numbers in another field of the message.
var labelFields = []string{"name", "joint_names", "names"}

// newNumbers returns the numbers at a path.
func newNumbers(s *cdr.Schema, path string) (*numbers, error) {
	if pose := poseFields(s, path); pose != nil {
		return &numbers{name: path, paths: pose, pose: true}, nil
	}
	p, err := s.Path(path)
	if err != nil {
		return nil, err
	}
	t := p.Type()
	switch t.Kind {
	case rosidl.Nested, rosidl.String, rosidl.WString:
		return nil, fmt.Errorf("path %q in %s does not lead to a number", path, s.Name())
	}
	name := path[strings.LastIndex(path, ".")+1:]
	n := &numbers{name: name, paths: []*cdr.Path{p}}
	if t.Shape != rosidl.Single {
		for _, label := range labelFields {
			if l, err := s.Path(label); err == nil && l.Type().Kind == rosidl.String &&
				l.Type().Shape == rosidl.Sequence {
				n.labels = l
			}
		}
	}
	return n, nil
}

// poseFields returns the paths to the numbers of a pose or a transform at a path, nil if there is none.
func poseFields(s *cdr.Schema, path string) []*cdr.Path {
	if path != "" {
		path += "."
	}
	for _, parts := range [][2]string{{"position", "orientation"}, {"translation", "rotation"}} {
		var paths []*cdr.Path
		for _, name := range []string{parts[0] + ".x", parts[0] + ".y", parts[0] + ".z", parts[1] + ".x",
			parts[1] + ".y", parts[1] + ".z", parts[1] + ".w"} {
			p, err := s.Path(path + name)
			if err != nil {
				break
			}
			paths = append(paths, p)
		}
		if len(paths) == 7 {
			return paths
		}
	}
	return nil
}

// get appends the numbers in a payload to values, and the names of the numbers, if there are any, to names.
func (n *numbers) get(payload []byte, values []float64, names []string) ([]float64, []string, error) {
	start := len(values)
	for _, p := range n.paths {
		var err error
		values, err = p.AppendNumbers(values, payload)
		if err != nil {
			return values, names, err
		}
	}
	if n.labels == nil {
		return values, names, nil
	}
	v, err := n.labels.Get(payload)
	if err != nil {
		return values, names, err
	}
	labels := v.([]string)
	if got := len(values) - start; got != len(labels) && got != 0 {
		return values, names, fmt.Errorf("%s and %s in %s", plural.Count(len(labels), "name"),
			plural.Count(got, "number"), n.name)
	} else if got == 0 {
		return values, names, errNoNumbers
	}
	return values, append(names, labels...), nil
}

// errNoNumbers is returned for a message with names and without numbers.
var errNoNumbers = errors.New("no numbers")
