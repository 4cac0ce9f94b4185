package robot

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tapedeck/bridge/translate/internal/mapping"
	"tapedeck/codec/training/episode"
)

// nameForm matches names of cameras and arms.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)

// LoadMapping reads a mapping from a YAML file, which config/robot_mapping.yaml documents. Errors name the file and the
// line.
func LoadMapping(path string) (*Mapping, error) { return mapping.Load(path, "robot", parseMapping) }

// MappingOf returns the mapping in parameters of a node. The name of a parameter is the prefix "robot." and keys of the
// mapping, separated by dots: "robot.task", "robot.cameras.camera_0". MappingOf ignores parameters without the prefix,
// and returns nil if no parameter has it.
func MappingOf(parameters map[string]any, prefix string) (*Mapping, error) {
	tree := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(parameters)) { // "a" comes before "a.b"
		path, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		keys := strings.Split(path, ".")
		at := tree
		for _, key := range keys[:len(keys)-1] {
			next, ok := at[key].(map[string]any)
			if !ok {
				if at[key] != nil {
					return nil, fmt.Errorf("parameter %s: %s also has a value", name, key)
				}
				next = map[string]any{}
				at[key] = next
			}
			at = next
		}
		at[keys[len(keys)-1]] = parameters[name]
	}
	if len(tree) == 0 {
		return nil, nil
	}
	text, err := yaml.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("parameters %s*: %w", prefix, err)
	}
	m, err := parseMapping(text)
	if err != nil {
		return nil, fmt.Errorf("parameters %s*: %w", prefix, err)
	}
	return m, nil
}

// mappingFile is the content of a mapping file.
type mappingFile struct {
	Task     string    `yaml:"task"`
	Stamps   string    `yaml:"stamps"`
	Episodes yaml.Node `yaml:"episodes"`
	Cameras  yaml.Node `yaml:"cameras"`
	Arms     yaml.Node `yaml:"arms"`
}

func parseMapping(text []byte) (*Mapping, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	m := &Mapping{}
	if len(root.Content) == 0 {
		return m, nil
	}
	var f mappingFile
	if err := mapping.Decode(root.Content[0], &f); err != nil {
		return nil, err
	}
	m.Task = f.Task
	switch f.Stamps {
	case "", "header":
	case "receive":
		m.Receive = true
	default:
		return nil, fmt.Errorf("stamps: %q is neither header nor receive", f.Stamps)
	}
	if err := mapping.Decode(&f.Episodes, &m.Episodes); err != nil {
		return nil, fmt.Errorf("episodes: %w", err)
	}
	err := mapping.Each(&f.Cameras, func(name string, n *yaml.Node) error {
		m.Cameras = append(m.Cameras, Camera{Name: name, Topic: n.Value})
		return decode(n, &m.Cameras[len(m.Cameras)-1])
	})
	if err != nil {
		return nil, fmt.Errorf("cameras: %w", err)
	}
	err = mapping.Each(&f.Arms, func(name string, n *yaml.Node) error {
		m.Arms = append(m.Arms, Arm{Name: name})
		return parseArm(&m.Arms[len(m.Arms)-1], n, "")
	})
	if err != nil {
		return nil, fmt.Errorf("arms: %w", err)
	}
	return m, m.check()
}

// parseArm reads the streams of an arm or, with the prefix "command/", the streams of its commands.
func parseArm(a *Arm, n *yaml.Node, prefix string) error {
	return mapping.Each(n, func(name string, n *yaml.Node) error {
		switch {
		case name == "command" && prefix == "":
			return parseArm(a, n, "command/")
		case name == "device" && prefix == "":
			return mapping.Decode(n, &a.Device)
		}
		r := slices.Index(episode.RoleNames[:], prefix+name)
		if r < 0 {
			return fmt.Errorf("line %d: field %s not found: there are pose, joint, gripper, velocity, effort, "+
				"device, and below command the first three", n.Line, name)
		}
		s := &Stream{Topic: n.Value}
		a.Streams[r] = s
		return decode(n, s)
	})
}

// decode decodes a node into a struct, unless the node is just a topic. Keys are the struct's field names in lower
// case.
func decode(n *yaml.Node, to any) error {
	if n.Kind == yaml.ScalarNode {
		return nil
	}
	return mapping.Decode(n, to)
}
