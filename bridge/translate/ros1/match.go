package ros1

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tapedeck/codec/format/rosbag"
	"tapedeck/msgs/rosidl"
)

// maxSteps bounds the plan of a type.
const maxSteps = 1 << 16

// matcher finds the ROS 2 types of ROS 1 types.
type matcher struct {
	definitions map[string]*rosbag.Definition // ROS 1 definitions by name
	library     *rosidl.Library               // ROS 2 types
	matches     map[string]*match             // by name in ROS 1
	texts       map[string]string             // ROS 2 definitions by name
	steps       int                           // number of steps of all matches
	losses      []string                      // descriptions of losses; indices are bit numbers of step.lost
}

// match is the ROS 2 type of a ROS 1 type, with the steps that translate messages.
type match struct {
	name      string // name in ROS 2
	inLibrary bool   // the type is in the library
	steps     []step
}

// match returns the match of a ROS 1 type. All contained types must be in definitions.
func (m *matcher) match(name string) (*match, error) {
	if found := m.matches[name]; found != nil {
		return found, nil
	}
	d := m.definitions[name]
	target := successors[name]
	if target == "" {
		target = typeName(name)
	}
	message, err := m.library.Message(target)
	if err == nil {
		if steps, err := m.plan(d, message, true); err == nil {
			found := &match{name: target, inLibrary: true, steps: steps}
			m.matches[name] = found
			return found, m.include(message)
		}
	} else if !errors.Is(err, rosidl.ErrUnknownType) {
		return nil, err
	}
	target = typeName(name)
	text, err := m.ros2Definition(d)
	if err != nil {
		return nil, err
	}
	message, err = rosidl.ParseMessage(target, text)
	if err != nil {
		return nil, fmt.Errorf("%s in ROS 2: %w", name, err)
	}
	steps, err := m.plan(d, message, false)
	if err != nil {
		return nil, fmt.Errorf("%s in ROS 2: %w", name, err)
	}
	m.texts[target] = text
	m.matches[name] = &match{name: target, steps: steps}
	return m.matches[name], nil
}

