package main

import (
	"os"
	"time"

	"tapedeck/config"
	"tapedeck/nodes/internal/graph"
)

// options are the recorder's parameters, each at once a flag, a ROS parameter and a line of config/recorder.yaml.
type options struct {
	topicOptions
	outputOptions
	memoryOptions
	snapshotOptions
	graph.Options
}

// topicOptions say what is recorded.
type topicOptions struct {
	Topics                   []string `param:"topics" flag:"-" group:"Topics" help:"topics to record when none is named on the command line"`
	All                      bool     `param:"all" short:"a" group:"Topics" help:"record every topic, as it appears"`
	Regex                    string   `param:"regex" short:"e" group:"Topics" help:"record topics in whose name this regular expression is found"`
	ExcludeRegex             string   `param:"exclude_regex" short:"x" alias:"exclude" group:"Topics" help:"leave out topics in whose name this regular expression is found, even named ones"`
	ExcludeTopics            []string `param:"exclude_topics" group:"Topics" value:"TOPIC" help:"leave out this TOPIC, even if it is named"`
	Node                     []string `param:"node" group:"Topics" value:"NAME" help:"record what the node of this NAME publishes or subscribes to"`
	IncludeHiddenTopics      bool     `param:"include_hidden_topics" group:"Topics" help:"with --all, --regex and --node: hidden topics too"`
	IncludeUnpublishedTopics bool     `param:"include_unpublished_topics" group:"Topics" help:"with --all, --regex and --node: topics without a publisher too"`
	NoDiscovery              bool     `param:"no_discovery" group:"Topics" help:"do not pick up topics that appear after the start"`
	QoSOverrides             string   `param:"qos_profile_overrides_path" group:"Topics" value:"FILE" help:"YAML FILE with the QoS to subscribe with, by topic, as rosbag2 reads it"`
	DefinitionPaths          []string `param:"definition_paths" group:"Topics" value:"FOLDER" help:"FOLDER to look for message definitions in, before AMENT_PREFIX_PATH"`
}

// outputOptions say where to, and until when.
type outputOptions struct {
	Output        string        `param:"output" short:"o" group:"Output" value:"NAME" help:"call the recording NAME; by default tapedeck_ and the time"`
	Storage       string        `param:"storage" short:"s" group:"Output" options:"record|mcap" help:"Apollo record files, or a ROS 2 bag folder with MCAP files"`
	Overwrite     bool          `param:"overwrite" group:"Output" help:"replace an existing recording of that name"`
	Compression   string        `param:"compression" group:"Output" options:"none|lz4|zstd" help:"of chunks; mcap only"`
	MaxDuration   time.Duration `param:"max_duration" short:"d" group:"Output" min:"0" help:"stop after this long; 0 is never"`
	ChunkSize     config.Size   `param:"chunk_size" group:"Output" min:"1KiB" max:"1GiB" help:"payload bytes after which a chunk goes to the disk"`
	ChunkDuration time.Duration `param:"chunk_duration" group:"Output" min:"1ms" help:"time after which a chunk goes to the disk; what a crash can cost"`
}

// memoryOptions say how much may wait for the disk.
type memoryOptions struct {
	QueueSize config.Size `param:"queue_size" alias:"max-cache-size" group:"Memory" min:"1MiB" help:"bytes that may wait for the disk; when they are more, the oldest are dropped and counted"`
}

// check returns a usage error for options that do not go together.
func (o *options) check(topics []string) error {
	if o.Storage == "record" && o.Compression != "none" {
		return config.Usagef("compression: Apollo record files have none; use --storage mcap")
	}
	for _, path := range o.DefinitionPaths {
		if _, err := os.Stat(path); err != nil {
			return config.Usagef("definition_paths: %w", err)
		}
	}
	if !o.All && o.Regex == "" && len(o.Node) == 0 && len(topics) == 0 {
		return config.Usagef("nothing to record: name topics, or use --all, --regex or --node")
	}
	return nil
}

func defaultOptions() options {
	return options{
		outputOptions: outputOptions{
			Storage: "record", Compression: "none", ChunkSize: 16 << 20, ChunkDuration: time.Second,
		},
		memoryOptions:   memoryOptions{QueueSize: 256 << 20},
		snapshotOptions: defaultSnapshotOptions(),
	}
}
