package recorder

import (
	"cmp"
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tapedeck/bridge/translate/robot"
	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/internal/confine"
	"tapedeck/nodes/internal/filter/pattern"
	"tapedeck/nodes/internal/fleet/contract"
	"tapedeck/nodes/internal/formats/live"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/selection"
)

//go:generate env UPDATE_REFERENCE=1 go test -count=1 -run ^TestEveryOption .

// optionTexts are the help texts of options: see config.Described.
//
//go:embed options.txt
var optionTexts string

// options are the recorder's parameters. Each is a flag, a ROS parameter and a line of config/recorder.yaml.
type options struct {
	selection.TopicOptions
	outputOptions
	splitOptions
	limitOptions
	diskOptions
	uploadOptions
	memoryOptions
	snapshotOptions
	live.CARLAOptions
	sessionOptions
	contractOptions
	statusOptions
	pageOptions
	announceOptions
	graph.Options
}

func (*options) OptionTexts() string { return optionTexts }

// Values of the option sync.
const (
	syncNone     = "none"
	syncInterval = "interval"
	syncAlways   = "always"
)

// Values of the option split_names.
const (
	namesNumber = "number"
	namesTime   = "time"
)

// outputOptions are the name, format and settings of the files.
type outputOptions struct {
	Output        string        `param:"output" short:"o" alias:"output-name" group:"Output" value:"NAME"`
	OutputPrefix  string        `param:"output_prefix" group:"Output" value:"NAME"`
	Storage       string        `param:"storage" short:"s" group:"Output" value:"FORMAT"`
	Overwrite     bool          `param:"overwrite" group:"Output"`
	Compression   string        `param:"compression" alias:"compression-format" group:"Output" options:"none|lz4|zstd"`
	ChunkSize     config.Size   `param:"chunk_size" alias:"chunksize:KiB" group:"Output" min:"0" max:"1GiB"`
	ChunkDuration time.Duration `param:"chunk_duration" group:"Output" min:"1ms"`
	Sync          string        `param:"sync" group:"Output" options:"none|interval|always"`
	SyncInterval  time.Duration `param:"sync_interval" group:"Output" min:"10ms"`
	CustomData    []string      `param:"custom_data" several:"words" group:"Output" value:"KEY=VALUE"`
	ServiceRoot   string        `param:"service_root" group:"Output" value:"FOLDER"`
	live.ChunkOptions
}

// format returns the format of the recording, nil if check rejects the options.
func (o *outputOptions) format() *live.Format {
	f, _ := live.Choose(o.Storage, o.Output)
	return f
}

// serviceRoot returns the folder that services are confined to, for a recording with a name.
func (o *outputOptions) serviceRoot(name string) confine.Folder {
	if o.ServiceRoot != "" {
		return confine.ServiceRoot(o.ServiceRoot)
	}
	return confine.In(filepath.Dir(o.format().Path(name)))
}

// splitOptions are the limits of files.
type splitOptions struct {
	MaxBagSize           config.Size   `param:"max_bag_size" short:"b" group:"Splits" min:"64kB" zero:"true"`
	MaxBagDuration       time.Duration `param:"max_bag_duration" short:"d" group:"Splits" min:"0"`
	MaxBagMessages       uint64        `param:"max_bag_messages" group:"Splits"`
	Split                bool          `param:"split" group:"Splits"`
	MaxBagFiles          int           `param:"max_bag_files" alias:"max-splits" group:"Splits" min:"0"`
	SplitNames           string        `param:"split_names" group:"Splits" options:"number|time"`
	RepeatLatched        bool          `param:"repeat_latched" group:"Splits"`
	RepeatTransientLocal []string      `param:"repeat_transient_local" several:"words" group:"Splits" value:"TOPIC[=N]"`
}

// limitOptions are the limits of a recording.
type limitOptions struct {
	MaxDuration          time.Duration `param:"max_duration" group:"Limits" min:"0"`
	MaxRecordingSize     config.Size   `param:"max_recording_size" group:"Limits"`
	MaxRecordingMessages uint64        `param:"max_recording_messages" group:"Limits"`
	Limit                uint64        `param:"limit" short:"l" group:"Limits"`
	StartPaused          bool          `param:"start_paused" group:"Limits"`
}

// diskOptions are about the free space of the disk.
type diskOptions struct {
	MinSpace       string `param:"min_space" short:"L" alias:"min-free-space" group:"Disk" value:"SIZE"`
	LowSpaceAction string `param:"low_space_action" group:"Disk" options:"stop|delete-oldest|pause|delete-uploaded"`
}

