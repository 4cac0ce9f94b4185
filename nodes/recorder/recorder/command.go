// Package recorder records topics of the ROS graph. It is the body of the executable recorder.
package recorder

import (
	"context"
	_ "embed"
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/store/s3"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats/live"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/internal/othertools"
	"tapedeck/nodes/internal/progress"
	"tapedeck/nodes/recorder/internal/selection"
)

// examples are command lines for the help text.
//
//go:embed examples.txt
var examples string

const long = `Records topics of the ROS graph until it is interrupted. Name the topics, or select them with
--all, --regex or --node, also those that appear later. The commands echo, topics and upload work
without a recorder, the others control a running one. /pause records a topic with such a name.`

// hints tell, by flag of ros2 bag, rosbag or cyber_recorder, what to use instead.
var hints = map[string]string{
	"O": "use -o NAME", "node-name": "use --ros-args -r __node:=NAME",
	"storage-config-file":          hintStorage,
	"storage-preset-profile":       hintStorage,
	"compression-mode":             hintCompress,
	"compression-queue-size":       hintCompress,
	"compression-threads":          hintCompress,
	"compression-threads-priority": hintCompress,
	"j":                            "use --compression zstd", "bz2": "use --compression zstd",
	"lz4": "use --compression lz4",
	"f":   hintAsSent, "serialization-format": hintAsSent,
	"p":                          hintPolling + "; rosbag's -p is --publish",
	"polling-interval":           hintPolling,
	"repeat-all-transient-local": "every file begins with the last messages of latched topics; leave it out",
	"tcpnodelay":                 hintTransport, "udp": hintTransport,
	"c": "name the topics without a flag, or behind --topics", "white-channel": "use --topics TOPIC",
	"k": "use --exclude-topics TOPIC", "black-channel": "use --exclude-topics TOPIC",
	"i": "use --max-bag-duration SECONDS to split", "segment-interval": "use --max-bag-duration SECONDS",
	"m": "use --max-bag-size SIZE to split", "segment-size": "use --max-bag-size SIZE",
	"C": hintProfile, "cpu-profile": hintProfile, "H": hintProfile, "heap-profile": hintProfile,
}

const (
	hintAsSent    = "messages are kept as they are sent; leave it out"
	hintPolling   = "ros2 bag polls the graph this often; here nothing is polled, leave it out"
	hintTransport = "DDS has no such choice; leave it out"
	hintStorage   = "use --chunk-size, --chunk-duration and --compression"
	hintProfile   = "the recorder writes no profiles; leave it out"
	hintCompress  = "--compression zstd compresses chunks; for compressed files convert the recording: " +
		"converter NAME OUT --compression-mode file"
)

// System is what a recorder works with. Tests replace it by simulations.
type System struct {
	Disk  codec.Disk   // holds all files of recordings
	Graph graph.Opener // nil: the middleware's
	Store *s3.Store    // where files are uploaded to; nil: by the environment
}

// NewCommand returns the command recorder with its subcommands.
func NewCommand(system System) *cobra.Command {
	o := defaultOptions()
	root := config.New("recorder [TOPIC...]", "record topics", long, &o,
		func(ctx context.Context, in *config.Input) error {
			return record(ctx, in, &o, system)
		})
	root.Args = othertools.Topics
	graph.ShowMiddleware(root)
	config.Hint(root, hints, human.DidYouMean)
	root.AddCommand(append(newRemotes(), newTrigger(), newEcho(), newTopics(), newUpload())...)
	config.Brief(root, "all", "regex", "exclude_topics", "output", "storage", "compression", "max_bag_size",
		"max_bag_duration", "max_duration", "snapshot")
	config.Examples(root, examples)
	return root
}

// namedTopics returns the topics named on the command line, or else by the parameter topics.
func namedTopics(in *config.Input, o *options) []string {
	if len(in.Args) == 0 || in.Flag("topics") {
		return slices.Concat(in.Args, o.Topics)
	}
	return in.Args
}

// record runs a recorder until ctx ends.
func record(ctx context.Context, in *config.Input, o *options, system System) (err error) {
	topics := namedTopics(in, o)
	if _, err := live.Choose(o.Storage, o.Output); err != nil {
		return err
	}
	if err := o.splitByDuration(); err != nil {
		return err
	}
	o.cacheForSnapshots()
	o.takeParameters(in)
	if o.format().Robot != nil {
		if m, err := o.mapping(); err == nil && o.Nothing(topics) {
			topics, o.AllowUnmatched = m.Topics(), true // a mapping may name what this robot does not have
		}
	}
	if err := o.check(topics); err != nil {
		return err
	}
	names, err := bridge.NewNames(bridge.Options{Name: "recorder", Remaps: in.ROS.Remaps})
	if err != nil {
		return config.Usagef("%w", err)
	}
	chosen, err := selection.New(&o.TopicOptions, topics, names.Topic)
	if err != nil {
		return err
	}
	if o.Quiet && in.ROS.LogLevel == "" {
		in.ROS.LogLevel = "warn"
	}
	line := progress.NewLine(os.Stderr)
	node, err := system.Graph.Open("recorder", in, o, line)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	r, err := newRecorder(*o, chosen, node, system.Disk, line)
	if err != nil {
		return err
	}
	if system.Store != nil && r.uploads != nil {
		r.uploads.Store = system.Store
	}
	return r.run(ctx)
}
