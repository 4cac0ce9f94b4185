package rosidl

import (
	"fmt"
	"slices"
	"strings"
)

// separator precedes each definition of a contained message.
var separator = strings.Repeat("=", 80) + "\n"

// ParseConcatenated reads the text that MCAP files have as schema of the encoding "ros2msg" or "ros1msg". The text has
// the definition of the named type, then the definitions of all contained messages. Each definition of a contained
// message follows a line of "=" and a line "MSG: pkg/Type" or "MSG: pkg/msg/Type".
//
// For a service and its event, the definition is the .srv file. Newer versions of rosbag2 put it behind a line
// "SRV: pkg/srv/Type". For a message of an action, the definition is the .action file, behind a line
// "ACTION: pkg/action/Type". The returned library has no other definitions.
func ParseConcatenated(name, text string) (*Library, error) {
	name = fullName(name)
	l := NewLibrary()
	if err := l.addConcatenated(name, text); err != nil {
		return nil, fmt.Errorf("parse concatenated definition of %s: %w", name, err)
	}
	if _, err := l.describedMessage(name); err != nil {
		return nil, fmt.Errorf("parse concatenated definition of %s: %w", name, err)
	}
	return l, nil
}

// addConcatenated adds the definitions in a text to l.texts.
func (l *Library) addConcatenated(root, text string) error {
	l.texts = map[string]string{}
	kind, name, line := "", root, 0
	for {
		body, rest, lines, found := cutSeparator(text)
		if body != "" || !found || line > 0 { // a separator in the first line precedes the name of the root
			if err := l.addText(kind, name, body); err != nil {
				return err
			}
		}
		if !found {
			return nil
		}
		line += lines + 1
		header, tail, _ := strings.Cut(rest, "\n")
		kind, header, _ = strings.Cut(strings.TrimSpace(header), ": ")
		name = fullName(strings.TrimSpace(header))
		_, _, err := splitName(name)
		switch {
		case kind == "IDL":
			return fmt.Errorf("line %d: %s is defined in IDL, which is not supported", line, name)
		case kind != "MSG" && kind != "SRV" && kind != "ACTION" || err != nil:
			return fmt.Errorf("line %d: no \"MSG: package/Type\" behind the line of \"=\"", line)
		}
		text = tail
	}
}

// addText adds the definition of a type. kind is "MSG", "SRV", "ACTION", or "" for the root.
func (l *Library) addText(kind, name, text string) error {
	path := name + ".msg"
	if kind == "ACTION" {
		path = name + ".action"
	} else if service, _, ok := cutService(name); ok {
		if _, _, err := splitSections(text, 2); err == nil {
			path = service + ".srv"
		}
	}
	old, ok := l.texts[path]
	if !ok {
		l.texts[path] = text
	} else if strings.TrimSpace(old) != strings.TrimSpace(text) {
		return fmt.Errorf("two different definitions of %s", name)
	}
	return nil
}

// cutSeparator cuts the text around the first line of "=". The newline before that line is in neither half. lines is
// the number of lines up to and including the separator.
func cutSeparator(text string) (before, after string, lines int, found bool) {
	for start := 0; start < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i + 1
		}
		lines++
		line := strings.TrimSpace(text[start:end])
		if line != "" && strings.Trim(line, "=") == "" {
			before = strings.TrimSuffix(strings.TrimSuffix(text[:start], "\n"), "\r")
			return before, text[end:], lines, true
		}
		start = end
	}
	return text, "", lines, false
}

// Concatenated returns the definition of a message or service and of all contained messages, in the text that rosbag2
// writes into MCAP files. ParseConcatenated reads that text. A service and its event have equal texts.
func (l *Library) Concatenated(name string) (string, error) {
	name = fullName(name)
	m, err := l.describedMessage(name)
	if err != nil {
		return "", fmt.Errorf("concatenate definitions: %w", err)
	}
	text, fields := m.Text, m.Fields
	if service, suffix, ok := cutService(name); ok && (suffix == "" || suffix == "_Event") {
		if s, err := l.Service(service); err == nil {
			text = separator + "SRV: " + s.Name + "\n" + s.Text
			fields = slices.Concat(s.Request.Fields, s.Response.Fields)
		}
	}
	var b strings.Builder
	b.WriteString(text)
	if err := l.appendContained(&b, fields, map[string]bool{}); err != nil {
		return "", fmt.Errorf("concatenate definitions: %w", err)
	}
	return b.String(), nil
}

// appendContained appends the messages that fields contain, each once, in rosbag2's order: by name, each followed by
// its contained messages.
func (l *Library) appendContained(b *strings.Builder, fields []Field, seen map[string]bool) error {
	var names []string
	for _, f := range fields {
		if f.Type.Kind == Nested {
			names = append(names, f.Type.Message)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		m, err := l.Message(name)
		if err != nil {
			return err
		}
		b.WriteString("\n" + separator + "MSG: " + strings.Replace(name, "/msg/", "/", 1) + "\n" + m.Text)
		if err := l.appendContained(b, m.Fields, seen); err != nil {
			return err
		}
	}
	return nil
}

// Empty returns the first message without fields and constants, among the named type and all contained messages, or ""
// if there is none. itself reports whether that message is the named type. Messages of services and actions do not
// count, because many of them have no fields.
func (l *Library) Empty(name string) (empty string, itself bool, err error) {
	root, err := l.describedMessage(name)
	if err != nil {
		return "", false, err
	}
	all, err := l.Closure(root)
	if err != nil {
		return "", false, err
	}
	for _, m := range all {
		_, _, service := cutService(m.Name)
		_, _, action := cutAction(m.Name)
		if len(m.Fields) == 0 && len(m.Constants) == 0 && !service && !action {
			return m.Name, m == root, nil
		}
	}
	return "", false, nil
}

// HasEmpty reports whether a concatenated definition may have a message that Empty finds, without parsing the
// definition.
func HasEmpty(text string) bool {
	for {
		body, rest, _, found := cutSeparator(text)
		content := false
		for line := range strings.SplitSeq(body, "\n") {
			line = strings.TrimSpace(line)
			content = content || line != "" && line[0] != '#'
		}
		if !content && (body != "" || !found) {
			return true
		}
		if !found {
			return false
		}
		_, text, _ = strings.Cut(rest, "\n")
	}
}
