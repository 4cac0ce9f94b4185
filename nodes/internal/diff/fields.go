package diff

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/text/human"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// Field is a field that differs between two messages.
type Field struct {
	Path string `json:"path"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// keptDifferences is the largest number of differing fields of a message that are described.
const keptDifferences = 3

// fieldComparison compares two ROS 2 messages field by field.
type fieldComparison struct {
	rules  []rule     // for the topic
	strict bool       // fields that one message lacks differ even at their default
	path   []string   // of the current field, with "[3]" for an element
	names  []string   // path without elements
	types  [2]*schema // of the two messages

	count         int      // fields that differ
	fields        []Field  // the first differing fields, up to keptDifferences
	tolerated     float64  // largest difference that a rule allowed
	toleratedPath string   // path of the field with the difference tolerated
	unset         []string // paths of fields that one message lacks and that have their default in the other
}

// schema decodes the messages of a channel.
type schema struct {
	*cdr.Schema
	library  *rosidl.Library
	defaults map[string]*cdr.Struct // by type
}

// defaultMessage returns a message of a type with all fields at their defaults, nil if the type is unknown.
func (s *schema) defaultMessage(name string) *cdr.Struct {
	if m, ok := s.defaults[name]; ok {
		return m
	}
	s.defaults[name] = nil
	if own, err := cdr.NewSchema(s.library, name); err == nil {
		if payload, err := own.Encode(&cdr.Struct{Type: name}); err == nil {
			s.defaults[name], _ = own.Decode(payload) // nil after an error
		}
	}
	return s.defaults[name]
}

// schemas holds the schemas of channels.
type schemas map[*codec.Channel]*schema

// schemaOf returns the schema of a channel, nil if its messages cannot be decoded.
func (s schemas) schemaOf(c *codec.Channel) *schema {
	known, ok := s[c]
	if ok || c.Encoding != codec.EncodingCDR {
		return known
	}
	library := c.Library(msgs.Library())
	s[c] = nil
	if of, err := cdr.NewSchema(library, c.Type); err == nil {
		s[c] = &schema{of, library, map[string]*cdr.Struct{}}
	}
	return s[c]
}

// compare compares two messages. It returns false if one of them cannot be decoded.
func (f *fieldComparison) compare(a, b *codec.Message, s schemas) bool {
	f.types = [2]*schema{s.schemaOf(a.Channel), s.schemaOf(b.Channel)}
	if f.types[0] == nil || f.types[1] == nil {
		return false
	}
	first, err := f.types[0].Decode(a.Data)
	if err != nil {
		return false
	}
	second, err := f.types[1].Decode(b.Data)
	if err != nil {
		return false
	}
	f.structs(first, second)
	return true
}

func (f *fieldComparison) structs(a, b *cdr.Struct) {
	if isTime(a.Type) && isTime(b.Type) {
		f.times(a, b)
		return
	}
	for i, field := range a.Fields {
		f.field(a, b, field.Name, field.Value, valueAt(b, i, field.Name))
	}
	for i, field := range b.Fields {
		if valueAt(a, i, field.Name) == nil {
			f.field(a, b, field.Name, nil, field.Value)
		}
	}
}

// valueAt returns the value of a field, nil if s lacks the field. The field is most likely the i-th.
func valueAt(s *cdr.Struct, i int, name string) any {
	if i < len(s.Fields) && s.Fields[i].Name == name {
		return s.Fields[i].Value
	}
	return s.Get(name)
}

// field compares the values v and w of a field of a and b. A value is nil if the message lacks the field.
func (f *fieldComparison) field(a, b *cdr.Struct, name string, v, w any) {
	f.path, f.names = append(f.path, name), append(f.names, name)
	if v == nil && f.isUnset(1, b.Type, name, w) || w == nil && f.isUnset(0, a.Type, name, v) {
		f.unset = appendNew(f.unset, strings.Join(f.names, "."))
	} else {
		f.values(v, w)
	}
	f.path, f.names = f.path[:len(f.path)-1], f.names[:len(f.names)-1]
}

// appendNew appends a name unless the list has it.
func appendNew(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// isUnset reports whether a field that only one side has is at its default.
func (f *fieldComparison) isUnset(side int, of, name string, v any) bool {
	if f.strict {
		return false
	}
	m := f.types[side].defaultMessage(of)
	return m != nil && reflect.DeepEqual(m.Get(name), v)
}

func isTime(name string) bool {
	return name == "builtin_interfaces/msg/Time" || name == "builtin_interfaces/msg/Duration"
}

// times compares stamps or durations. Their rules are in seconds.
func (f *fieldComparison) times(a, b *cdr.Struct) {
	var ns [2]int64
	for i, s := range []*cdr.Struct{a, b} {
		sec, _ := s.Get("sec").(int32)
		nanosec, _ := s.Get("nanosec").(uint32)
		ns[i] = int64(sec)*1e9 + int64(nanosec)
	}
	if off := ns[0] - ns[1]; off != 0 && !f.allowed(float64(off)/1e9, 0, true) {
		f.differ(human.Seconds(ns[0]), human.Seconds(ns[1]))
	}
}

// values compares the values of a field. A value is nil if the message lacks the field.
func (f *fieldComparison) values(a, b any) {
	if a == nil || b == nil {
		if !f.allowed(math.Inf(1), 0, false) {
			f.differ(shortened(a), shortened(b))
		}
		return
	}
	if s, ok := a.(*cdr.Struct); ok {
		if t, ok := b.(*cdr.Struct); ok {
			f.structs(s, t)
			return
		}
	}
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	if v.Kind() == reflect.Slice && w.Kind() == reflect.Slice && v.Len() == w.Len() {
		alike := v.Type() == w.Type()
		for i := range v.Len() {
			if alike && v.Index(i).Equal(w.Index(i)) {
				continue
			}
			f.path = append(f.path, "["+strconv.Itoa(i)+"]")
			f.values(v.Index(i).Interface(), w.Index(i).Interface())
			f.path = f.path[:len(f.path)-1]
		}
		return
	}
	x, float := numeric(v)
	y, other := numeric(w)
	continuous := float || other
	same := x == y || float && other && math.IsNaN(x) && math.IsNaN(y)
	if !continuous {
		same = v.Kind() != reflect.Slice && w.Kind() != reflect.Slice && (a == b || fmt.Sprint(a) == fmt.Sprint(b))
	}
	if !same && !f.allowed(x, y, continuous) {
		f.differ(shortened(a), shortened(b))
	}
}

// numeric returns a value as a number, NaN if it is not a number. float reports whether it is a float.
func numeric(v reflect.Value) (x float64, float bool) {
	switch {
	case v.CanFloat():
		return v.Float(), true
	case v.CanInt():
		return float64(v.Int()), false
	case v.CanUint():
		return float64(v.Uint()), false
	}
	return math.NaN(), false
}

// allowed reports whether the last matching rule allows the values. Rules without a field match only floats and times.
func (f *fieldComparison) allowed(a, b float64, continuous bool) bool {
	for _, r := range slices.Backward(f.rules) {
		if len(r.field) == 0 && !continuous || !r.matches(f.names) {
			continue
		}
		if !r.allows(a, b) {
			return false
		}
		if off := math.Abs(a - b); !math.IsInf(r.limit, 0) && off > f.tolerated {
			f.tolerated, f.toleratedPath = off, f.where()
		}
		return true
	}
	return false
}

func (f *fieldComparison) differ(a, b string) {
	f.count++
	if len(f.fields) < keptDifferences {
		f.fields = append(f.fields, Field{f.where(), a, b})
	}
}

// where returns the current path, such as "transforms[2].header.frame_id".
func (f *fieldComparison) where() string {
	return strings.ReplaceAll(strings.Join(f.path, "."), ".[", "[")
}

// shortened returns a value in at most 60 characters.
func shortened(v any) string {
	var text string
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		text = strconv.Quote(v)
	case *cdr.Struct:
		return "a " + v.Type
	case float32:
		text = strconv.FormatFloat(float64(v), 'g', -1, 32)
	case float64:
		text = strconv.FormatFloat(v, 'g', -1, 64)
	default:
		if value := reflect.ValueOf(v); value.Kind() == reflect.Slice {
			return human.Count(value.Len(), "element")
		}
		text = fmt.Sprint(v)
	}
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:57], "") + "..."
	}
	return text
}

// text describes the number of differing fields and the first of them.
func (f *fieldComparison) text() string {
	parts := []string{human.Count(f.count, "field")}
	for _, d := range f.fields {
		parts = append(parts, fmt.Sprintf("%s is %s in A, %s in B", d.Path, d.A, d.B))
	}
	if rest := f.count - len(f.fields); rest > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", rest))
	}
	return parts[0] + ": " + strings.Join(parts[1:], "; ")
}
