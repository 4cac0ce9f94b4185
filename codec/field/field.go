// Package field writes messages and their fields as text: as YAML, as JSON and as columns. The values are those of
// cdr.Struct; cdr.Path leads to single ones.
package field

import (
	"fmt"
	"reflect"
	"strings"

	"tapedeck/codec/cdr"
	"tapedeck/msgs/printable"
)

// Column is a field that holds no other fields, or an array.
type Column struct {
	Path  string
	Value any
}

// Columns returns the fields inside a value, in the order of the definition. Arrays are one column each, so that all
// messages of a type have the same columns. Name is the path of the value itself, "" for a message.
func Columns(name string, value any) []Column {
	s, ok := value.(*cdr.Struct)
	if !ok {
		return []Column{{name, value}}
	}
	var all []Column
	for _, f := range s.Fields {
		path := f.Name
		if name != "" {
			path = name + "." + f.Name
		}
		all = append(all, Columns(path, f.Value)...)
	}
	return all
}

// Cell returns the value of a column as CSV has it: arrays are written as JSON, and so are texts that could control a
// terminal. Line breaks and tabs stay as they are.
func Cell(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		if strings.ContainsFunc(v, func(r rune) bool { return printable.Hidden(r) && r != '\n' && r != '\t' }) {
			return string(appendQuoted(nil, v))
		}
		return v
	}
	return strings.Trim(string(AppendJSON(nil, value)), `"`) // NaN and infinity without quotes
}

// array returns v as an array, if it is one.
func array(v any) (elements reflect.Value, ok bool) {
	elements = reflect.ValueOf(v)
	return elements, v != nil && elements.Kind() == reflect.Slice
}

// kind returns the type of an array's elements: "float64", "geometry_msgs/msg/Point".
func kind(v any, elements reflect.Value) string {
	if all, ok := v.([]*cdr.Struct); ok {
		if len(all) > 0 {
			return all[0].Type
		}
		return "message"
	}
	return fmt.Sprint(elements.Type().Elem())
}
