package rosbag

import (
	"crypto/md5"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// Definition is the definition of a type of ROS 1, http://wiki.ros.org/msg.
type Definition struct {
	Name  string // "sensor_msgs/Imu"
	Lines []Line
}

// Line is a line of a Definition: a field, a constant, or neither.
type Line struct {
	// Type is the type of an element: "uint8", "time", "geometry_msgs/Point". It is "" if the line has neither a field
	// nor a constant.
	Type    string
	Shape   string // text after the type: "", "[]" or "[36]"
	Length  int    // number of elements of an array; -1: any number
	Name    string
	Value   string // value of a constant as written; for a string, everything after "="
	Const   bool
	Comment string // from the "#" on
}

// builtin are the types that are not messages.
var builtin = []string{
	"bool", "byte", "char", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32",
	"float64", "string", "time", "duration",
}

// Builtin reports whether a type is not a message type.
func Builtin(name string) bool { return slices.Contains(builtin, name) }

// ErrUndefined is wrapped by errors about a message whose definition is missing.
var ErrUndefined = errors.New("the definition is missing")

// ParseDefinitions parses the definition of a type in a connection: the definition of the type, then the definitions of
// all nested messages, each after a line of "=" and a line "MSG: pkg/Type". It returns all definitions by name. The
// error is set if a definition is missing or contains itself.
func ParseDefinitions(name, text string) (map[string]*Definition, error) {
	all := map[string]*Definition{}
	d := &Definition{Name: name}
	if strings.Count(name, "/") != 1 {
		return nil, fmt.Errorf("%q is not the name of a type like \"std_msgs/String\"", name)
	}
	all[name] = d
	header := false
	for number, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if len(trimmed) >= 10 && strings.Trim(trimmed, "=") == "" {
			header = true
			continue
		}
		if header {
			contained, ok := strings.CutPrefix(trimmed, "MSG: ")
			if !ok || strings.Count(contained, "/") != 1 {
				return nil, fmt.Errorf("line %d of the definition of %s: no \"MSG: package/Type\" after the line of "+
					"\"=\"", number+1, name)
			}
			d, header = &Definition{Name: contained}, false
			if all[contained] == nil {
				all[contained] = d // repeated definitions are equal
			}
			continue
		}
		parsed, err := parseLine(d.Name, line)
		if err != nil {
			return nil, fmt.Errorf("line %d of the definition of %s: %w", number+1, name, err)
		}
		d.Lines = append(d.Lines, parsed)
	}
	if err := check(all, name, nil, map[string]bool{}); err != nil {
		return nil, fmt.Errorf("definition of %s: %w", name, err)
	}
	return all, nil
}

// ParseDefinition parses the definition of a type without the definitions of nested messages.
func ParseDefinition(name, text string) (*Definition, error) {
	d := &Definition{Name: name}
	for line := range strings.Lines(text) {
		l, err := parseLine(name, line)
		if err != nil {
			return nil, fmt.Errorf("definition of %s: %w", name, err)
		}
		d.Lines = append(d.Lines, l)
	}
	return d, nil
}

// maxNesting is the maximum depth of nested messages.
const maxNesting = 50

// check returns an error if name, or a message in it, is not defined or contains itself. within lists the messages
// around name. check skips messages in seen, and adds checked messages to seen.
func check(all map[string]*Definition, name string, within []string, seen map[string]bool) error {
	d := all[name]
	switch {
	case d == nil:
		return fmt.Errorf("%s: %w", name, ErrUndefined)
	case slices.Contains(within, name):
		return fmt.Errorf("%s contains itself", name)
	case len(within) >= maxNesting:
		return fmt.Errorf("messages nest deeper than %d", maxNesting)
	case seen[name]:
		return nil
	}
	for _, l := range d.Lines {
		if l.Const || l.Type == "" || Builtin(l.Type) {
			continue
		}
		if err := check(all, l.Type, append(within, name), seen); err != nil {
			return err
		}
	}
	seen[name] = true
	return nil
}

