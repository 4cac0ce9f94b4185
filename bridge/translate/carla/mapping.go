package carla

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"go.yaml.in/yaml/v3"

	"tapedeck/bridge/translate/internal/mapping"
	"tapedeck/codec/format/carla"
)

// mappingFile is the content of a mapping file. config/carla_mapping.yaml documents the format.
type mappingFile struct {
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

// LoadMapping reads WriteOptions from a YAML file. The file names the map, the profile, the step from frame to frame
// ("50ms") and, by role_name, the topics, frames, blueprint and attributes of actors. Errors name the
// file and the line.
func LoadMapping(path string) (WriteOptions, error) { return mapping.Load(path, "CARLA", parseMapping) }

func parseMapping(text []byte) (o WriteOptions, err error) {
	var m mappingFile
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
		o.Profile, err = carla.ProfileNamed(m.Profile)
		if err != nil {
			return o, fmt.Errorf("profile: %w", err)
		}
	}
	err = mapping.Each(&m.Actors, func(name string, v *yaml.Node) error {
		a, err := parseActor(name, v)
		o.Actors = append(o.Actors, a)
		return err
	})
	if err != nil {
		return o, fmt.Errorf("actors: %w", err)
	}
	return o, checkUnambiguous(o.Actors)
}

func parseActor(name string, n *yaml.Node) (a ActorMapping, err error) {
	var m mappedActor
	if err := mapping.Decode(n, &m); err != nil {
		return a, err
	}
	if !topicElement.MatchString(name) {
		return a, fmt.Errorf("line %d: the name is not a valid part of a topic name", n.Line)
	}
	a = ActorMapping{Name: name, Topics: m.Topics, Frames: m.Frames, Blueprint: m.Blueprint}
	err = mapping.Each(&m.Attributes, func(id string, v *yaml.Node) error {
		if v.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: want a value", v.Line)
		}
		a.Attributes = append(a.Attributes, carla.Attribute{Type: attributeType(id, v), ID: id, Value: v.Value})
		return nil
	})
	if err != nil {
		return a, fmt.Errorf("attributes: %w", err)
	}
	return a, nil
}

// attributeType returns the type of an attribute. Except for colours, it is the type of the YAML value.
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

// checkUnambiguous returns an error if a topic or a frame belongs to two actors.
func checkUnambiguous(list []ActorMapping) error {
	actors := map[string]string{} // by topic or frame
	for _, a := range list {
		for _, name := range append(append([]string(nil), a.Topics...), a.Frames...) {
			if other := actors[name]; other != "" && other != a.Name {
				return fmt.Errorf("actors: %s belongs to both %s and %s", name, other, a.Name)
			}
			actors[name] = a.Name
		}
	}
	return nil
}
