package rosidl

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// The id of a type in descriptions is the id of a single value, plus a multiple of shapeIDs for an array, a bounded
// sequence or a sequence, plus boundIDs for a bounded string.
const (
	shapeIDs = 48
	boundIDs = 4
)

// ID returns the type's id in type_description_interfaces/msg/FieldType.
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

// TypeText returns the text that definitions have for the type with an id. length, bound and message are Type's Length,
// StringBound and Message.
func TypeText(id int, length, bound uint64, message string) (string, error) {
	if id <= 0 || id > 4*shapeIDs {
		return "", fmt.Errorf("type id %d is unknown", id)
	}
	single, text := (id-1)%shapeIDs+1, ""
	for k, kind := range kinds {
		switch {
		case Kind(k) == Char: // has the id of Uint8
		case kind.id == single:
			text = kind.name + message
		case kind.id+boundIDs == single && (Kind(k) == String || Kind(k) == WString):
			text = fmt.Sprintf("%s<=%d", kind.name, bound)
		}
	}
	if text == "" {
		return "", fmt.Errorf("type id %d has no name in .msg files", id)
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

// EmptyField is the name of the uint8 field that the description of a message without fields has.
const EmptyField = "structure_needs_at_least_one_member"

// DescribedFields returns the fields in the description of the type.
func (m *Message) DescribedFields() []Field {
	if len(m.Fields) == 0 {
		return []Field{{Name: EmptyField, Type: Type{Kind: Uint8}}}
	}
	return m.Fields
}

// Hash returns the type hash of a message or service, "RIHS01_" and 64 hexadecimal digits, as REP-2011 and ROS 2 since
// Iron define it: the SHA-256 of the descriptions of the type and of all types that it contains, written as JSON.
func (l *Library) Hash(name string) (string, error) {
	root, err := l.describedMessage(name)
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
	writeDescription(&b, root)
	b.WriteString(`, "referenced_type_descriptions": [`)
	for i, m := range contained {
		if i > 0 {
			b.WriteString(", ")
		}
		writeDescription(&b, m)
	}
	b.WriteString("]}")
	return fmt.Sprintf("RIHS01_%x", sha256.Sum256([]byte(b.String()))), nil
}

// describedMessage returns the message that the description of a type describes. For a service, the message has the
// request, the response and the event of the service as fields.
func (l *Library) describedMessage(name string) (*Message, error) {
	name = fullName(name)
	if _, suffix, ok := cutService(name); !ok || suffix != "" {
		return l.Message(name)
	}
	if _, err := l.Service(name); err != nil {
		return nil, err
	}
	m := &Message{Name: name}
	for _, role := range []string{"request", "response", "event"} {
		message := name + "_" + strings.ToUpper(role[:1]) + role[1:]
		m.Fields = append(m.Fields, Field{Name: role + "_message", Type: Type{Kind: Nested, Message: message}})
	}
	return m, nil
}

// writeDescription writes an IndividualTypeDescription with the spacing that the definition of the hash prescribes.
func writeDescription(b *strings.Builder, m *Message) {
	fmt.Fprintf(b, `{"type_name": "%s", "fields": [`, m.Name)
	for i, f := range m.DescribedFields() {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, `{"name": "%s", "type": {"type_id": %d, "capacity": %d, "string_capacity": %d, `+
			`"nested_type_name": "%s"}}`, f.Name, f.Type.ID(), f.Type.Length, f.Type.StringBound, f.Type.Message)
	}
	b.WriteString("]}")
}