// parseLine parses a line of the definition of parent.
func parseLine(parent, line string) (Line, error) {
	code, comment, commented := strings.Cut(line, "#")
	var l Line
	if commented {
		l.Comment = "#" + strings.TrimRight(comment, " \t\r")
	}
	code = strings.TrimSpace(code)
	if code == "" {
		return l, nil
	}
	typeName, rest, _ := strings.Cut(strings.ReplaceAll(code, "\t", " "), " ")
	if name, value, ok := strings.Cut(rest, "="); ok {
		l.Const, l.Type, l.Name = true, typeName, strings.TrimSpace(name)
		if typeName == "string" {
			_, value, _ = strings.Cut(line, "=")
			l.Comment = ""
		}
		l.Value = strings.TrimSpace(value)
		if !Builtin(typeName) || typeName == "time" || typeName == "duration" || !isName(l.Name) {
			return l, fmt.Errorf("%q is not a constant", code)
		}
		return l, nil
	}
	l.Name = strings.TrimSpace(rest)
	if !isName(l.Name) {
		return l, fmt.Errorf("%q is neither a field nor a constant", code)
	}
	base, length, array := strings.Cut(typeName, "[")
	l.Type = resolve(parent, base)
	if !Builtin(l.Type) && strings.Count(l.Type, "/") != 1 {
		return l, fmt.Errorf("%q is not a type", base)
	}
	if array {
		length, ok := strings.CutSuffix(length, "]")
		n, err := -1, error(nil)
		if length != "" {
			n, err = strconv.Atoi(length)
		}
		if !ok || err != nil || length != "" && n < 0 {
			return l, fmt.Errorf("%q is not a type", typeName)
		}
		l.Shape, l.Length = "["+length+"]", n
	}
	return l, nil
}

// resolve returns the full name of a type that the definition of parent names.
func resolve(parent, name string) string {
	switch {
	case name == "Header", name == "roslib/Header":
		return "std_msgs/Header"
	case Builtin(name), strings.Contains(name, "/"):
		return name
	}
	pkg, _, _ := strings.Cut(parent, "/")
	return pkg + "/" + name
}

// isName reports whether s is the name of a field or a constant.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// MD5 returns the MD5 sum in hex that identifies a type in ROS 1.
func MD5(all map[string]*Definition, name string) string {
	return sum(all, name, map[string]string{})
}

// sum is MD5 with a cache of known sums.
func sum(all map[string]*Definition, name string, known map[string]string) string {
	if s, ok := known[name]; ok {
		return s
	}
	var constants, fields []string
	for _, l := range all[name].Lines {
		switch {
		case l.Const:
			constants = append(constants, l.Type+" "+l.Name+"="+l.Value)
		case l.Type == "":
		case Builtin(l.Type):
			fields = append(fields, l.Type+l.Shape+" "+l.Name)
		default:
			fields = append(fields, sum(all, l.Type, known)+" "+l.Name)
		}
	}
	text := strings.TrimSpace(strings.Join(append(constants, fields...), "\n"))
	known[name] = fmt.Sprintf("%x", md5.Sum([]byte(text)))
	return known[name]
}

// LacksFields reports whether the definition of a channel, or of a nested message, is missing, or has no fields
// although the type has or may have fields.
func LacksFields(c *codec.Channel) bool {
	text := string(c.Schema.Data)
	if !rosidl.HasEmpty(text) {
		return false
	}
	all, err := ParseDefinitions(c.Type, text)
	if err != nil {
		return text == ""
	}
	if sum := c.Metadata[keyMD5]; sum != "" && sum != "*" {
		return sum != MD5(all, c.Type)
	}
	if c.Schema.Encoding == "" {
		return true
	}
	// Without an MD5 sum, the library of known types decides.
	known, err := msgs.Library().Message(c.Type)
	return err == nil && len(known.Fields) > 0
}
