// Package condition finds messages whose fields meet a condition, such as "/imu linear_acceleration.x > 20".
package condition

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// Condition is a condition on messages of one topic:
//
//	/imu linear_acceleration.x > 20
//	/imu abs(angular_velocity.z) >= 1.5 and linear_acceleration.x < 0
//	/scan len(ranges) == 0
//	/diagnostics status[0].message != "OK"
//	/carla/hero/collision *
type Condition struct {
	Text  string // as given
	Topic string
	tests []test // all must pass; empty for *, which any message meets
}

// test compares one field of a message with a constant.
type test struct {
	function string // "", "abs" or "len"
	path     string
	op       string
	constant string
}

var comparisons = map[string]func(field, constant float64) bool{
	">":  func(a, b float64) bool { return a > b },
	">=": func(a, b float64) bool { return a >= b },
	"<":  func(a, b float64) bool { return a < b },
	"<=": func(a, b float64) bool { return a <= b },
	"==": func(a, b float64) bool { return a == b },
	"!=": func(a, b float64) bool { return a != b },
}

// MatchesAny reports whether every message of the topic meets the condition.
func (c *Condition) MatchesAny() bool { return len(c.tests) == 0 }

// Parse parses a condition. It does not expand the name of the topic.
func Parse(text string) (*Condition, error) {
	words, err := splitCondition(text)
	if err != nil {
		return nil, fmt.Errorf("condition %q: %w", text, err)
	}
	next := func() (word string) {
		if len(words) > 0 {
			word, words = words[0], words[1:]
		}
		return word
	}
	c := &Condition{Text: text, Topic: next()}
	if slices.Equal(words, []string{"*"}) {
		return c, nil
	}
	for {
		t := test{path: next()}
		if (t.path == "abs" || t.path == "len") && len(words) > 2 && words[0] == "(" && words[2] == ")" {
			t.function, t.path, words = t.path, words[1], words[3:]
		}
		t.op, t.constant = next(), next()
		if comparisons[t.op] == nil || t.constant == "" {
			return nil, fmt.Errorf("condition %q: want TOPIC FIELD OPERATOR VALUE, with one of > >= < <= == !=, or "+
				"TOPIC *", text)
		}
		c.tests = append(c.tests, t)
		if len(words) == 0 {
			return c, nil
		}
		if word := next(); word != "and" {
			return nil, fmt.Errorf("condition %q: %q is not understood; further comparisons come behind \"and\"", text,
				word)
		}
	}
}

// splitCondition returns the words of a condition. A quoted text keeps only its first quotation mark.
func splitCondition(text string) (words []string, err error) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		n := strings.IndexAny(text, " \t<>=!()\"'")
		switch {
		case n < 0:
			n = len(text)
		case n > 0:
		case text[0] == '"' || text[0] == '\'':
			end := strings.IndexByte(text[1:], text[0])
			if end < 0 {
				return nil, fmt.Errorf("there is no second %c", text[0])
			}
			words = append(words, `"`+text[1:1+end])
			text = text[end+2:]
			continue
		case text[0] == '(' || text[0] == ')':
			n = 1
		default:
			n = len(text) - len(strings.TrimLeft(text, "<>=!"))
		}
		words = append(words, text[:n])
		text = text[n:]
	}
	return words, nil
}

// Detector finds the messages of one type that meet a condition. It must not be used concurrently.
type Detector struct {
	*Condition
	probes []probe
	met    bool // the previous message met the condition
}

// probe is a test prepared for the payloads of a type. Numbers are compared as float64, which represents integers up to
// 2^53 exactly. Bools are 0 or 1.
type probe struct {
	test
	field  *cdr.Path
	kind   rosidl.Kind
	number float64
	text   string // the constant, if the field is a string
	passes func(field, constant float64) bool
}

// NewDetector prepares a condition for messages of a type. schema may be nil if any message meets the condition. The
// error names what the type lacks.
func NewDetector(c *Condition, schema *cdr.Schema) (*Detector, error) {
	d := &Detector{Condition: c}
	for _, t := range c.tests {
		p, err := newProbe(t, schema)
		if err != nil {
			return nil, fmt.Errorf("condition %q: %w", c.Text, err)
		}
		d.probes = append(d.probes, p)
	}
	return d, nil
}

