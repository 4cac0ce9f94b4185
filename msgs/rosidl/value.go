package rosidl

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parseDefault reads the default value of a field: a value, or "[a, b]" for arrays and sequences.
func parseDefault(t Type, text string) (any, error) {
	if t.Kind == Nested {
		return nil, fmt.Errorf("%s is a message and cannot have a default", t.Message)
	}
	if t.Shape == Single {
		return parseValue(t, text)
	}
	if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' {
		return nil, fmt.Errorf("%q is not a list like [1, 2]", text)
	}
	values := []any{}
	for rest := strings.TrimSpace(text[1 : len(text)-1]); rest != ""; {
		var item string
		item, rest = cutItem(rest)
		v, err := parseValue(t, item)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	if t.Shape == Array && len(values) != t.Length {
		return nil, fmt.Errorf("the list has %d values instead of %d", len(values), t.Length)
	}
	if t.Length > 0 && len(values) > t.Length {
		return nil, fmt.Errorf("the list has %d values, more than %d", len(values), t.Length)
	}
	return values, nil
}

// cutItem splits a list after its first item. Commas inside quotes belong to the item.
func cutItem(list string) (item, rest string) {
	start := 0
	if list[0] == '"' || list[0] == '\'' {
		start = quotedLength(list)
	}
	item, rest, _ = strings.Cut(list[start:], ",")
	return strings.TrimSpace(list[:start] + item), strings.TrimSpace(rest)
}

// parseValue reads one value of t's kind.
func parseValue(t Type, text string) (any, error) {
	switch t.Kind {
	case Bool:
		switch strings.ToLower(text) {
		case "true", "1":
			return true, nil
		case "false", "0":
			return false, nil
		}
		return nil, fmt.Errorf("%q is neither true nor false", text)
	case Float32, Float64:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a floating-point number", text)
		}
		return v, nil
	case String, WString:
		v := unquote(text)
		if n := utf8.RuneCountInString(v); t.StringBound > 0 && n > t.StringBound {
			return nil, fmt.Errorf("%q has %d characters, more than %d", v, n, t.StringBound)
		}
		return v, nil
	case Int8, Int16, Int32, Int64:
		v, err := strconv.ParseInt(text, 10, 8*t.Kind.Size())
		if err != nil {
			v, err = strconv.ParseInt(text, 0, 8*t.Kind.Size())
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not an integer of %d bits", text, 8*t.Kind.Size())
		}
		return v, nil
	default:
		digits := strings.TrimPrefix(text, "+")
		v, err := strconv.ParseUint(digits, 10, 8*t.Kind.Size())
		if err != nil {
			v, err = strconv.ParseUint(digits, 0, 8*t.Kind.Size())
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not an unsigned integer of %d bits", text, 8*t.Kind.Size())
		}
		return v, nil
	}
}

// unquote removes quotes around the text. In a quoted text, it also replaces escapes. As in rosidl, an unknown escape
// stays as it is.
func unquote(text string) string {
	if text == "" || text[0] != '"' && text[0] != '\'' || quotedLength(text) != len(text) {
		return text
	}
	var b strings.Builder
	for s := text[1 : len(text)-1]; s != ""; {
		if s[0] != '\\' {
			i := strings.IndexByte(s, '\\')
			if i < 0 {
				i = len(s)
			}
			b.WriteString(s[:i])
			s = s[i:]
			continue
		}
		if len(s) > 1 && (s[1] == '"' || s[1] == '\'') {
			b.WriteByte(s[1])
			s = s[2:]
			continue
		}
		r, _, tail, err := strconv.UnquoteChar(s, 0)
		if err != nil {
			b.WriteByte('\\')
			s = s[1:]
			continue
		}
		b.WriteRune(r)
		s = tail
	}
	return b.String()
}
