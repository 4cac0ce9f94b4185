package rosbag2

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"tapedeck/codec"
	"tapedeck/codec/internal/output"
)

// DefaultVersion is the default version of metadata.yaml. It is the newest version that every release from Humble on
// reads: releases before Iron ignore its additions to version 5, and Jazzy and later, which write 9, read all older
// versions. Humble and Iron refuse version 9, because its QoS profiles are not a text.
const DefaultVersion = 8

// The storages, as metadata.yaml names them.
const (
	storageMCAP   = "mcap"
	storageSQLite = "sqlite3"
)

// metadata is the content of metadata.yaml, rosbag2_storage's BagMetadata.
type metadata struct {
	Version     int               `yaml:"version"`
	Storage     string            `yaml:"storage_identifier"`
	Duration    duration          `yaml:"duration"`
	Start       timePoint         `yaml:"starting_time"`
	Messages    uint64            `yaml:"message_count"`
	Topics      []topicInfo       `yaml:"topics_with_message_count"`
	Compression string            `yaml:"compression_format"`
	Mode        string            `yaml:"compression_mode"`
	Paths       []string          `yaml:"relative_file_paths"`
	Files       []fileInfo        `yaml:"files"`
	Custom      map[string]string `yaml:"custom_data"`
	Distro      string            `yaml:"ros_distro"`
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

	unread error // why the file's profiles could not be read; QoS is empty then
}

// UnmarshalYAML omits profiles that cannot be read, and sets unread.
func (t *topic) UnmarshalYAML(node *yaml.Node) error {
	for i := 1; i < len(node.Content); i += 2 {
		if node.Content[i-1].Value == "offered_qos_profiles" {
			t.unread = node.Content[i].Decode(&t.QoS)
			if t.unread != nil {
				node.Content[i] = &yaml.Node{Kind: yaml.ScalarNode}
			}
		}
	}
	type plain topic
	return node.Decode((*plain)(t))
}

type fileInfo struct {
	Path     string    `yaml:"path"`
	Start    timePoint `yaml:"starting_time"`
	Duration duration  `yaml:"duration"`
	Messages uint64    `yaml:"message_count"`
}

// profiles are QoS profiles: a text up to version 8, a sequence since version 9.
type profiles []codec.QoS

func (p *profiles) UnmarshalYAML(node *yaml.Node) error {
	text := []byte(node.Value)
	if node.Kind != yaml.ScalarNode {
		var err error
		text, err = yaml.Marshal(node)
		if err != nil {
			return err
		}
	}
	list, err := codec.ParseQoSProfiles(string(text))
	*p = list
	return err
}

