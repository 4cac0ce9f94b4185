package formats

import (
	_ "embed"
	"strings"

	"tapedeck/bridge/recordings"
	"tapedeck/bridge/translate/carla"
	"tapedeck/bridge/translate/mavros"
	"tapedeck/codec"
	"tapedeck/codec/format/lerobot"
	"tapedeck/codec/format/mp4"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/codec/format/table"
	"tapedeck/codec/format/track"
	"tapedeck/codec/store"
	"tapedeck/codec/training/episode"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats/live"
)

// optionTexts are the help texts of options: see config.Described.
//
//go:embed options.txt
var optionTexts string

// Options has the options that each belong to one format. Nodes embed it as parameters.
type Options struct {
	Rosbag2Options
	EpisodeOptions
	HDF5Options
	LeRobotOptions
	live.CARLAOptions
	live.ChunkOptions
	FlightOptions
	TableOptions
	TrackOptions
}

// OptionTexts returns the help texts of the options.
func (*Options) OptionTexts() string { return optionTexts }

// TableOptions are the options of package table.
type TableOptions = table.Options

// DefaultOptions returns the default options.
func DefaultOptions() Options {
	return Options{
		ChunkOptions:   live.ChunkOptions{ChunkGroups: live.GroupsOne},
		EpisodeOptions: EpisodeOptions{JointUnit: unitAuto},
		HDF5Options:    HDF5Options{Images: "vlen", Quality: 95},
		LeRobotOptions: LeRobotOptions{Holes: lerobot.HolesRefuse, State: lerobot.StateJoint},
		TableOptions:   table.DefaultOptions(),
	}
}

// Rosbag2Options are the options of ROS 2 bags.
type Rosbag2Options struct {
	CompressionMode string `param:"compression_mode" group:"Output"`
	Storage         string `param:"storage" short:"s" group:"Output"`
	Version         int    `param:"metadata_version" group:"Output" min:"0"`
}

// rosbag2 returns the format of bags with these options.
func (o *Options) rosbag2() codec.Format { return rosbag2.Options(o.Rosbag2Options).Format() }

// TrackOptions are the options of package track.
type TrackOptions = track.Options

func (o *Options) mp4() codec.Format { return mp4.Options{Codec: o.VideoCodec}.Format() }

// EpisodeOptions are options about the episodes of the inputs, for all formats of the output.
type EpisodeOptions struct {
	Only         string `param:"episodes" group:"Episodes" value:"LIST"`
	OmitEpisodes string `param:"leave_out_episodes" group:"Episodes" value:"LIST"`
	JointUnit    string `param:"joint_unit" group:"Episodes" options:"auto|rad|deg"`
}

// ImagesRaw is the value of HDF5Options.Images for pixels, also in recordings of messages.
const ImagesRaw = "raw"

// unitAuto keeps units of joints, also unknown ones, and writes HDF5 files in rad.
const unitAuto = "auto"

// Unit returns the chosen unit of joints, "" if none is chosen.
func (o *EpisodeOptions) Unit() string {
	if o.JointUnit == unitAuto {
		return ""
	}
	return o.JointUnit
}

// Selection returns the selection of episodes.
func (o *EpisodeOptions) Selection() (*episode.Selection, error) {
	s := &episode.Selection{JointUnit: o.Unit()}
	for flag, list := range map[string]struct {
		text string
		to   *episode.Numbers
	}{"episodes": {o.Only, &s.Only}, "leave-out-episodes": {o.OmitEpisodes, &s.OmitEpisodes}} {
		if list.text == "" {
			continue
		}
		var err error
		*list.to, err = episode.ParseNumbers(list.text)
		if err != nil {
			return nil, config.Usagef("--%s: %w", flag, err)
		}
	}
	return s, nil
}

// HDF5Options are the options of package hdf5.
type HDF5Options struct {
	Images      string   `param:"images" group:"HDF5" options:"vlen|padded|raw"`
	SwapRB      bool     `param:"swap_rb" group:"HDF5"`
	Quality     int      `param:"quality" group:"HDF5" min:"1" max:"100"`
	CameraLinks []string `param:"camera_links" group:"HDF5" value:"LINK=CAMERA"`
	LinkFile    string   `param:"link_file" group:"HDF5" value:"FILE"`
}

