package rosidl

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ID returns the number that type_description_interfaces/msg/FieldType has for the type.
func (t Type) ID() int {
	id := kinds[t.Kind].id
	if t.StringBound > 0 {
		id += 4
	}
	switch {
	case t.Shape == Array:
		id += 48
	case t.Shape == Sequence && t.Length > 0:
		id += 96
	case t.Shape == Sequence:
		id += 144
	}
	return id
}

// Hash returns the type hash of a message or service, "RIHS01_" and 64 hexadecimal digits, as REP-2011 and ROS 2 since
// Iron define it: the SHA-256 of the description of the type and of all that it contains, written as JSON.
func (l *Library) Hash(name string) (string, error) {
	root, err := l.described(name)
	if err != nil {
		return "", fmt.Errorf("hash %s: %w", name, err)
	}
	contained := map[string]*Message{}
	for queue := []*Message{root}; len(queue) > 0; {
		m := queue[0]
		queue = queue[1:]
		for _, f := range m.Fields {
			if f.Type.Kind != Nested || contained[f.Type.Message] != nil {
				continue
			}
			nested, err := l.Message(f.Type.Message)
			if err != nil {
				return "", fmt.Errorf("hash %s: %w", name, err)
			}
			contained[nested.Name] = nested
			queue = append(queue, nested)
		}
	}
	var b strings.Builder
	b.WriteString(`{"type_description": `)
	describe(&b, root)
	b.WriteString(`, "referenced_type_descriptions": [`)
	for i, name := range slices.Sorted(maps.Keys(contained)) {
		if i > 0 {
			b.WriteString(", ")
		}
		describe(&b, contained[name])
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
	fields := m.Fields
	if len(fields) == 0 {
		fields = []Field{{Name: "structure_needs_at_least_one_member", Type: Type{Kind: Uint8}}}
	}
	fmt.Fprintf(b, `{"type_name": "%s", "fields": [`, m.Name)
	for i, f := range fields {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, `{"name": "%s", "type": {"type_id": %d, "capacity": %d, "string_capacity": %d, `+
			`"nested_type_name": "%s"}}`, f.Name, f.Type.ID(), f.Type.Length, f.Type.StringBound, f.Type.Message)
	}
	b.WriteString("]}")
}
