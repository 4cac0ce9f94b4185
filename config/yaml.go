package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile is the largest size of a parameter file in bytes, in case a device or a recording is given by mistake.
const maxFile = 16 << 20

// setting is the value of a parameter from one of its sources. It is a text, because only the option knows the type.
type setting struct {
	name   string
	texts  []string // several only for a list
	list   bool
	value  any // with the type that YAML and ROS 2 give it; for parameters that are not options
	source string
}

// readFile returns the parameters that a ROS 2 parameter file sets for the node with the given full name, in the order
// of the file. It returns a warning for each section for a node with this name in another namespace.
func readFile(path, node string) (settings []setting, warnings []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("open parameter file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read parameter file: %w", err)
	}
	if len(text) > maxFile {
		return nil, nil, fmt.Errorf("parameter file %s is larger than %v: is it a parameter file?", path, Size(maxFile))
	}
	r := fileReader{path: path, node: node}
	if err := r.read(text); err != nil {
		return nil, nil, err
	}
	return r.settings, r.warnings, nil
}

// fileReader reads a parameter file. The outer keys are nodes, or namespaces around nodes, down to "ros__parameters".
// The keys below are parameters, nested or with dots in their names.
type fileReader struct {
	path, node string
	settings   []setting
	warnings   []string
}

func (r *fileReader) read(text []byte) error {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc yaml.Node
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("parameter file %s: %w", r.path, err)
		}
		if err := r.sections(doc.Content[0], nil); err != nil {
			return err
		}
	}
}

// sections reads the sections ros__parameters below the name made of tokens.
func (r *fileReader) sections(n *yaml.Node, tokens []string) error {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return r.errorf(n, "want node names with ros__parameters: below them")
	}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Value != "ros__parameters" {
			if err := r.sections(value, append(tokens[:len(tokens):len(tokens)], split(key.Value)...)); err != nil {
				return err
			}
			continue
		}
		if len(tokens) == 0 {
			return r.errorf(key, "ros__parameters needs the name of a node above it, /** for any node")
		}
		node := split(r.node)
		if matches(tokens, node) {
			if err := r.parameters(value, ""); err != nil {
				return err
			}
		} else if tokens[len(tokens)-1] == node[len(node)-1] {
			r.warnings = append(r.warnings, fmt.Sprintf("%s line %d: section for /%s ignored: the node is %s",
				r.path, key.Line, strings.Join(tokens, "/"), r.node))
		}
	}
	return nil
}

// parameters reads the parameters of a section.
func (r *fileReader) parameters(n *yaml.Node, prefix string) error {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return r.errorf(n, "want parameters as name: value")
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Value == "" {
			return r.errorf(key, "want the name of a parameter")
		}
		name := prefix + key.Value
		if seen[name] {
			return r.errorf(key, "parameter %s is given twice", name)
		}
		seen[name] = true
		if value.Kind == yaml.MappingNode {
			if err := r.parameters(value, name+"."); err != nil {
				return err
			}
			continue
		}
		s, ok, err := newSetting(name, value)
		if err != nil {
			return r.errorf(value, "parameter %s: %w", name, err)
		}
		if ok {
			s.source = fmt.Sprintf("%s line %d", r.path, value.Line)
			r.settings = append(r.settings, s)
		}
	}
	return nil
}

func (r *fileReader) errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("parameter file %s line %d: %w", r.path, n.Line, fmt.Errorf(format, args...))
}

// parseValue parses the YAML text of a value from -p or the environment. ok is false for null.
func parseValue(name, text string) (s setting, ok bool, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return setting{}, false, fmt.Errorf("%w; put quotes around text with special characters", err)
	}
	if doc.Kind == 0 {
		return setting{name: name, texts: []string{text}, value: text}, true, nil
	}
	return newSetting(name, doc.Content[0])
}

// newSetting converts a scalar or a list of scalars, with any tags. ok is false for null, which sets nothing.
func newSetting(name string, n *yaml.Node) (s setting, ok bool, err error) {
	s.name = name
	switch n.Kind {
	case yaml.ScalarNode:
		s.texts, s.value = []string{n.Value}, scalar(n)
		return s, !isNull(n), nil
	case yaml.SequenceNode:
		s.list = true
		var values []any
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode {
				return s, false, errors.New("a list may hold plain values only")
			}
			s.texts = append(s.texts, item.Value)
			values = append(values, scalar(item))
		}
		s.value = array(values, s.texts)
		return s, true, nil
	case yaml.AliasNode:
		return s, false, errors.New("YAML aliases are not supported, as in ROS 2; put quotes around text that begins " +
			"with *")
	}
	return s, false, errors.New("want a value or a list of values")
}

// scalar gives a value the type that rcl gives it: YAML 1.1 booleans, integers, floating point numbers, text.
func scalar(n *yaml.Node) any {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if n.Style&quoted != 0 || n.Style&yaml.TaggedStyle != 0 && n.ShortTag() == "!!str" {
		return n.Value
	}
	if b, ok := parseBool(n.Value); ok {
		return b
	}
	var v any
	if n.Decode(&v) == nil {
		switch v := v.(type) {
		case int:
			return int64(v)
		case float64:
			return v
		}
	}
	return n.Value
}

// parseBool parses the booleans of YAML 1.1, which launch and rcl use.
func parseBool(text string) (b, ok bool) {
	switch text {
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false, true
	}
	return false, false
}

// array returns values as []bool, []int64 or []float64, or else the texts.
func array(values []any, texts []string) any {
	if a, ok := arrayOf[bool](values); ok {
		return a
	}
	if a, ok := arrayOf[int64](values); ok {
		return a
	}
	for i, v := range values {
		if n, ok := v.(int64); ok {
			values[i] = float64(n)
		}
	}
	if a, ok := arrayOf[float64](values); ok {
		return a
	}
	return append([]string{}, texts...)
}

func arrayOf[T any](values []any) (a []T, ok bool) {
	for _, v := range values {
		t, ok := v.(T)
		if !ok {
			return nil, false
		}
		a = append(a, t)
	}
	return a, len(a) > 0
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// split returns the tokens of a name. "/robot/recorder" and "robot/recorder" have equal tokens, as in a parameter file.
func split(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
}

// matches reports whether a pattern of a parameter file matches a name. "*" is one token, "**" any number.
func matches(pattern, name []string) bool {
	expression := "^"
	for _, token := range pattern {
		switch token {
		case "**":
			expression += "(/[^/]+)*"
		case "*":
			expression += "/[^/]+"
		default:
			expression += "/" + regexp.QuoteMeta(token)
		}
	}
	return regexp.MustCompile(expression + "$").MatchString("/" + strings.Join(name, "/"))
}