// LeRobotOptions are the options of package lerobot.
type LeRobotOptions struct {
	Holes         string      `param:"holes" group:"LeRobot" options:"refuse|split"`
	State         string      `param:"state" group:"LeRobot" options:"joint|pose"`
	RobotType     string      `param:"robot_type" group:"LeRobot"`
	CameraNames   []string    `param:"camera_names" group:"LeRobot" value:"CAMERA=NAME"`
	Video         bool        `param:"video" group:"LeRobot"`
	VideoCodec    string      `param:"video_codec" group:"LeRobot" value:"CODEC"`
	DataFileSize  config.Size `param:"data_file_size" group:"LeRobot" min:"0"`
	VideoFileSize config.Size `param:"video_file_size" group:"LeRobot" min:"0"`
}

// KeepPixels stores images other than JPEGs as pixels. No flag has this value of Images.
func (o *HDF5Options) KeepPixels() { o.Images = "keep" }

// SplitHoles makes each run of rows between missing rows an episode.
func (o *LeRobotOptions) SplitHoles() { o.Holes = lerobot.HolesSplit }

// lerobot returns the options for package lerobot.
func (o *LeRobotOptions) lerobot() (lerobot.Options, error) {
	l := lerobot.Options{
		Holes: o.Holes, State: o.State, RobotType: o.RobotType, Video: o.Video, Codec: o.VideoCodec,
		DataFileSize: int64(o.DataFileSize), VideoFileSize: int64(o.VideoFileSize),
	}
	var err error
	l.Cameras, err = Pairs("camera-names", "CAMERA=NAME", o.CameraNames, true)
	return l, err
}

// DefinitionOptions name folders with definitions that recordings lack.
type DefinitionOptions struct {
	DefinitionPaths []string `param:"definition_paths" group:"Messages" value:"FOLDER"`
}

// OptionTexts returns the help texts of the options.
func (*DefinitionOptions) OptionTexts() string { return optionTexts }

// FlightOptions decide how flight logs become ROS 2 messages.
type FlightOptions struct {
	Raw      bool `param:"raw" group:"Flight logs"`
	Standard bool `param:"standard_messages" group:"Flight logs"`
}

// OptionTexts returns the help texts of the options.
func (*FlightOptions) OptionTexts() string { return optionTexts }

// ReadOptions decide how recordings become ROS 2 messages if formats have a choice. They are parameters of the player.
type ReadOptions struct {
	Interpolate     float64 `param:"interpolate" group:"CARLA" min:"0" max:"1000" value:"HZ"`
	Follow          string  `param:"follow" group:"CARLA" value:"ACTOR"`
	IgnoreHero      bool    `param:"ignore_hero" group:"CARLA"`
	IgnoreSpectator bool    `param:"ignore_spectator" group:"CARLA"`
	FlightOptions
	DefinitionOptions
}

// OptionTexts returns the help texts of the options.
func (*ReadOptions) OptionTexts() string { return optionTexts }

// Options returns the options for opening recordings of the formats l as ROS 2 messages.
func (o *ReadOptions) Options(l List, files *store.Files) recordings.Options {
	return recordings.Options{
		Formats: l.Codecs(), Files: files, Definitions: o.DefinitionPaths, Standard: o.Standard,
		CARLA: carla.ReadOptions{Rate: o.Interpolate, Follow: o.Follow, IgnoreHero: o.IgnoreHero,
			IgnoreSpectator: o.IgnoreSpectator},
		MAVLink: mavros.ReadOptions{Raw: o.Raw},
	}
}

// Pairs parses the values of a flag, KEY=VALUE. The result is nil if there are none.
func Pairs(flag, want string, texts []string, empty bool) (m map[string]string, err error) {
	for _, text := range Split(texts) {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" || value == "" && !empty {
			return nil, config.Usagef("--%s %q: want %s", flag, text, want)
		}
		if m == nil {
			m = map[string]string{}
		}
		m[key] = value
	}
	return m, nil
}

// Split splits lists with commas. A text with { is a regular expression such as x{1,2} and is not split. Names of
// topics have no commas.
func Split(texts []string) []string {
	var all []string
	for _, text := range texts {
		if strings.Contains(text, "{") {
			all = append(all, text)
		} else {
			all = append(all, strings.Split(text, ",")...)
		}
	}
	return all
}
