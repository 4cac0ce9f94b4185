package rosbag2

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tapedeck/codec"
	"tapedeck/codec/internal/output"
)

// DefaultVersion is the version of metadata.yaml that is written unless another one is asked for, the newest one that
// every release from Humble on reads: those before Iron ignore what it adds to their version 5, and Jazzy and later,
// which write 9, read all before it. Version 9 itself Humble and Iron refuse, for its QoS profiles are not a text.
const DefaultVersion = 8

// The storages, as metadata.yaml names them.
const (
	storageMCAP   = "mcap"
	storageSQLite = "sqlite3"
)

// metadata is the content of metadata.yaml, rosbag2_storage's BagMetadata.
type metadata struct {
	Version     int         `yaml:"version"`
	Storage     string      `yaml:"storage_identifier"`
	Duration    duration    `yaml:"duration"`
	Start       timePoint   `yaml:"starting_time"`
	Messages    uint64      `yaml:"message_count"`
	Topics      []topicInfo `yaml:"topics_with_message_count"`
	Compression string      `yaml:"compression_format"`
	Mode        string      `yaml:"compression_mode"`
	Paths       []string    `yaml:"relative_file_paths"`
	Files       []fileInfo  `yaml:"files"`
	Custom      custom      `yaml:"custom_data"`
	Distro      string      `yaml:"ros_distro"`
}

type duration struct {
	Nanoseconds int64 `yaml:"nanoseconds"`
}

type timePoint struct {
	Nanoseconds int64 `yaml:"nanoseconds_since_epoch"`
}

type topicInfo struct {
	Topic    topic  `yaml:"topic_metadata"`
	Messages uint64 `yaml:"message_count"`
}

type topic struct {
	Name     string   `yaml:"name"`
	Type     string   `yaml:"type"`
	Encoding string   `yaml:"serialization_format"`
	QoS      profiles `yaml:"offered_qos_profiles"`
	TypeHash string   `yaml:"type_description_hash"`
}

type fileInfo struct {
	Path     string    `yaml:"path"`
	Start    timePoint `yaml:"starting_time"`
	Duration duration  `yaml:"duration"`
	Messages uint64    `yaml:"message_count"`
}

// custom is written as rosbag2 writes it when it is empty.
type custom map[string]string

func (c custom) MarshalYAML() (any, error) {
	if len(c) == 0 {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "~"}, nil
	}
	return map[string]string(c), nil
}

// profiles are a text up to version 8 and a sequence from 9 on.
type profiles []codec.QoS

func (p *profiles) UnmarshalYAML(node *yaml.Node) error {
	text := []byte(node.Value)
	if node.Kind != yaml.ScalarNode {
		var err error
		if text, err = yaml.Marshal(node); err != nil {
			return err
		}
	}
	list, err := codec.ParseQoSProfiles(string(text))
	*p = list
	return err
}

func (p profiles) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle,
		Value: codec.FormatQoSProfiles(p)}, nil
}

