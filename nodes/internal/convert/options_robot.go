package convert

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tapedeck/bridge/robot"
	"tapedeck/codec/align"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
)

// RobotOptions say which topics belong to which part of a robot, for formats that keep episodes.
type RobotOptions struct {
	Mapping string `param:"mapping" alias:"robot-mapping" group:"Robot" value:"FILE" help:"YAML FILE that says which topics are cameras and arms, and what an episode is (see config/robot_mapping.yaml); by default derived from topic names and types"`
	Task    string `param:"task" group:"Robot" help:"task that the episodes show, in words; by default taken from the recording or the mapping"`
	Stamps  string `param:"stamps" group:"Robot" options:"auto|header|receive" help:"time of each sample: the stamp in its header, or when it was received; auto follows the mapping, else header"`

	GripperRange []string `param:"gripper_range" group:"Robot" value:"[ARM=]CLOSED:OPEN" help:"gripper positions when closed and when open, for example 0:1000 or arm_0=0:0.085; by default taken from the recording or the mapping"`
}

// gripperRange holds the positions in which the gripper of an arm is closed and open.
type gripperRange struct {
	arm  string // "" is any
	ends [2]float64
}

// gripperRanges reads GripperRange.
func (o *RobotOptions) gripperRanges() (list []gripperRange, err error) {
	for _, text := range formats.Split(o.GripperRange) {
		arm, ends, named := strings.Cut(text, "=")
		if !named {
			arm, ends = "", text
		}
		closed, open, _ := strings.Cut(ends, ":")
		r := gripperRange{arm: arm}
		var errs [2]error
		r.ends[0], errs[0] = strconv.ParseFloat(closed, 64)
		r.ends[1], errs[1] = strconv.ParseFloat(open, 64)
		if errors.Join(errs[:]...) != nil || r.ends[0]-r.ends[1] == 0 || r.ends[0]-r.ends[0] != 0 ||
			r.ends[1]-r.ends[1] != 0 {
			return nil, config.Usagef("--gripper-range %q: want CLOSED:OPEN or ARM=CLOSED:OPEN, as in arm_0=0:0.085",
				text)
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

// AlignOptions are the options of package align.
type AlignOptions struct {
	Timeline         string        `param:"timeline" group:"Alignment" value:"TIMELINE" help:"what gets a row: each frame of the first camera (camera), of another one (camera:NAME) or of all (union), each sample of a stream (topic:NAME), or a fixed number per second (fixed:30); auto is camera, or for lerobot fixed at the rate of the first camera"`
	UnionWindow      time.Duration `param:"union_window" group:"Alignment" min:"0" help:"with timeline union, frames at most this far apart share a row; 0 means the same millisecond"`
	Ends             string        `param:"ends" group:"Alignment" options:"drop|clamp" help:"rows before the first or after the last sample of a stream: drop them, or repeat that sample (clamp)"`
	MaxExtrapolation time.Duration `param:"max_extrapolation" group:"Alignment" help:"how far clamp may reach; 0 is the median period of the stream, negative is unlimited"`
	MaxGap           time.Duration `param:"max_gap" group:"Alignment" help:"do not interpolate between samples farther apart than this; 0 is five median periods, but at least 100 ms; negative is unlimited"`
	Gaps             string        `param:"gaps" group:"Alignment" options:"drop|nan" help:"rows inside such gaps: drop them, or fill them with NaN"`
	Image            string        `param:"image" group:"Alignment" options:"nearest|asof" help:"image of a row: the nearest one, or the latest one by then (asof)"`
	MaxImageSkew     time.Duration `param:"max_image_skew" group:"Alignment" help:"largest time between a row and its image; 0 is half the median period of the camera, or all of it with asof; negative is unlimited"`
	MissingImage     string        `param:"missing_image" group:"Alignment" options:"drop|hold|black" help:"rows without an image: drop them, repeat the latest image by then (hold), or use a black one"`
	Causal           bool          `param:"causal" group:"Alignment" help:"use only what was known at the time of each row: no interpolation, and images asof"`
	Action           string        `param:"action" group:"Alignment" options:"auto|command|next-state|copy" help:"action of a row: the last command (command), the state of the next row (next-state) or of the same row (copy); auto is command if there are commands, else next-state"`
	ContinuousJoints bool          `param:"continuous_joints" group:"Alignment" help:"joints can turn without end: assume that they turn at most half a turn between two samples"`
	HoldColumns      []string      `param:"hold_columns" group:"Alignment" value:"COLUMN" help:"do not interpolate COLUMN, such as status or arm_0/gripper/status, but repeat the previous sample"`
	LinearColumns    []string      `param:"linear_columns" group:"Alignment" value:"COLUMN" help:"interpolate COLUMN, although it holds only a few whole numbers"`
	Optional         []string      `param:"optional" group:"Alignment" value:"STREAM" help:"do not drop rows that lack STREAM (a name or a topic): write NaN, or a black image"`
	Partial          bool          `param:"partial" group:"Alignment" help:"accept episodes without cameras or without arms, and recordings that lack topics of the mapping or files, such as videos"`
}

// timelineAuto is the first camera, or its rate for formats with a fixed rate.
const timelineAuto = "auto"

func defaultAlignOptions() AlignOptions {
	return AlignOptions{
		Timeline: timelineAuto, Ends: align.EndsDrop, Gaps: align.GapsDrop, Image: align.ImageNearest,
		MissingImage: align.MissingDrop,
		Action:       align.ActionAuto,
	}
}

// options returns the options in the form of package align.
func (o *AlignOptions) options() (align.Options, error) {
	unlimited := func(d time.Duration) time.Duration {
		if d < 0 {
			return align.Unlimited
		}
		return d
	}
	a := align.Options{
		Timeline: o.Timeline, UnionWindow: o.UnionWindow, Ends: o.Ends, MaxExtrapolation: unlimited(o.MaxExtrapolation),
		MaxGap: unlimited(o.MaxGap),
		Gaps:   o.Gaps, Image: o.Image, MaxImageSkew: unlimited(o.MaxImageSkew), MissingImage: o.MissingImage,
		Causal: o.Causal, Action: o.Action,
		ContinuousJoints: o.ContinuousJoints, HoldColumns: formats.Split(o.HoldColumns),
		LinearColumns: formats.Split(o.LinearColumns), Optional: formats.Split(o.Optional),
		Partial: o.Partial,
	}
	if a.Timeline == timelineAuto {
		a.Timeline = align.TimelineCamera
	}
	if err := a.Check(); err != nil {
		return a, config.Usagef("--%w", err)
	}
	switch {
	case o.UnionWindow != 0 && o.Timeline != align.TimelineUnion:
		return a, config.Usagef("--union-window is for --timeline union")
	case o.MaxExtrapolation != 0 && o.Ends != align.EndsClamp:
		return a, config.Usagef("--max-extrapolation is for --ends clamp")
	}
	return a, nil
}
