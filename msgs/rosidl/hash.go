package rosidl

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// Numbers of types in descriptions: those of arrays, bounded and unbounded sequences follow those of single values, and
// those of strings with a bound those of other strings.
const (
	shapeIDs = 48
	boundIDs = 4
)

// ID returns the number that type_description_interfaces/msg/FieldType has for the type.
func (t Type) ID() int {
	id := kinds[t.Kind].id
	if t.StringBound > 0 {
		id += boundIDs
	}
	switch {
	case t.Shape == Array:
		id += shapeIDs
	case t.Shape == Sequence && t.Length > 0:
		id += 2 * shapeIDs
	case t.Shape == Sequence:
		id += 3 * shapeIDs
	}
	return id
}

// TypeText returns the type with the number that ID returns, as definitions write it. length, bound and message are as
// in a Type.
func TypeText(id int, length, bound uint64, message string) (string, error) {
	if id <= 0 || id > 4*shapeIDs {
		return "", fmt.Errorf("type %d is not known", id)
	}
	single, text := (id-1)%shapeIDs+1, ""
	for k, kind := range kinds {
		switch {
		case Kind(k) == Char: // written as the uint8 that it is
		case kind.id == single:
			text = kind.name + message
		case kind.id+boundIDs == single && (Kind(k) == String || Kind(k) == WString):
			text = fmt.Sprintf("%s<=%d", kind.name, bound)
		}
	}
	if text == "" {
		return "", fmt.Errorf("type %d is none of .msg", id)
	}
	switch (id - 1) / shapeIDs {
	case 1:
		text += fmt.Sprintf("[%d]", length)
	case 2:
		text += fmt.Sprintf("[<=%d]", length)
	case 3:
		text += "[]"
	}
	return text, nil
}

// EmptyField is the field of type uint8 that descriptions have of a message without fields.
const EmptyField = "structure_needs_at_least_one_member"

// Described returns the fields as descriptions of the type have them.
func (m *Message) Described() []Field {
	if len(m.Fields) == 0 {
		return []Field{{Name: EmptyField, Type: Type{Kind: Uint8}}}
	}
	return m.Fields
}

// Hash returns the type hash of a message or service, "RIHS01_" and 64 hexadecimal digits, as REP-2011 and ROS 2 since
// Iron define it: the SHA-256 of the description of the type and of all that it contains, written as JSON.
func (l *Library) Hash(name string) (string, error) {
	root, err := l.described(name)
	if err != nil {
		return "", fmt.Errorf("hash %s: %w", name, err)
	}
	all, err := l.Closure(root)
	if err != nil {
		return "", fmt.Errorf("hash %s: %w", name, err)
	}
	contained := all[1:]
	slices.SortFunc(contained, func(a, b *Message) int { return strings.Compare(a.Name, b.Name) })
	var b strings.Builder
	b.WriteString(`{"type_description": `)
	describe(&b, root)
	b.WriteString(`, "referenced_type_descriptions": [`)
	for i, m := range contained {
		if i > 0 {
			b.WriteString(", ")
		}
		describe(&b, m)
	}
	b.WriteString("]}")
	return fmt.Sprintf("RIHS01_%x", sha256.Sum256([]byte(b.String()))), nil
}

// described returns what the description of a type is made of: a service counts as a message of three messages.
func (l *Library) described(name string) (*Message, error) {
	name = fullName(name)
	if _, part, ok := cutService(name); !ok || part != "" {
		return l.Message(name)
	}
	if _, err := l.Service(name); err != nil {
		return nil, err
	}
	m := &Message{Name: name}
	for _, part := range []string{"request", "response", "event"} {
		message := name + "_" + strings.ToUpper(part[:1]) + part[1:]
		m.Fields = append(m.Fields, Field{Name: part + "_message", Type: Type{Kind: Nested, Message: message}})
	}
	return m, nil
}

// describe writes an IndividualTypeDescription with the spacing that the hash is defined over.
func describe(b *strings.Builder, m *Message) {
	fmt.Fprintf(b, `{"type_name": "%s", "fields": [`, m.Name)
	for i, f := range m.Described() {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, `{"name": "%s", "type": {"type_id": %d, "capacity": %d, "string_capacity": %d, `+
			`"nested_type_name": "%s"}}`, f.Name, f.Type.ID(), f.Type.Length, f.Type.StringBound, f.Type.Message)
	}
	b.WriteString("]}")
}
