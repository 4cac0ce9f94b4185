package ros1

import (
	"fmt"
	"strconv"
	"strings"

	"tapedeck/codec/format/rosbag"
	"tapedeck/msgs/rosidl"
)

// ros2Definition returns a ROS 1 definition in the syntax and with the names of ROS 2.
func (m *matcher) ros2Definition(d *rosbag.Definition) (string, error) {
	var b strings.Builder
	used := map[string]bool{}
	for _, l := range d.Lines {
		if l.Type == "" {
			b.WriteString(l.Comment + "\n")
			continue
		}
		line, err := m.ros2Line(l)
		if err != nil {
			return "", err
		}
		if used[line.Name] {
			return "", fmt.Errorf("%s: two fields or constants would have the name %s in ROS 2", d.Name, line.Name)
		}
		used[line.Name] = true
		b.WriteString(line.Type + line.Shape + " " + line.Name)
		if line.Const {
			b.WriteString("=" + line.Value)
		}
		if line.Comment != "" {
			b.WriteString("  " + line.Comment)
		}
		b.WriteByte('\n')
	}
	return strings.TrimLeft(strings.TrimRight(b.String(), "\n")+"\n", "\n"), nil
}

// ros2Line converts a field or constant to the type and name of ROS 2.
func (m *matcher) ros2Line(l rosbag.Line) (rosbag.Line, error) {
	if l.Const {
		l.Name = constantName(l.Name)
		if l.Type == "string" {
			l.Value = strconv.Quote(l.Value)
		}
	} else {
		l.Name = fieldName(l.Name)
	}
	switch l.Type {
	case "byte":
		if strings.HasPrefix(l.Value, "-") { // byte is unsigned in ROS 2
			l.Type = "int8"
		}
	case "time":
		l.Type = "builtin_interfaces/Time"
	case "duration":
		l.Type = "builtin_interfaces/Duration"
	default:
		if !rosbag.Builtin(l.Type) {
			found, err := m.match(l.Type)
			if err != nil {
				return l, err
			}
			l.Type = strings.Replace(found.name, "/msg/", "/", 1)
		}
	}
	return l, nil
}

// text returns the text of a ROS 1 definition, without comments.
func text(d *rosbag.Definition) string {
	var b strings.Builder
	for _, l := range d.Lines {
		b.WriteString(l.Type + l.Shape + " " + l.Name)
		if l.Const {
			b.WriteString("=" + l.Value)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// ros1Definition returns the ROS 1 definition of a ROS 2 message. name converts the ROS 2 name of a contained message
// to its ROS 1 name.
func ros1Definition(message *rosidl.Message, name func(string) (string, error)) (*rosbag.Definition, error) {
	d := &rosbag.Definition{}
	for _, c := range message.Constants {
		d.Lines = append(d.Lines, rosbag.Line{Type: ros1TypeName(c.Type.Kind), Name: c.Name, Value: ros1Value(c.Value),
			Const: true})
	}
	for _, f := range message.Fields {
		l := rosbag.Line{Type: ros1TypeName(f.Type.Kind), Name: f.Name}
		switch f.Type.Message {
		case "":
		case timeType:
			l.Type = "time"
		case durationType:
			l.Type = "duration"
		default:
			var err error
			l.Type, err = name(f.Type.Message)
			if err != nil {
				return nil, err
			}
		}
		switch f.Type.Shape {
		case rosidl.Array:
			l.Shape, l.Length = "["+strconv.Itoa(f.Type.Length)+"]", f.Type.Length
		case rosidl.Sequence:
			l.Shape, l.Length = "[]", -1
		}
		d.Lines = append(d.Lines, l)
	}
	return d, nil
}

// ros1TypeName returns the ROS 1 type of a kind, or "" for messages.
func ros1TypeName(k rosidl.Kind) string {
	if k == rosidl.WString {
		k = rosidl.String
	}
	return k.Name()
}

// ros1Value returns a constant in the syntax of ROS 1.
func ros1Value(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "True"
		}
		return "False"
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}
