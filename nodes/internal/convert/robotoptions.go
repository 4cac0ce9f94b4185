package convert

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tapedeck/bridge/robot"
	"tapedeck/codec/align"
	"tapedeck/codec/hdf5"
	"tapedeck/codec/lerobot"
	"tapedeck/config"
)

// RobotOptions say what of a recording is what of a robot, for formats that keep episodes.
type RobotOptions struct {
	Mapping string `param:"mapping" alias:"robot-mapping" group:"Robot" value:"FILE" help:"YAML FILE with the topics that are cameras and arms, and what is an episode, as config/robot_mapping.yaml; by default names and types tell"`
	Task    string `param:"task" group:"Robot" help:"what is done in the episodes, in words; by default what they or the mapping say"`
	Stamps  string `param:"stamps" group:"Robot" options:"auto|header|receive" help:"the times of samples: those in headers, or when they were received; auto is as the mapping says, or header"`

	GripperRange []string `param:"gripper_range" group:"Robot" value:"[ARM=]CLOSED:OPEN" help:"positions of grippers that are closed and open, 0:1000 or arm_0=0:0.085; by default what recordings and the mapping say"`
}

// gripperRange is where the gripper of an arm is closed and open.
type gripperRange struct {
	arm  string // "" is any
	ends [2]float64
}

// gripperRanges reads GripperRange.
func (o *RobotOptions) gripperRanges() (list []gripperRange, err error) {
	for _, text := range Split(o.GripperRange) {
		arm, ends, named := strings.Cut(text, "=")
		if !named {
			arm, ends = "", text
		}
		closed, open, _ := strings.Cut(ends, ":")
		r := gripperRange{arm: arm}
		var errs [2]error
		r.ends[0], errs[0] = strconv.ParseFloat(closed, 64)
		r.ends[1], errs[1] = strconv.ParseFloat(open, 64)
		if errors.Join(errs[:]...) != nil || r.ends[0]-r.ends[1] == 0 || r.ends[0]-r.ends[0] != 0 || r.ends[1]-r.ends[1] != 0 {
			return nil, config.Usagef("--gripper-range %q: want CLOSED:OPEN or ARM=CLOSED:OPEN, as in arm_0=0:0.085", text)
		}
		list = append(list, r)
	}
	return list, nil
}

// mapping returns the mapping, nil if there is none.
func (o *RobotOptions) mapping() (m *robot.Mapping, err error) {
	if o.Mapping == "" {
		return nil, nil
	}
	if m, err = robot.LoadMapping(o.Mapping); err != nil {
		return nil, fmt.Errorf("--mapping: %w", err)
	}
	return m, nil
}

// AlignOptions are those of package align.
type AlignOptions struct {
	Timeline         string        `param:"timeline" group:"Alignment" value:"TIMELINE" help:"what there is a row for: each frame of the first camera (camera) or another one (camera:NAME), of all cameras (union), each sample of a stream (topic:NAME), or so many a second (fixed:30); auto is camera, and for lerobot fixed at the rate of the first camera"`
	UnionWindow      time.Duration `param:"union_window" group:"Alignment" min:"0" help:"frames of a union that are no farther apart share a row; 0 is the same millisecond"`
	Ends             string        `param:"ends" group:"Alignment" options:"drop|clamp" help:"rows before the first or behind the last sample of a stream: drop them, or take that sample"`
	MaxExtrapolation time.Duration `param:"max_extrapolation" group:"Alignment" help:"how far clamp goes; 0 is the median period of the stream, a negative one any way"`
	MaxGap           time.Duration `param:"max_gap" group:"Alignment" help:"there are no numbers between samples that are farther apart; 0 is five median periods and at least 100 ms, a negative one is no limit"`
	Gaps             string        `param:"gaps" group:"Alignment" options:"drop|nan" help:"rows in gaps: drop them, or have NaN in them"`
	Image            string        `param:"image" group:"Alignment" options:"nearest|asof" help:"the frame of a row: the nearest, or the latest that was there"`
	MaxImageSkew     time.Duration `param:"max_image_skew" group:"Alignment" help:"how far a frame may be from its row; 0 is half the median period of its camera, all of it with asof; a negative one is no limit"`
	MissingImage     string        `param:"missing_image" group:"Alignment" options:"drop|hold|black" help:"rows without a frame: drop them, take the latest one that was there, or a black one"`
	Causal           bool          `param:"causal" group:"Alignment" help:"rows know nothing that was not known at their time: no interpolation, and images asof"`
	Action           string        `param:"action" group:"Alignment" options:"auto|command|next-state|copy" help:"actions: what was told last (command), the state of the next row, or of the same; auto is command where there are any, else next-state"`
	ContinuousJoints bool          `param:"continuous_joints" group:"Alignment" help:"joints turn on and on: no turn between two samples is more than half a turn"`
	HoldColumns      []string      `param:"hold_columns" group:"Alignment" value:"COLUMN" help:"COLUMN, such as status or arm_0/gripper/status, has the value of the sample before"`
	LinearColumns    []string      `param:"linear_columns" group:"Alignment" value:"COLUMN" help:"COLUMN is interpolated, although it has few whole numbers"`
	Optional         []string      `param:"optional" group:"Alignment" value:"STREAM" help:"drop no row for want of STREAM, by name or topic: numbers are NaN then, frames black"`
	Partial          bool          `param:"partial" group:"Alignment" help:"episodes without cameras, or without arms, are all right"`
}