func newProbe(t test, schema *cdr.Schema) (p probe, err error) {
	p = probe{test: t, passes: comparisons[t.op], text: strings.TrimPrefix(t.constant, `"`)}
	p.field, err = schema.Path(t.path)
	if err != nil {
		return p, err
	}
	field := p.field.Type()
	p.kind = field.Kind
	equality := t.function == "" && (t.op == "==" || t.op == "!=")
	switch {
	case t.function == "len":
		if field.Shape == rosidl.Array || field.Shape == rosidl.Single && field.Kind != rosidl.String {
			return p, fmt.Errorf("len(%s): it is neither a sequence nor a string", t.path)
		}
	case field.Shape != rosidl.Single:
		return p, fmt.Errorf("%s is an array: select one element, %[1]s[0], or compare len(%[1]s)", t.path)
	case field.Kind == rosidl.Nested:
		return p, fmt.Errorf("%s is a %s: name one of its fields", t.path, field.Message)
	case field.Kind == rosidl.WString:
		return p, fmt.Errorf("%s is a wstring, which cannot be compared", t.path)
	case field.Kind == rosidl.String:
		if !equality {
			return p, fmt.Errorf("%s is a string, which can only be == or != a text", t.path)
		}
		return p, nil
	case field.Kind == rosidl.Bool:
		if !equality || p.text != "true" && p.text != "false" {
			return p, fmt.Errorf("%s is a bool, which can only be == or != true or false", t.path)
		}
		if p.text == "true" {
			p.number = 1
		}
		return p, nil
	}
	p.number, err = strconv.ParseFloat(p.text, 64)
	if err != nil || math.IsNaN(p.number) {
		return p, fmt.Errorf("%s is compared with %s, which is not a number", t.path, p.text)
	}
	if p.kind == rosidl.Float32 && t.function == "" {
		p.number = float64(float32(p.number)) // a float32 of 0.1 must equal the constant 0.1
	}
	return p, nil
}

// Fires reports whether a message triggers: it meets the condition and the previous message did not, or any message
// meets the condition.
func (d *Detector) Fires(payload []byte) bool {
	before := d.met
	d.met = d.Met(payload)
	return d.met && (!before || len(d.probes) == 0)
}

// Met reports whether a message meets the condition. A payload that lacks a field does not meet it. Met does not
// allocate.
func (d *Detector) Met(payload []byte) bool {
	for i := range d.probes {
		if !d.probes[i].holds(payload) {
			return false
		}
	}
	return true
}

// Values returns the fields of the condition with their values, as text.
func (d *Detector) Values(payload []byte) string {
	var list []string
	for i := range d.probes {
		p := &d.probes[i]
		operand := p.path
		var value any
		var err error
		if p.function == "" {
			value, err = p.field.Get(payload)
		} else {
			operand = p.function + "(" + p.path + ")"
			value, err = p.read(payload)
		}
		if err == nil {
			list = append(list, fmt.Sprint(operand, " = ", value))
		}
	}
	return strings.Join(list, ", ")
}

func (p *probe) holds(payload []byte) bool {
	if p.kind == rosidl.String && p.function == "" {
		var d wire.Decoder
		p.field.Find(&d, payload)
		text := d.Chars(0)
		return d.Err() == nil && (string(text) == p.text) == (p.op == "==")
	}
	v, err := p.read(payload)
	return err == nil && p.passes(v, p.number)
}

// read returns the number to compare. For len of an array, all its elements must be in the payload.
func (p *probe) read(payload []byte) (v float64, err error) {
	switch {
	case p.function != "len":
		v, _, err = p.field.Number(payload)
	case p.kind == rosidl.String && p.field.Type().Shape == rosidl.Single:
		var d wire.Decoder
		p.field.Find(&d, payload)
		v, err = float64(len(d.Chars(0))), d.Err()
	default:
		_, err = p.field.Offset(payload)
		if err == nil {
			var d wire.Decoder
			p.field.Find(&d, payload)
			v = float64(d.Uint32())
		}
	}
	if p.function == "abs" {
		v = math.Abs(v)
	}
	return v, err
}
