package carla

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.yaml.in/yaml/v3"

	"tapedeck/codec/carla"
)

// maxMapping is far above any mapping file.
const maxMapping = 1 << 20

// mapping is a mapping file; config/carla_mapping.yaml says what is in it.
type mapping struct {
	Map     string        `yaml:"map"`
	Profile string        `yaml:"profile"`
	Step    time.Duration `yaml:"step"`
	Actors  yaml.Node     `yaml:"actors"`
}

// mappedActor is an actor in a mapping file.
type mappedActor struct {
	Topics     []string  `yaml:"topics"`
	Frames     []string  `yaml:"frames"`
	Blueprint  string    `yaml:"blueprint"`
	Attributes yaml.Node `yaml:"attributes"`
}

// LoadMapping reads the options from a YAML file: names of the map and the profile, the step from frame to frame ("50ms"), and below
// actors, by their role_name, topics, frames, the blueprint and attributes. Errors name the file and the line.
func LoadMapping(path string) (o WriteOptions, err error) {
	f, err := os.Open(path)
	if err != nil {
		return o, fmt.Errorf("open CARLA mapping: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxMapping+1))
	if err != nil {
		return o, fmt.Errorf("read CARLA mapping %s: %w", path, err)
	}
	if len(text) > maxMapping {
		return o, fmt.Errorf("CARLA mapping %s is larger than 1 MiB: is it a mapping?", path)
	}
	if o, err = parseMapping(text); err != nil {
		return o, fmt.Errorf("CARLA mapping %s: %w", path, err)
	}
	return o, nil
}

func parseMapping(text []byte) (o WriteOptions, err error) {
	var m mapping
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&m); err != nil && !errors.Is(err, io.EOF) {
		return o, err
	}
	o.Map, o.Step = m.Map, m.Step
	if m.Step < 0 {
		return o, fmt.Errorf("step: %v is negative", m.Step)
	}
	if m.Profile != "" {
		if o.Profile, err = carla.ProfileNamed(m.Profile); err != nil {
			return o, fmt.Errorf("profile: %w", err)
		}
	}
	err = eachPair(&m.Actors, func(name string, v *yaml.Node) error {
		a, err := parseSubject(name, v)
		o.Actors = append(o.Actors, a)
		return err
	})
	if err != nil {
		return o, fmt.Errorf("actors: %w", err)
	}
	return o, unambiguous(o.Actors)
}

func parseSubject(name string, n *yaml.Node) (a Subject, err error) {
	var m mappedActor
	if err := decodeKnown(n, &m); err != nil {
		return a, fmt.Errorf("%s: %w", name, err)
	}
	if !token.MatchString(name) {
		return a, fmt.Errorf("line %d: %q is no name that a part of a topic can have", n.Line, name)
	}
	a = Subject{Name: name, Topics: m.Topics, Frames: m.Frames, Blueprint: m.Blueprint}
	err = eachPair(&m.Attributes, func(id string, v *yaml.Node) error {
		if v.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: want a value", v.Line)
		}
		a.Attributes = append(a.Attributes, carla.Attribute{Type: attributeType(id, v), ID: id, Value: v.Value})
		return nil
	})
	if err != nil {
		return a, fmt.Errorf("%s: attributes: %w", name, err)
	}
	return a, nil
}

// decodeKnown decodes a node into a struct that has a field for each key.
func decodeKnown(n *yaml.Node, v any) error {
	text, err := yaml.Marshal(n)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	return nil
}

// attributeType returns the type of an attribute with a value, which YAML tells but for colours.
func attributeType(id string, v *yaml.Node) carla.AttributeType {
	switch {
	case id == "color":
		return carla.AttributeColor
	case v.Tag == "!!bool":
		return carla.AttributeBool
	case v.Tag == "!!int":
		return carla.AttributeInt
	case v.Tag == "!!float":
		return carla.AttributeFloat
	}
	return carla.AttributeString
}

// eachPair calls f with the keys and values of a mapping, in order. Without a mapping there are none.
func eachPair(n *yaml.Node, f func(key string, value *yaml.Node) error) error {
	if n.IsZero() || n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want names, and what belongs to them below", n.Line)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if err := f(n.Content[i].Value, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// unambiguous returns an error if a topic or a frame is of two actors.
func unambiguous(list []Subject) error {
	of := map[string]string{}
	for _, a := range list {
		for _, name := range append(append([]string(nil), a.Topics...), a.Frames...) {
			if other := of[name]; other != "" && other != a.Name {
				return fmt.Errorf("actors: %s is of %s and of %s", name, other, a.Name)
			}
			of[name] = a.Name
		}
	}
	return nil
}
