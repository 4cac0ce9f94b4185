package rosidl

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParseMessage reads the text of a .msg file. name is the full name, "sensor_msgs/msg/Imu". Names of other messages in
// the text are relative to the package, except "Header", which means std_msgs/msg/Header. ROS 1's "time" and "duration"
// mean Time and Duration of builtin_interfaces. ParseMessage does not look up other messages; a Library does.
func ParseMessage(name, text string) (*Message, error) {
	return parser{name: name, file: name + ".msg", header: stdHeader}.message(text)
}

const stdHeader = "std_msgs/msg/Header"

// parser reads one definition.
type parser struct {
	name   string // name of the message or service
	file   string // name of the file in errors
	line   int    // number of lines of the file before the text
	header string // full name of the message that a bare "Header" names
}

// service reads the text of a .srv file.
func (p parser) service(text string) (*Service, error) {
	if _, _, err := splitName(p.name); err != nil {
		return nil, fmt.Errorf("parse %s: %w", p.file, err)
	}
	sections, lines, err := splitSections(text, 2)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", p.file, err)
	}
	s := &Service{Name: p.name, Text: text}
	p.name = s.Name + "_Request"
	s.Request, err = p.message(sections[0])
	if err != nil {
		return nil, err
	}
	p.name, p.line = s.Name+"_Response", lines[1]
	s.Response, err = p.message(sections[1])
	if err != nil {
		return nil, err
	}
	return s, nil
}

// splitSections cuts the text of a .srv or .action file into its sections. lines has the number of lines before each
// section.
func splitSections(text string, count int) (sections []string, lines []int, err error) {
	first, start, end, number := 0, 0, 0, 0
	for s := range strings.SplitAfterSeq(text, "\n") {
		start, end = end, end+len(s)
		number++
		if strings.TrimSpace(s) == "---" {
			if len(sections) == count-1 {
				return nil, nil, fmt.Errorf("line %d has a \"---\" too many", number)
			}
			sections, lines = append(sections, text[first:start]), append(lines, number)
			first = end
		}
	}
	if len(sections) < count-1 {
		return nil, nil, fmt.Errorf("the number of \"---\" lines is %d, not %d", len(sections), count-1)
	}
	return append(sections, text[first:]), append([]int{0}, lines...), nil
}

// message reads the definition of a message.
func (p parser) message(text string) (*Message, error) {
	pkg, _, err := splitName(p.name)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", p.file, err)
	}
	m := &Message{Name: p.name, Text: text}
	fields, constants := map[string]bool{}, map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		p.line++
		line = strings.TrimSpace(uncomment(line))
		if line == "" {
			continue
		}
		if err := p.element(m, pkg, line, fields, constants); err != nil {
			return nil, fmt.Errorf("parse %s:%d: %w", p.file, p.line, err)
		}
	}
	return m, nil
}

// element reads a line with a field or a constant.
func (p parser) element(m *Message, pkg, line string, fields, constants map[string]bool) error {
	typeName, rest := cutSpace(line)
	t, err := p.fieldType(pkg, typeName)
	if err != nil {
		return err
	}
	n := 0
	for n < len(rest) && isNameByte(rest[n]) {
		n++
	}
	name, value := rest[:n], strings.TrimLeft(rest[n:], " \t")
	if value, ok := strings.CutPrefix(value, "="); ok {
		if !isName(name) {
			return fmt.Errorf("%q is not a name for a constant", name)
		}
		if constants[name] {
			return fmt.Errorf("a second constant %s", name)
		}
		constants[name] = true
		if t.Kind == Nested || t.Shape != Single {
			return fmt.Errorf("constant %s: a constant cannot have type %s", name, typeName)
		}
		v, err := parseValue(t, strings.TrimSpace(value))
		if err != nil {
			return fmt.Errorf("constant %s: %w", name, err)
		}
		m.Constants = append(m.Constants, Constant{Name: name, Type: t, Value: v})
		return nil
	}
	if name, _ := cutSpace(rest); !isName(name) {
		return fmt.Errorf("%q is not a name for a field of type %s", name, typeName)
	}
	if fields[name] {
		return fmt.Errorf("a second field %s", name)
	}
	fields[name] = true
	f := Field{Name: name, Type: t}
	if value != "" {
		f.Default, err = parseDefault(t, value)
		if err != nil {
			return fmt.Errorf("default of field %s: %w", name, err)
		}
	}
	m.Fields = append(m.Fields, f)
	return nil
}

