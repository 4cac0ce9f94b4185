package convert

import (
	"crypto/sha256"
	_ "embed"
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

// optionTexts are the help texts of options: see config.Described.
//
//go:embed options.txt
var optionTexts string

// Options select the messages to convert, and the output. Each is a flag of the converter and a ROS parameter.
type Options struct {
	Topics  []string `param:"topics" short:"t" several:"names" group:"Selection"`
	Exclude []string `param:"exclude" short:"x" several:"names" group:"Selection"`

	Types        []string `param:"topic_types" several:"names" group:"Selection" value:"TYPE"`
	ExcludeTypes []string `param:"exclude_topic_types" several:"names" group:"Selection" value:"TYPE"`

	AllowUnmatched bool `param:"allow_unmatched" group:"Selection"`

	Throttle []string `param:"throttle" group:"Selection" value:"TOPIC=5Hz|1/10"`

	timerange.Range

	AlignStarts bool `param:"align_starts" group:"Changes"`

	Remap   []string      `param:"remap" short:"m" several:"rules" group:"Changes" value:"/from:=/to"`
	Prefix  string        `param:"prefix" group:"Changes" value:"/PREFIX"`
	Offset  time.Duration `param:"offset" group:"Changes"`
	Restamp bool          `param:"restamp" group:"Changes"`
	Order   string        `param:"message_order" group:"Changes" options:"received|sent|header"`

	Encoding  string `param:"encoding" group:"Messages" options:"auto|keep|cdr|ros1|protobuf"`
	Unmatched string `param:"unmatched" group:"Messages" options:"skip|raw|fail"`

	formats.DefinitionOptions

	Strict bool `param:"strict" group:"Messages"`

	To          string      `param:"to" group:"Output" value:"FORMAT"`
	ChunkSize   config.Size `param:"chunk_size" group:"Output" min:"0" max:"1073741824"`
	Compression string      `param:"compression" alias:"compression-format,output-compression" group:"Output"`
	Overwrite   bool        `param:"overwrite" group:"Output"`

	RobotOptions
	AlignOptions
	formats.Options

	MaxBagSize     config.Size   `param:"max_bag_size" short:"b" group:"Splits" min:"64kB" zero:"true"`
	MaxBagDuration time.Duration `param:"max_bag_duration" short:"d" group:"Splits" min:"0"`
	MaxBagMessages uint64        `param:"max_bag_messages" group:"Splits"`
	Latched        bool          `param:"latched" alias:"repeat-latched" group:"Splits"`
	Repeat         []string      `param:"repeat" several:"names" group:"Splits" value:"TOPIC[=N]"`
}

// OptionTexts returns the help texts of the options.
func (*Options) OptionTexts() string { return optionTexts }

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

// Changed returns the options that differ from the defaults and affect the output, by name. It adds hashes of the files
// that options name.
func (o *Options) Changed() map[string]string {
	defaults, changed := DefaultOptions(), map[string]string{}
	was := config.Parameters(&defaults)
	for i, p := range config.Parameters(o) {
		if p.Default != was[i].Default && p.Name != "overwrite" {
			changed[p.Name] = p.Default
		}
	}
	for name, path := range map[string]string{"mapping": o.Mapping, "carla_mapping": o.CARLAMapping} {
		if text, err := os.ReadFile(path); err == nil && path != "" { // the conversion reports errors
			changed["content of "+name] = fmt.Sprintf("%x", sha256.Sum256(text))
		}
	}
	return changed
}

// settings are parsed Options.
type settings struct {
	Options
	selection Selection
	names     *bridge.Names
	throttles []pattern.ThrottleRule
	repeats   []pattern.Numbered
	episodes  *episode.Selection
	groups    func(c *codec.Channel, size int) string // codec.CreateOptions.ChunkGroups
}

// parse parses the options that are texts.
func (o *Options) parse() (*settings, error) {
	s := &settings{Options: *o}
	var err error
	for _, list := range []struct {
		flag  string
		texts []string
		to    *pattern.Patterns
	}{
		{"topics", o.Topics, &s.selection.Include}, {"exclude", o.Exclude, &s.selection.Exclude},
		{"topic-types", o.Types, &s.selection.Types},
		{"exclude-topic-types", o.ExcludeTypes, &s.selection.ExcludeTypes},
	} {
		*list.to, err = ParsePatterns(list.flag, list.texts)
		if err != nil {
			return nil, err
		}
	}
	if err := s.CheckTimes(); err != nil {
		return nil, err
	}
	s.throttles, err = pattern.ParseThrottles(o.Throttle)
	if err != nil {
		return nil, config.Usagef("--throttle: %w", err)
	}
	s.repeats, err = pattern.ParseNumbered(formats.Split(o.Repeat), 0, 0)
	if err != nil {
		return nil, config.Usagef("--repeat: %w", err)
	}
	s.episodes, err = o.Selection()
	if err != nil {
		return nil, err
	}
	s.groups, err = o.Groups()
	if err != nil {
		return nil, err
	}
	if s.Prefix != "" && (!strings.HasPrefix(s.Prefix, "/") || strings.HasSuffix(s.Prefix, "/")) {
		return nil, config.Usagef("--prefix %s: want /PREFIX, without / at its end", s.Prefix)
	}
	s.names, err = bridge.NewNames(bridge.Options{Name: "converter", Remaps: o.Remap})
	if err != nil {
		return nil, config.Usagef("--remap: %w", err)
	}
	if o.Restamp && o.Offset == 0 && !o.AlignStarts {
		return nil, config.Usagef("--restamp says that --offset and --align-starts move stamps, too, but neither is " +
			"given")
	}
	return s, nil
}

// rename returns the name of a topic in the output.
func (s *settings) rename(topic string) string {
	if len(s.Remap) > 0 {
		// A rule cannot match a name that is not valid in ROS 2.
		if renamed, err := s.names.Topic(topic); err == nil && !strings.HasPrefix(topic, "~") && renamed != "/"+topic {
			topic = renamed
		}
	}
	if s.Prefix != "" {
		topic = s.Prefix + "/" + strings.TrimPrefix(topic, "/")
	}
	return topic
}

// window returns the selected time of recordings that last from first to last; both are 0 if the recordings are empty.
// The results are as in codec.Query. It warns if the selected time is partly outside of the recordings.
func (s *settings) window(first, last int64, warn func(string)) (start, end int64, err error) {
	if last == 0 {
		return 0, 0, nil
	}
	start, end, outside, err := s.Select(first, last)
	if outside != "" {
		warn(outside)
	}
	if start <= first {
		start = 0
	}
	return start, end, err
}

// createOptions returns the options for the output's writer.
func (s *settings) createOptions(metadata map[string]string) codec.CreateOptions {
	return codec.CreateOptions{
		ChunkSize: int(s.ChunkSize), ChunkGroups: s.groups, Compression: s.Compression, Metadata: metadata,
	}
}

func (s *settings) splitLimits() series.SplitLimits {
	return series.SplitLimits{Bytes: int64(s.MaxBagSize), Duration: s.MaxBagDuration, Messages: s.MaxBagMessages}
}
