package convert

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tapedeck/bridge/translate/robot"
	"tapedeck/codec/training/align"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
)

// RobotOptions map topics to arms and cameras of a robot, for formats that keep episodes.
type RobotOptions struct {
	Mapping string `param:"mapping" alias:"robot-mapping" group:"Robot" value:"FILE"`
	Task    string `param:"task" group:"Robot"`
	Stamps  string `param:"stamps" group:"Robot" options:"auto|header|receive"`

	GripperRange []string `param:"gripper_range" group:"Robot" value:"[ARM=]CLOSED:OPEN"`
}

// gripperRange holds the positions in which the gripper of an arm is closed and open.
type gripperRange struct {
	arm  string // "": any arm
	ends [2]float64
}

// gripperRanges parses GripperRange.
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

// mapping loads the mapping, nil if none is given.
func (o *RobotOptions) mapping() (m *robot.Mapping, err error) {
	if o.Mapping == "" {
		return nil, nil
	}
	m, err = robot.LoadMapping(o.Mapping)
	if err != nil {
		return nil, fmt.Errorf("--mapping: %w", err)
	}
	return m, nil
}

// AlignOptions are the options of package align. The timeline may also be timelineAuto, and elements of lists may be
// lists with commas.
type AlignOptions = align.Options

// timelineAuto stands for the times of the first camera, or for its rate in formats with a fixed rate.
const timelineAuto = "auto"

func defaultAlignOptions() AlignOptions {
	o := align.DefaultOptions()
	o.Timeline = timelineAuto
	return o
}

// alignOptions returns the checked options of package align, with lists taken apart.
func (s *settings) alignOptions() (AlignOptions, error) {
	o := s.AlignOptions
	o.HoldColumns, o.LinearColumns = formats.Split(o.HoldColumns), formats.Split(o.LinearColumns)
	o.Optional = formats.Split(o.Optional)
	if o.Timeline == timelineAuto {
		o.Timeline = align.TimelineCamera
	}
	if err := o.Check(); err != nil {
		return o, config.Usagef("--%w", err)
	}
	switch {
	case o.UnionWindow != 0 && o.Timeline != align.TimelineUnion:
		return o, config.Usagef("--union-window is for --timeline union")
	case o.MaxExtrapolation != 0 && o.Ends != align.EndsClamp:
		return o, config.Usagef("--max-extrapolation is for --ends clamp")
	}
	return o, nil
}
