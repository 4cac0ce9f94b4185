package convert

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/codec/training/episode"
	"tapedeck/config"
	"tapedeck/nodes/internal/filter/pattern"
	"tapedeck/nodes/internal/filter/timerange"
	"tapedeck/nodes/internal/formats"
)

// Options select what is converted, and to what. Each is a flag of the converter and a ROS parameter.
type Options struct {
	Topics  []string `param:"topics" short:"t" several:"names" group:"Selection" help:"convert only these topics: names, names in which * matches anything, or regular expressions that must match the whole name; separate several by commas or spaces"`
	Exclude []string `param:"exclude" short:"x" several:"names" group:"Selection" help:"leave out these topics; same syntax as topics"`

	Types        []string `param:"topic_types" several:"names" group:"Selection" value:"TYPE" help:"convert topics of these types, such as sensor_msgs/msg/Imu, and those of topics; same syntax as topics"`
	ExcludeTypes []string `param:"exclude_topic_types" several:"names" group:"Selection" value:"TYPE" help:"leave out topics of these types; same syntax as topics"`

	AllowUnmatched bool `param:"allow_unmatched" group:"Selection" help:"accept options that name topics which no recording has"`

	Throttle []string `param:"throttle" group:"Selection" value:"TOPIC=5Hz|1/10" help:"keep at most 5 messages of TOPIC per second, or one in 10; TOPIC has the syntax of topics; the first rule that matches applies"`

	timerange.Range

	AlignStarts bool `param:"align_starts" group:"Changes" help:"shift recordings in time so that all begin with the earliest one"`

	Remap   []string      `param:"remap" short:"m" several:"rules" group:"Changes" value:"/from:=/to" help:"rename a topic: /from:=/to"`
	Prefix  string        `param:"prefix" group:"Changes" value:"/PREFIX" help:"put this in front of all topic names"`
	Offset  time.Duration `param:"offset" group:"Changes" help:"shift all messages in time by this much, for example -1h30m"`
	Restamp bool          `param:"restamp" group:"Changes" help:"apply offset and align_starts to the stamps inside messages, too"`
	Order   string        `param:"message_order" group:"Changes" options:"received|sent|header" help:"time to store as the log time of a message: when it was received, when it was sent, or the stamp in its header"`

	Encoding  string `param:"encoding" group:"Messages" options:"auto|keep|cdr|ros1|protobuf" help:"encoding of messages in the output: the one that suits the format (auto), unchanged (keep), ROS 2 (cdr), ROS 1 (ros1) or Apollo (protobuf)"`
	Unmatched string `param:"unmatched" group:"Messages" options:"skip|raw|fail" help:"topics whose messages cannot be translated: leave them out (skip), keep their bytes unchanged if the format can (raw), or convert nothing (fail)"`

	formats.DefinitionOptions

	Strict bool `param:"strict" group:"Messages" help:"write nothing if anything would be lost or cannot be read"`

	To          string      `param:"to" group:"Output" value:"FORMAT" help:"format to write: record, mcap, rosbag2, bag, carla, session, hdf5, lerobot, parquet, csv, jsonl, images, mp4, pcd, ply, gpx, geojson, kml or tum; by default chosen by the name of the output"`
	ChunkSize   config.Size `param:"chunk_size" group:"Output" min:"0" max:"1073741824" help:"close a chunk after this many payload bytes; 0 uses the format's default"`
	Compression string      `param:"compression" alias:"compression-format,output-compression" group:"Output" help:"compression of chunks, if the format has it: none, lz4, zstd or bz2; by default the format's own choice"`
	Overwrite   bool        `param:"overwrite" group:"Output" help:"replace an existing output"`

	RobotOptions
	AlignOptions
	formats.Options

	MaxBagSize     config.Size   `param:"max_bag_size" short:"b" letter:"as in ros2 bag; cyber_recorder's -b is --begin" group:"Splits" min:"64kB" zero:"true" help:"start another file before one exceeds this size; 0 is never"`
	MaxBagDuration time.Duration `param:"max_bag_duration" short:"d" group:"Splits" min:"0" help:"start another file each time this much has passed since the first message; 0 is never"`
	MaxBagMessages uint64        `param:"max_bag_messages" group:"Splits" help:"start another file after this many messages; 0 is never"`
	Latched        bool          `param:"latched" alias:"repeat-latched" group:"Splits" help:"begin a part of a recording, and each further file, with the last messages of latched (transient local) topics"`
	Repeat         []string      `param:"repeat" several:"names" alias:"repeat-transient-local" group:"Splits" value:"TOPIC[=N]" help:"begin them with the last N messages of TOPIC, too, latched or not; TOPIC has the syntax of topics; by default N is the depth of its history, or 1"`
}