// timelineAuto is the camera, or what the format needs.
const timelineAuto = "auto"

func defaultAlignOptions() AlignOptions {
	return AlignOptions{
		Timeline: timelineAuto, Ends: align.EndsDrop, Gaps: align.GapsDrop, Image: align.ImageNearest, MissingImage: align.MissingDrop,
		Action: align.ActionAuto,
	}
}

// options returns them as package align has them.
func (o *AlignOptions) options() (align.Options, error) {
	unlimited := func(d time.Duration) time.Duration {
		if d < 0 {
			return align.Unlimited
		}
		return d
	}
	a := align.Options{
		Timeline: o.Timeline, UnionWindow: o.UnionWindow, Ends: o.Ends, MaxExtrapolation: unlimited(o.MaxExtrapolation), MaxGap: unlimited(o.MaxGap),
		Gaps: o.Gaps, Image: o.Image, MaxImageSkew: unlimited(o.MaxImageSkew), MissingImage: o.MissingImage, Causal: o.Causal, Action: o.Action,
		ContinuousJoints: o.ContinuousJoints, HoldColumns: Split(o.HoldColumns), LinearColumns: Split(o.LinearColumns), Optional: Split(o.Optional),
		Partial: o.Partial,
	}
	if a.Timeline == timelineAuto {
		a.Timeline = align.TimelineCamera
	}
	if err := a.Check(); err != nil {
		return a, config.Usagef("--%w", err)
	}
	return a, nil
}

// HDF5Options are those of package hdf5.
type HDF5Options struct {
	Images      string   `param:"images" group:"HDF5" options:"vlen|padded|raw" help:"JPEGs as long as they are, JPEGs padded to the longest one, or pixels, as the first ACT reads them"`
	JointUnit   string   `param:"joint_unit" group:"HDF5" options:"rad|deg" help:"of state and actions of arms; EasyTeleop has deg. It is rad in qpos, qvel and action"`
	SwapRB      bool     `param:"swap_rb" group:"HDF5" help:"exchange red and blue, for training code that decodes with OpenCV and expects RGB"`
	Quality     int      `param:"quality" group:"HDF5" min:"1" max:"100" help:"of JPEGs that have to be made; those that are there stay as they are"`
	CameraLinks []string `param:"camera_links" group:"HDF5" value:"LINK=CAMERA" help:"other names of cameras, cam_high=camera_1; by default cam_high, cam_low, cam_left_wrist and cam_right_wrist are those of camera_1, 2, 0 and 0"`
	LinkFile    string   `param:"link_file" group:"HDF5" value:"FILE" help:"where episodes have a file each, write FILE that has all of them, by links"`
}

func defaultHDF5Options() HDF5Options {
	return HDF5Options{Images: hdf5.ImagesVLen, JointUnit: hdf5.JointRad, Quality: 95}
}

// options returns them as package hdf5 has them.
func (o *HDF5Options) options() (hdf5.Options, error) {
	h := hdf5.Options{Images: o.Images, JointUnit: o.JointUnit, SwapRB: o.SwapRB, Quality: o.Quality}
	var err error
	h.Links, err = pairs("camera-links", "LINK=CAMERA", o.CameraLinks, false)
	return h, err
}

// LeRobotOptions are those of package lerobot.
type LeRobotOptions struct {
	Holes         string      `param:"holes" group:"LeRobot" options:"refuse|split" help:"episodes in which rows are missing between others: an error, or an episode for each stretch"`
	State         string      `param:"state" group:"LeRobot" options:"joint|pose" help:"observation.state and action: joints and grippers, or poses and grippers"`
	RobotType     string      `param:"robot_type" group:"LeRobot" help:"what the dataset calls the robot"`
	CameraNames   []string    `param:"camera_names" group:"LeRobot" value:"CAMERA=NAME" help:"features of cameras behind observation.images.; without a NAME the camera is left out"`
	Video         bool        `param:"video" group:"LeRobot" help:"pictures in videos, for which an ffmpeg must be installed"`
	VideoCodec    string      `param:"video_codec" group:"LeRobot" value:"CODEC" help:"encoder of ffmpeg's; by default libsvtav1, or libx264"`
	DataFileSize  config.Size `param:"data_file_size" group:"LeRobot" min:"0" help:"begin another file of numbers behind so many bytes; 0 is 100 MB"`
	VideoFileSize config.Size `param:"video_file_size" group:"LeRobot" min:"0" help:"begin another video behind so many bytes; 0 is 200 MB"`
}

func defaultLeRobotOptions() LeRobotOptions {
	return LeRobotOptions{Holes: lerobot.HolesRefuse, State: lerobot.StateJoint}
}

// options returns them as package lerobot has them.
func (o *LeRobotOptions) options() (lerobot.Options, error) {
	l := lerobot.Options{
		Holes: o.Holes, State: o.State, RobotType: o.RobotType, Video: o.Video, Codec: o.VideoCodec,
		DataFileSize: int64(o.DataFileSize), VideoFileSize: int64(o.VideoFileSize),
	}
	names, err := pairs("camera-names", "CAMERA=NAME", o.CameraNames, true)
	l.Cameras = names
	return l, err
}

// pairs reads the values of a flag, KEY=VALUE. nil is that there are none.
func pairs(flag, want string, texts []string, empty bool) (m map[string]string, err error) {
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
