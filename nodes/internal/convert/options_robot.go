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
		Timeline: timelineAuto, Ends: align.EndsDrop, Gaps: align.GapsDrop, Image: align.ImageNearest,
		MissingImage: align.MissingDrop,
		Action:       align.ActionAuto,
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
	return a, nil
}