// parseMetadata reads a metadata.yaml. With an error it returns nil.
func parseMetadata(text []byte) (*metadata, error) {
	var file struct {
		Bag *metadata `yaml:"rosbag2_bagfile_information"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	if file.Bag == nil {
		return nil, errors.New("it has no rosbag2_bagfile_information")
	}
	return file.Bag.checked()
}

// parseEmbedded reads the metadata that a file keeps of itself. With an error it returns nil.
func parseEmbedded(text []byte) (*metadata, error) {
	m := &metadata{}
	if err := yaml.Unmarshal(text, m); err != nil {
		return nil, err
	}
	return m.checked()
}

func (m *metadata) checked() (*metadata, error) {
	if m.Version < 1 || m.Storage == "" {
		return nil, errors.New("it has no version or no storage_identifier")
	}
	return m, nil
}

// since are the versions of metadata.yaml with which keys came.
var since = map[string]int{"files": 5, "custom_data": 6, "type_description_hash": 7, "ros_distro": 8}

// MarshalYAML leaves out what the version does not have, and writes the QoS profiles as it does.
func (m *metadata) MarshalYAML() (any, error) {
	type all metadata
	if m.Version == 8 { // it has all keys, and the profiles as a text
		return (*all)(m), nil
	}
	var node yaml.Node
	if err := node.Encode((*all)(m)); err != nil {
		return nil, err
	}
	return &node, adapt(&node, m.Version)
}

func adapt(node *yaml.Node, version int) error {
	if node.Kind == yaml.MappingNode {
		for i := len(node.Content) - 2; i >= 0; i -= 2 {
			key, value := node.Content[i].Value, node.Content[i+1]
			switch {
			case since[key] > version:
				node.Content = slices.Delete(node.Content, i, i+2)
			case key == "offered_qos_profiles" && version >= 9:
				var text profiles
				if err := value.Decode(&text); err != nil {
					return err
				}
				var list yaml.Node
				if err := yaml.Unmarshal([]byte(codec.FormatNamedQoSProfiles(text)), &list); err != nil {
					return err
				}
				if node.Content[i+1] = (&yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}); len(text) > 0 {
					node.Content[i+1] = list.Content[0]
				}
			}
		}
	}
	for _, child := range node.Content {
		if err := adapt(child, version); err != nil {
			return err
		}
	}
	return nil
}

// describe returns the metadata of a bag that consists of these files.
func (l *layout) describe(files []*codec.Info) *metadata {
	m := &metadata{
		Version: l.version, Storage: l.storage, Topics: []topicInfo{}, Paths: []string{}, Files: []fileInfo{},
		Mode: strings.ToUpper(l.mode), Custom: maps.Clone(l.options.Metadata), Distro: l.options.Metadata["ros_distro"],
	}
	if m.Mode != "" {
		m.Compression = "zstd"
	}
	delete(m.Custom, "ros_distro")
	known := map[topicKey]int{}
	end := int64(math.MinInt64)
	for _, info := range files {
		name := strings.TrimSuffix(filepath.Base(info.Path), codec.ActiveSuffix)
		m.Paths = append(m.Paths, name)
		m.Files = append(m.Files, fileInfo{
			Path: strings.TrimSuffix(name, packedSuffix), Start: timePoint{info.StartTime},
			Duration: duration{info.EndTime - info.StartTime}, Messages: info.MessageCount,
		})
		for _, t := range info.Topics {
			m.add(t, known)
		}
		if info.MessageCount == 0 {
			continue
		}
		if m.Messages == 0 {
			m.Start.Nanoseconds = info.StartTime
		}
		m.Messages += info.MessageCount
		m.Start.Nanoseconds, end = min(m.Start.Nanoseconds, info.StartTime), max(end, info.EndTime)
		m.Duration.Nanoseconds = end - m.Start.Nanoseconds
	}
	return m
}

// topicKey identifies a topic in rosbag2, whoever publishes it.
type topicKey struct{ name, typ, encoding string }

// add adds what a file has of a topic. known are the places of those that there are.
func (m *metadata) add(t codec.TopicInfo, known map[topicKey]int) {
	c := t.Channel
	key := topicKey{c.Topic, c.Type, c.Encoding}
	i, ok := known[key]
	if !ok {
		i = len(m.Topics)
		known[key] = i
		m.Topics = append(m.Topics, topicInfo{Topic: topic{Name: c.Topic, Type: c.Type, Encoding: c.Encoding,
			TypeHash: c.TypeHash}})
	}
	m.Topics[i].Messages += t.MessageCount
	m.Topics[i].Topic.QoS = codec.JoinQoS(m.Topics[i].Topic.QoS, c.QoS)
}

// format writes m as YAML, below the key that metadata.yaml has if file is set.
func (m *metadata) format(file bool) ([]byte, error) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	var value any = m
	if file {
		value = map[string]*metadata{"rosbag2_bagfile_information": m}
	}
	err := encoder.Encode(value)
	return b.Bytes(), err
}

// save replaces the metadata.yaml in dir. After a power failure there is the old one or the new one.
func (m *metadata) save(s output.System, dir string) error {
	path := filepath.Join(dir, metadataFile)
	text, err := m.format(true)
	if err == nil {
		err = output.Replace(s, path, text)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