// memoryOptions are about the queue.
type memoryOptions struct {
	QueueSize config.Size `param:"queue_size" alias:"max-cache-size,buffsize:MiB" group:"Memory" min:"1MiB"`
	Priority  []string    `param:"priority" group:"Memory" value:"TOPIC=N"`
}

// statusOptions are about where the status is shown.
type statusOptions struct {
	KeyboardOff bool `param:"disable_keyboard_controls" group:"Status"`
	Quiet       bool `param:"quiet" short:"q" group:"Status"`
	Diagnostics bool `param:"diagnostics" group:"Status"`
}

// splitByDuration applies the option split: max_duration becomes the limit of each file.
func (o *options) splitByDuration() error {
	switch {
	case !o.Split:
		return nil
	case o.MaxDuration > 0 && o.MaxBagDuration > 0:
		return config.Usagef("max_duration, max_bag_duration: give one of them with --split")
	case o.MaxDuration > 0:
		o.MaxBagDuration, o.MaxDuration = o.MaxDuration, 0
	case o.MaxBagSize == 0 && o.MaxBagDuration == 0 && o.MaxBagMessages == 0:
		return config.Usagef("split: say when, by --max-bag-size, --max-bag-duration or --max-bag-messages")
	}
	return nil
}

// check returns a usage error for options that are invalid or exclude each other. topics are the named topics.
func (o *options) check(topics []string) error {
	if store.IsURL(o.Output) {
		return config.Usagef("output: %s is a URL; record into a folder, and let --upload send the files to a store",
			o.Output)
	}
	if strings.HasSuffix(o.Output, "/") {
		if _, err := os.Stat(o.Output); err == nil {
			return config.Usagef("output: %s is a folder; name the recording in it: -o %[1]sNAME", o.Output)
		}
	}
	if o.Page != "" {
		if _, err := net.ResolveTCPAddr("tcp", o.Page); err != nil {
			return config.Usagef("page: %w; want :PORT or ADDRESS:PORT", err)
		}
	}
	format, err := live.Choose(o.Storage, o.Output)
	if err != nil {
		return err
	}
	if !format.Compresses && o.Compression != "none" {
		return config.Usagef("compression: the format %s has none; use %s", format.Name,
			live.Flags(func(f *live.Format) bool { return f.Compresses }))
	}
	if format.Composer == nil && o.CARLAOptions != (live.CARLAOptions{}) {
		return config.Usagef("carla_mapping, carla_profile: they are for --storage carla")
	}
	if format.Robot == nil && o.RobotMapping+o.Hardware != "" {
		return config.Usagef("robot_mapping, hardware: they are for --storage session")
	}
	if o.Output != "" && o.OutputPrefix != "" {
		return config.Usagef("output, output_prefix: give one of them")
	}
	for _, path := range o.DefinitionPaths {
		if _, err := os.Stat(path); err != nil {
			return config.Usagef("definition_paths: %w", err)
		}
	}
	if err := cmp.Or(o.snapshotOptions.check(), o.checkLimits()); err != nil {
		return err
	}
	if err := o.checkUpload(); err != nil {
		return err
	}
	if _, err := o.settle(); err != nil { // before Nothing: an invalid mapping has no topics
		return err
	}
	if len(o.CustomData) > 0 && !format.Metadata {
		return config.Usagef("custom_data: the format %s keeps none; use %s", format.Name,
			live.Flags(func(f *live.Format) bool { return f.Metadata }))
	}
	if o.Nothing(topics) {
		return config.Usagef("nothing to record: name topics, or use --all, --regex, --node or --topic-types")
	}
	return nil
}