// fieldType reads a type as it is written before a name.
func (p parser) fieldType(pkg, text string) (Type, error) {
	var t Type
	base := text
	if inner, ok := strings.CutSuffix(text, "]"); ok {
		i := strings.LastIndexByte(inner, '[')
		if i < 0 {
			return t, fmt.Errorf("type %q has no \"[\"", text)
		}
		base = inner[:i]
		length, bounded := strings.CutPrefix(inner[i+1:], "<=")
		t.Shape = Sequence
		if length != "" || bounded {
			n, err := parseBound(length)
			if err != nil {
				return t, fmt.Errorf("type %q: length %w", text, err)
			}
			t.Length = n
			if !bounded {
				t.Shape = Array
			}
		}
	}
	if name, bound, ok := strings.Cut(base, "<="); ok {
		if name != "string" && name != "wstring" {
			return t, fmt.Errorf("type %q: only strings have a bound", text)
		}
		n, err := parseBound(bound)
		if err != nil {
			return t, fmt.Errorf("type %q: bound %w", text, err)
		}
		base, t.StringBound = name, n
	}
	if k := kindNamed(base); k != 0 {
		t.Kind = k
		return t, nil
	}
	t.Kind = Nested
	switch parts := strings.Split(base, "/"); {
	case base == "Header":
		t.Message = p.header
	case base == "time":
		t.Message = "builtin_interfaces/msg/Time"
	case base == "duration":
		t.Message = "builtin_interfaces/msg/Duration"
	case len(parts) == 1 && isName(base) && pkg == "":
		t.Message = base
	case len(parts) == 1 && isName(base):
		t.Message = pkg + "/msg/" + base
	case len(parts) == 2 && isName(parts[0]) && isName(parts[1]):
		t.Message = parts[0] + "/msg/" + parts[1]
	case len(parts) == 3 && isName(parts[0]) && (parts[1] == "msg" || parts[1] == "action") && isName(parts[2]):
		t.Message = base
	default:
		return t, fmt.Errorf("%q is not a type", text)
	}
	if t.Message == p.name {
		return t, fmt.Errorf("%s contains itself", p.name)
	}
	return t, nil
}

// parseBound reads a length or a bound.
func parseBound(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a number from 1 to 2147483647", s)
	}
	return int(n), nil
}

// splitName returns "pkg" and "msg" of "pkg/msg/Type". A message without a package, "Type", has the package "".
func splitName(name string) (pkg, kind string, err error) {
	if isName(name) {
		return "", "msg", nil
	}
	parts := strings.Split(name, "/")
	if len(parts) == 3 && isName(parts[0]) && isName(parts[2]) {
		switch parts[1] {
		case "msg", "srv", "action":
			return parts[0], parts[1], nil
		}
	}
	return "", "", errors.New(strconv.Quote(name) + " is not a type name like \"std_msgs/msg/String\"")
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// isName reports whether s is a name of ROS 2 or ROS 1. Names of ROS 1 mix upper and lower case.
func isName(s string) bool {
	if s == "" || s[0] == '_' || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return true
}

// cutSpace cuts s around the first sequence of spaces and tabs.
func cutSpace(s string) (before, after string) {
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], strings.TrimLeft(s[i:], " \t")
	}
	return s, ""
}

// uncomment cuts the line before a "#" that is not inside a quoted value.
func uncomment(line string) string {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '#':
			return line[:i]
		case '"', '\'':
			if i > 0 && strings.IndexByte(" \t=,[", line[i-1]) >= 0 {
				if n := quotedLength(line[i:]); n > 0 {
					i += n - 1
				}
			}
		}
	}
	return line
}

// quotedLength returns the length of the quoted string at the start of s, including the quotes. It returns 0 if the
// string has no end.
func quotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return 0
}