// parseMetadata reads a metadata.yaml.
func parseMetadata(text []byte) (*metadata, error) {
	var file struct {
		Bag *metadata `yaml:"rosbag2_bagfile_information"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	if file.Bag == nil {
		return nil, errors.New("no rosbag2_bagfile_information")
	}
	return file.Bag.checked()
}

// parseEmbedded reads the metadata of a file that is embedded in the file.
func parseEmbedded(text []byte) (*metadata, error) {
	m := &metadata{}
	if err := yaml.Unmarshal(text, m); err != nil {
		return nil, err
	}
	return m.checked()
}

// checked returns m, or an error if m does not describe a bag. storage_identifier may be empty: files' names tell it.
func (m *metadata) checked() (*metadata, error) {
	if m.Version < 1 || m.Storage == "" && len(m.Paths) == 0 {
		return nil, errors.New("no version, or neither storage_identifier nor relative_file_paths")
	}
	return m, nil
}

// since maps keys of metadata.yaml to the version that added them.
var since = map[string]int{"files": 5, "custom_data": 6, "type_description_hash": 7, "ros_distro": 8}

// describe returns the metadata of a bag of the given files.
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

// topicKey identifies a topic in rosbag2. Channels of several publishers may have equal keys.
type topicKey struct{ name, typ, encoding string }

// add adds a topic of a file. known maps the topics of m to their indexes in m.Topics.
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

// format returns m as rosbag2 writes m.Version. If file is set, the text is below the key of metadata.yaml. Encoding by
// reflection would take longer than everything else that ends a file of hundreds of topics.
func (m *metadata) format(file bool) []byte {
	var text []byte
	margin := ""
	if file {
		text, margin = append(text, "rosbag2_bagfile_information:\n"...), "  "
	}
	line := func(format string, args ...any) {
		text = append(fmt.Appendf(append(text, margin...), format, args...), '\n')
	}
	list := func(key string, length int) {
		if length == 0 {
			key += " []"
		}
		line("%s", key)
	}
	has := func(key string) bool { return m.Version >= since[key] }
	line("version: %d", m.Version)
	line("storage_identifier: %s", scalar(m.Storage))
	line("duration:\n%s  nanoseconds: %d", margin, m.Duration.Nanoseconds)
	line("starting_time:\n%s  nanoseconds_since_epoch: %d", margin, m.Start.Nanoseconds)
	line("message_count: %d", m.Messages)
	list("topics_with_message_count:", len(m.Topics))
	for i := range m.Topics {
		t := &m.Topics[i].Topic
		line("  - topic_metadata:")
		line("      name: %s", scalar(t.Name))
		line("      type: %s", scalar(t.Type))
		line("      serialization_format: %s", scalar(t.Encoding))
		if m.Version < 9 {
			line("      offered_qos_profiles: %q", codec.FormatQoSProfiles(t.QoS))
		} else {
			list("      offered_qos_profiles:", len(t.QoS))
			if len(t.QoS) > 0 {
				for text := range strings.SplitSeq(codec.FormatNamedQoSProfiles(t.QoS), "\n") {
					line("        %s", text)
				}
			}
		}
		if has("type_description_hash") {
			line("      type_description_hash: %s", scalar(t.TypeHash))
		}
		line("    message_count: %d", m.Topics[i].Messages)
	}
	line("compression_format: %s", scalar(m.Compression))
	line("compression_mode: %s", scalar(m.Mode))
	list("relative_file_paths:", len(m.Paths))
	for _, path := range m.Paths {
		line("  - %s", scalar(path))
	}
	if has("files") {
		list("files:", len(m.Files))
		for _, f := range m.Files {
			line("  - path: %s", scalar(f.Path))
			line("    starting_time:\n%s      nanoseconds_since_epoch: %d", margin, f.Start.Nanoseconds)
			line("    duration:\n%s      nanoseconds: %d", margin, f.Duration.Nanoseconds)
			line("    message_count: %d", f.Messages)
		}
	}
	if has("custom_data") {
		line("custom_data:")
		if len(m.Custom) == 0 {
			text = append(text[:len(text)-1], " ~\n"...)
		}
		for _, key := range slices.Sorted(maps.Keys(m.Custom)) {
			name, value := scalar(key), scalar(m.Custom[key])
			if len(name) > 1024 { // too long for a simple key of YAML
				line("  ? %s\n%s  : %s", name, margin, value)
			} else {
				line("  %s: %s", name, value)
			}
		}
	}
	if has("ros_distro") {
		line("ros_distro: %s", scalar(m.Distro))
	}
	return text
}

// unquoted matches texts that need no quotes in YAML, unless they are words with a meaning.
var unquoted = regexp.MustCompile(`^[A-Za-z/][\w/.-]*$`)

// scalar returns a text as a YAML scalar on one line.
func scalar(text string) string {
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return strconv.Quote(text)
	}
	switch {
	case unquoted.MatchString(text):
		return text
	case utf8.ValidString(text):
		return strconv.Quote(text)
	}
	return "!!binary " + base64.StdEncoding.EncodeToString([]byte(text))
}

// save replaces the metadata.yaml in dir. After a power failure, the file has the old or the new content.
func (m *metadata) save(s codec.Disk, dir string) error {
	path := filepath.Join(dir, metadataFile)
	if err := output.Replace(s, path, m.format(true)); err != nil {
		return fmt.Errorf("write %s: %w; the files are readable nevertheless, %s before going on", path, err,
			codec.Advice(err))
	}
	return nil
}