// intent describes what the recorder is going to do, for the log: "recording to drive.mcap in the format mcap; splits
// each 1m0s".
func (o *options) intent(path string) string {
	list := []string{"recording to " + path}
	if o.SnapshotMode {
		list[0] = "recording snapshots only,"
	}
	list[0] += " in the format " + o.format().Name
	if o.Storage == live.AutoStorage && (filepath.Ext(o.Output) == "" || !o.format().Named(o.Output)) {
		how := "--storage mcap-file"
		if o.Output != "" {
			how = "-o " + filepath.Clean(o.Output) + ".mcap"
		}
		list[0] += " (Apollo's; for MCAP: " + how + ")"
	}
	add := func(wanted bool, format string, args ...any) {
		if wanted {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	add(o.All && !o.AllServices && !o.AllActions,
		"all topics, without the services and actions that --all-services and --all-actions add")
	add(o.StartPaused, "paused until resumed")
	add(o.MaxBagDuration > 0, "splits each %v", o.MaxBagDuration)
	add(o.MaxBagSize > 0, "splits before %v", o.MaxBagSize)
	add(o.MaxBagMessages > 0, "splits after %s", human.Count(o.MaxBagMessages, "message"))
	add(o.MaxBagFiles > 0, "keeps the last %s", human.Count(o.MaxBagFiles, "file"))
	add(o.MaxDuration > 0, "stops after %v", o.MaxDuration)
	add(o.MaxRecordingSize > 0, "stops before %v", o.MaxRecordingSize)
	add(o.MaxRecordingMessages > 0, "stops after %s", human.Count(o.MaxRecordingMessages, "message"))
	add(o.Limit > 0, "records %s of each topic", human.Count(o.Limit, "message"))
	return strings.Join(list, "; ")
}

// unsplitWarning returns a warning if options delete the oldest files, but no option splits the recording, else "".
func (o *options) unsplitWarning() string {
	if o.SnapshotMode || o.format().Robot != nil || o.MaxBagSize > 0 || o.MaxBagDuration > 0 ||
		o.MaxBagMessages > 0 {
		return ""
	}
	var option string
	switch {
	case o.MaxBagFiles > 0:
		option = "max_bag_files"
	case o.LowSpaceAction == diskguard.Delete:
		option = "low_space_action delete-oldest"
	default:
		return ""
	}
	return option + ": the recording is split only on request, and its only file is not deleted; add --max-bag-size, " +
		"--max-bag-duration or --max-bag-messages"
}

// settings are the values of options that must be parsed.
type settings struct {
	throttles  []pattern.ThrottleRule
	priorities []pattern.Numbered // priorities of topics in the queue
	repeats    []pattern.Numbered // numbers of messages of topics that each file repeats
	reserve    diskguard.Reserve  // space of the disk that must stay free
	metadata   map[string]string
	groups     func(*codec.Channel, int) string // codec.CreateOptions.ChunkGroups

	composer live.Composer      // composer of the format; nil: ROS 2 messages are written one by one
	expected *contract.Contract // nil: there is no contract
	robot    *robot.Mapping     // mapping of topics for sessions; nil: by names and types of topics
}

// settle parses the options. It returns usage errors.
func (o *options) settle() (s settings, err error) {
	s.throttles, err = pattern.ParseThrottles(o.Throttle)
	if err != nil {
		return s, config.Usagef("throttle: %w", err)
	}
	s.priorities, err = pattern.ParseNumbered(o.Priority, 0, 1)
	if err != nil {
		return s, config.Usagef("priority: %w", err)
	}
	s.repeats, err = pattern.ParseNumbered(o.RepeatTransientLocal, 0, 0)
	if err != nil {
		return s, config.Usagef("repeat_transient_local: %w", err)
	}
	s.reserve, err = diskguard.ParseReserve(o.MinSpace)
	if err != nil {
		return s, config.Usagef("min_space: %w", err)
	}
	s.groups, err = o.Groups()
	if err != nil {
		return s, err
	}
	if composer := o.format().Composer; composer != nil {
		s.composer, err = composer(&o.CARLAOptions)
		if err != nil {
			return s, config.Usagef("%w", err)
		}
	}
	s.expected, err = o.contract()
	if err != nil {
		return s, config.Usagef("%w", err)
	}
	s.robot, err = o.mapping()
	if err != nil {
		return s, config.Usagef("%w", err)
	}
	s.metadata, err = parseData(o.CustomData)
	if err != nil {
		return s, config.Usagef("custom_data: %w", err)
	}
	return s, nil
}

func defaultOptions() options {
	return options{
		outputOptions: outputOptions{
			Storage: live.AutoStorage, Compression: "none", ChunkDuration: time.Second,
			Sync: syncInterval, SyncInterval: time.Second,
			ChunkOptions: live.ChunkOptions{ChunkGroups: live.GroupsOne},
		},
		splitOptions:    splitOptions{RepeatLatched: true, SplitNames: namesNumber},
		diskOptions:     diskOptions{MinSpace: "auto", LowSpaceAction: diskguard.Stop},
		memoryOptions:   memoryOptions{QueueSize: 256 << 20},
		snapshotOptions: defaultSnapshotOptions(),
		statusOptions:   statusOptions{Diagnostics: true},
		announceOptions: announceOptions{StatsMaxPublishingRate: 1},
	}
}

// announceOptions are about events that are published for other nodes.
type announceOptions struct {
	Publish                bool    `param:"publish" group:"Status"`
	StatsMaxPublishingRate float64 `param:"stats_max_publishing_rate" group:"Status" min:"0" max:"1000"`
}