// include adds to texts the definitions of a message of the library and of all contained messages.
func (m *matcher) include(message *rosidl.Message) error {
	if m.texts[message.Name] != "" {
		return nil
	}
	m.texts[message.Name] = message.Text
	for _, f := range message.Fields {
		if f.Type.Kind == rosidl.Nested {
			contained, err := m.library.Message(f.Type.Message)
			if err == nil {
				err = m.include(contained)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// droppedFields are the ROS 1 fields that ROS 2 does not have, by type.
var droppedFields = map[string][]string{
	ros1HeaderType: {"seq"},
	ros1LogType:    {"seq", "frame_id", "topics"},
}

// fieldsOf returns the fields of a ROS 1 type.
func fieldsOf(d *rosbag.Definition) []rosbag.Line {
	var fields []rosbag.Line
	for _, l := range d.Lines {
		switch {
		case l.Const || l.Type == "":
		case d.Name == ros1LogType && l.Type == ros1HeaderType: // ROS 2 keeps only the header's stamp
			fields = append(fields, rosbag.Line{Type: "uint32", Name: "seq"},
				rosbag.Line{Type: "time", Name: "stamp"}, rosbag.Line{Type: "string", Name: "frame_id"})
		default:
			fields = append(fields, l)
		}
	}
	return fields
}

// plan returns the steps that translate between d and a ROS 2 message. inLibrary tells whether the message is in the
// library.
func (m *matcher) plan(d *rosbag.Definition, message *rosidl.Message, inLibrary bool) ([]step, error) {
	if message.Name == timeType || message.Name == durationType {
		// std_msgs/Time and std_msgs/Duration have one field, data.
		return []step{{kind: stepCopy, size: 8, align: 4, field: "data"}}, nil
	}
	var steps []step
	remaining := message.Fields // fields of ROS 2 behind the last field with a counterpart
	for _, l := range fieldsOf(d) {
		i := slices.IndexFunc(remaining, func(f rosidl.Field) bool {
			return f.Name == fieldName(l.Name) || strings.EqualFold(f.Name, l.Name)
		})
		if i < 0 {
			if !inLibrary || !slices.Contains(droppedFields[d.Name], l.Name) {
				return nil, fmt.Errorf("%s has no field for %s", message.Name, l.Name)
			}
			s, err := m.ros1OnlyField(l)
			if err != nil {
				return nil, err
			}
			typeName := d.Name
			if typeName == ros1LogType && l.Name != "topics" {
				typeName = ros1HeaderType
			}
			s.lost = m.lossBit(l.Name + " of " + typeName)
			steps = add(steps, s)
			continue
		}
		for _, f := range remaining[:i] {
			var err error
			steps, err = m.ros2OnlyField(steps, f, m.lossBit(f.Name+" of "+message.Name))
			if err != nil {
				return nil, err
			}
		}
		var err error
		steps, err = m.field(steps, d, l, remaining[i], inLibrary)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", l.Name, d.Name, err)
		}
		remaining = remaining[i+1:]
	}
	for _, f := range remaining {
		var err error
		steps, err = m.ros2OnlyField(steps, f, m.lossBit(f.Name+" of "+message.Name))
		if err != nil {
			return nil, err
		}
	}
	if len(message.Fields) == 0 {
		// CDR encodes a message without fields as one byte.
		steps = append(steps, step{kind: stepCopy, side: onlyROS2, size: 1, align: 1})
	}
	m.steps += len(steps)
	if m.steps > maxSteps {
		return nil, fmt.Errorf("%s has too many fields", d.Name)
	}
	return steps, nil
}

// primitives are the ROS 2 kinds that match a ROS 1 type. The usual kind is first.
var primitives = map[string][]rosidl.Kind{
	"bool": {rosidl.Bool}, "byte": {rosidl.Byte, rosidl.Int8, rosidl.Uint8}, "char": {rosidl.Char, rosidl.Uint8},
	"int8": {rosidl.Int8}, "uint8": {rosidl.Uint8, rosidl.Char, rosidl.Byte}, "int16": {rosidl.Int16},
	"uint16": {rosidl.Uint16}, "int32": {rosidl.Int32}, "uint32": {rosidl.Uint32}, "int64": {rosidl.Int64},
	"uint64": {rosidl.Uint64}, "float32": {rosidl.Float32}, "float64": {rosidl.Float64},
}

// sizeOf returns the size of a primitive ROS 1 type in bytes, or 0 for other types.
func sizeOf(typeName string) int {
	if kinds := primitives[typeName]; kinds != nil {
		return kinds[0].Size()
	}
	return 0
}

var errDiffer = errors.New("the field differs in ROS 2")

// field appends the steps for a field that both sides have.
func (m *matcher) field(
	steps []step, d *rosbag.Definition, l rosbag.Line, f rosidl.Field, inLibrary bool,
) ([]step, error) {
	if (l.Shape == "") != (f.Type.Shape == rosidl.Single) || (l.Length > 0) != (f.Type.Shape == rosidl.Array) ||
		l.Length > 0 && l.Length != f.Type.Length {
		return nil, errDiffer
	}
	element, err := m.element(d, l, f, inLibrary)
	if err != nil {
		return nil, err
	}
	switch f.Type.Shape {
	case rosidl.Single:
		for _, s := range element {
			if s.field == "" || l.Type != "" && !rosbag.Builtin(l.Type) {
				s.field = strings.TrimSuffix(f.Name+"."+s.field, ".")
			}
			steps = add(steps, s)
		}
		return steps, nil
	case rosidl.Array:
		if f.Type.Length > math.MaxInt32/8 {
			return nil, fmt.Errorf("an array of %d elements is not supported", f.Type.Length)
		}
		return add(steps, repeat(element, f.Type.Length, 0, f.Name)), nil
	}
	return add(steps, repeat(element, -1, f.Type.Length, f.Name)), nil
}

// element returns the steps for an element of a field.
func (m *matcher) element(d *rosbag.Definition, l rosbag.Line, f rosidl.Field, inLibrary bool) ([]step, error) {
	t := f.Type
	s := step{kind: stepCopy, field: f.Name}
	if kinds, ok := primitives[l.Type]; ok {
		if !slices.Contains(kinds, t.Kind) {
			return nil, errDiffer
		}
		s.size, s.align = t.Kind.Size(), t.Kind.Size()
		if d.Name == ros1LogType && inLibrary && l.Name == "level" {
			s.kind = stepLevel
		}
		return []step{s}, nil
	}
	switch l.Type {
	case "string":
		s.bound = t.StringBound
		switch t.Kind {
		case rosidl.String:
			s.kind = stepText
		case rosidl.WString:
			s.kind = stepWide
			s.lost = m.lossBit("characters that are not Unicode")
		default:
			return nil, errDiffer
		}
		return []step{s}, nil
	case "time", "duration":
		if want := map[string]string{"time": timeType, "duration": durationType}[l.Type]; t.Message != want {
			return nil, errDiffer
		}
		s.size, s.align = 8, 4
		return []step{s}, nil
	}
	found, err := m.match(l.Type)
	if err != nil {
		return nil, err
	}
	if t.Kind != rosidl.Nested || t.Message != found.name || inLibrary && !found.inLibrary {
		return nil, errDiffer
	}
	return found.steps, nil
}

// ros1OnlyField returns the step for a field that only ROS 1 has.
func (m *matcher) ros1OnlyField(l rosbag.Line) (step, error) {
	s := step{kind: stepCopy, side: onlyROS1, size: sizeOf(l.Type), align: 1, field: l.Name}
	switch l.Type {
	case "string":
		s.kind = stepText
	case "time", "duration":
		s.size = 8
	}
	if l.Shape == "[]" {
		s = step{kind: stepEach, side: onlyROS1, n: -1, steps: []step{s}, least: leastOf([]step{s}), field: l.Name}
	}
	if l.Length > 0 || !rosbag.Builtin(l.Type) {
		return s, errDiffer
	}
	return s, nil
}

// maxLosses is the number of bits of step.lost.
const maxLosses = 64

// lossBit returns the bit of step.lost for a loss. Losses beyond maxLosses share the last bit.
func (m *matcher) lossBit(description string) uint64 {
	i := slices.Index(m.losses, description)
	switch {
	case i >= 0:
	case len(m.losses) == maxLosses-1:
		i = len(m.losses)
		m.losses = append(m.losses, "other fields that only one side has")
	case len(m.losses) == maxLosses:
		i = maxLosses - 1
	default:
		i = len(m.losses)
		m.losses = append(m.losses, description)
	}
	return 1 << i
}

// ros2OnlyField appends the steps for a field that only ROS 2 has. lost is the field's bit.
func (m *matcher) ros2OnlyField(steps []step, f rosidl.Field, lost uint64) ([]step, error) {
	var element []step
	if f.Type.Kind == rosidl.Nested {
		contained, err := m.library.Message(f.Type.Message)
		if err != nil {
			return nil, err
		}
		for _, inner := range contained.Fields {
			element, err = m.ros2OnlyField(element, inner, lost)
			if err != nil {
				return nil, err
			}
		}
		if len(contained.Fields) == 0 {
			element = []step{{kind: stepCopy, side: onlyROS2, size: 1, align: 1}}
		}
	} else {
		element = []step{defaultStep(f)}
		element[0].lost = lost
	}
	m.steps += len(element)
	if m.steps > maxSteps {
		return nil, fmt.Errorf("%s has too many fields", f.Name)
	}
	if f.Type.Shape == rosidl.Single || f.Type.Kind != rosidl.Nested && element[0].kind != stepText &&
		element[0].kind != stepWide {
		return append(steps, element...), nil
	}
	s := step{kind: stepEach, side: onlyROS2, n: f.Type.Length, steps: element, least: leastOf(element), lost: lost,
		field: f.Name}
	if f.Type.Shape == rosidl.Array {
		s.kind = stepArray
	}
	return append(steps, s), nil
}

// defaultStep returns the step for a field that only ROS 2 has. For arrays of texts, it returns the step for one
// element.
func defaultStep(f rosidl.Field) step {
	s := step{kind: stepCopy, side: onlyROS2, field: f.Name}
	switch f.Type.Kind {
	case rosidl.String, rosidl.WString:
		s.kind = stepText
		if f.Type.Kind == rosidl.WString {
			s.kind = stepWide
		}
		if text, ok := f.Default.(string); ok {
			s.fill = []byte(text)
		}
		return s
	}
	s.size, s.align = f.Type.Kind.Size(), f.Type.Kind.Size()
	values, ok := f.Default.([]any)
	if !ok && f.Default != nil {
		values = []any{f.Default}
	}
	for _, v := range values {
		s.fill = appendValue(s.fill, v, f.Type.Kind, s.size)
	}
	switch f.Type.Shape {
	case rosidl.Array:
		s.size *= f.Type.Length
	case rosidl.Sequence:
		s.kind = stepSequence
	}
	return s
}

// appendValue appends a number with a size in bytes.
func appendValue(b []byte, v any, kind rosidl.Kind, size int) []byte {
	var bits uint64
	switch v := v.(type) {
	case bool:
		if v {
			bits = 1
		}
	case int64:
		bits = uint64(v)
	case uint64:
		bits = v
	case float64:
		bits = math.Float64bits(v)
		if kind == rosidl.Float32 {
			bits = uint64(math.Float32bits(float32(v)))
		}
	}
	return append(b, le.AppendUint64(nil, bits)[:size]...)
}