// DefaultOptions returns the defaults, which convert everything.
func DefaultOptions() Options {
	return Options{
		Encoding: "auto", Unmatched: "skip", Order: "received", Latched: true,
		RobotOptions: RobotOptions{Stamps: "auto"}, AlignOptions: defaultAlignOptions(),
		Options: formats.DefaultOptions(),
	}
}

// Paths returns the options that name files.
func (o *Options) Paths() []*string {
	paths := []*string{&o.Mapping, &o.CARLAMapping, &o.LinkFile}
	for i := range o.DefinitionPaths {
		paths = append(paths, &o.DefinitionPaths[i])
	}
	return paths
}

// Changed returns the options that are not the defaults, without those that do not change the output, and the
// content of files that they name.
func (o *Options) Changed() map[string]string {
	defaults, changed := DefaultOptions(), map[string]string{}
	was := config.Parameters(&defaults)
	for i, p := range config.Parameters(o) {
		if p.Default != was[i].Default && p.Name != "overwrite" {
			changed[p.Name] = p.Default
		}
	}
	for name, path := range map[string]string{"mapping": o.Mapping, "carla_mapping": o.CARLAMapping} {
		if text, err := os.ReadFile(path); err == nil && path != "" { // the conversion tells of errors
			changed["content of "+name] = fmt.Sprintf("%x", sha256.Sum256(text))
		}
	}
	return changed
}

// plan is the parsed form of Options.
type plan struct {
	Options
	selection Selection
	names     *bridge.Names
	throttles []pattern.ThrottleRule
	repeats   []pattern.Numbered
	episodes  *episode.Selection
}

// parse parses the options that are texts.
func (o *Options) parse() (*plan, error) {
	p := &plan{Options: *o}
	var err error
	for _, list := range []struct {
		flag  string
		texts []string
		to    *pattern.Patterns
	}{
		{"topics", o.Topics, &p.selection.Include}, {"exclude", o.Exclude, &p.selection.Exclude},
		{"topic-types", o.Types, &p.selection.Types},
		{"exclude-topic-types", o.ExcludeTypes, &p.selection.ExcludeTypes},
	} {
		if *list.to, err = ParsePatterns(list.flag, list.texts); err != nil {
			return nil, err
		}
	}
	if err := p.CheckTimes(); err != nil {
		return nil, err
	}
	if p.throttles, err = pattern.ParseThrottles(o.Throttle); err != nil {
		return nil, config.Usagef("--throttle: %w", err)
	}
	if p.repeats, err = pattern.ParseNumbered(formats.Split(o.Repeat), 0, 0); err != nil {
		return nil, config.Usagef("--repeat: %w", err)
	}
	if p.episodes, err = o.Selection(); err != nil {
		return nil, err
	}
	if p.Prefix != "" && (!strings.HasPrefix(p.Prefix, "/") || strings.HasSuffix(p.Prefix, "/")) {
		return nil, config.Usagef("--prefix %s: want /PREFIX, without / at its end", p.Prefix)
	}
	if p.names, err = bridge.NewNames(bridge.Options{Name: "converter", Remaps: o.Remap}); err != nil {
		return nil, config.Usagef("--remap: %w", err)
	}
	if o.Restamp && o.Offset == 0 && !o.AlignStarts {
		return nil, config.Usagef("--restamp says that --offset and --align-starts move stamps, too, but neither is " +
			"given")
	}
	return p, nil
}

// rename returns the name of a topic in the output.
func (p *plan) rename(topic string) string {
	if len(p.Remap) > 0 {
		// A rule cannot match a name that is not valid in ROS 2.
		if renamed, err := p.names.Topic(topic); err == nil && !strings.HasPrefix(topic, "~") && renamed != "/"+topic {
			topic = renamed
		}
	}
	if p.Prefix != "" {
		topic = p.Prefix + "/" + strings.TrimPrefix(topic, "/")
	}
	return topic
}

// window returns the time that is selected of recordings from first to last, which are 0 if they are empty; start and
// end are as in codec.Query. It warns if not all of that time is in them.
func (p *plan) window(first, last int64, warn func(string)) (start, end int64, err error) {
	if last == 0 {
		return 0, 0, nil
	}
	start, end, outside, err := p.Select(first, last)
	if outside != "" {
		warn(outside)
	}
	if start <= first {
		start = 0
	}
	return start, end, err
}

// create returns the options of the output's writer.
func (p *plan) create(metadata map[string]string) codec.CreateOptions {
	return codec.CreateOptions{
		ChunkSize: int(p.ChunkSize), Compression: p.Compression, Metadata: metadata,
	}
}

func (p *plan) limits() series.SplitLimits {
	return series.SplitLimits{Bytes: int64(p.MaxBagSize), Duration: p.MaxBagDuration, Messages: p.MaxBagMessages}
}
