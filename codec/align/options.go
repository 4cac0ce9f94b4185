package align

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Values of Options.
const (
	TimelineCamera = "camera" // the frames of a camera
	TimelineUnion  = "union"  // the frames of all cameras
	TimelineFixed  = "fixed"  // a fixed rate
	TimelineTopic  = "topic"  // the samples of a stream

	EndsDrop  = "drop"
	EndsClamp = "clamp"

	GapsDrop = "drop"
	GapsNaN  = "nan"

	ImageNearest = "nearest"
	ImageAsOf    = "asof"

	MissingDrop  = "drop"
	MissingHold  = "hold"
	MissingBlack = "black"

	ActionAuto      = "auto"
	ActionCommand   = "command"
	ActionNextState = "next-state"
	ActionCopy      = "copy"

	StampsHeader  = "header"
	StampsReceive = "receive"
)

// Unlimited is the duration that means no limit.
const Unlimited = time.Duration(-1)

// Options are the choices that there are in aligning. The zero Options are the defaults. The names of flags and
// parameters are those of Attributes, flags with - for _.
type Options struct {
	// Timeline says what there is a row for: "camera" (default), each frame of the first camera; "camera:NAME", of another
	// one; "union", each frame of any camera, and those of the same UnionWindow have one; "fixed:RATE", RATE times a
	// second, from where all streams have begun; "topic:NAME", each sample of a stream, by its topic or its name.
	Timeline string
	// UnionWindow is how far frames of a union are apart at most that share a row; 0 (default) is within the same
	// millisecond.
	UnionWindow time.Duration

	// Ends says what comes of rows before the first or behind the last sample of a stream: "drop" (default), or "clamp",
	// which takes that sample up to MaxExtrapolation from it. Commands hold for ever behind the last one.
	Ends string
	// MaxExtrapolation goes with "clamp"; 0 (default) is the stream's median period, Unlimited is no limit.
	MaxExtrapolation time.Duration
	// MaxGap is how far two samples are apart at most between which there are numbers, and if Causal how old a sample is
	// at most; 0 (default) is five median periods of the stream and at least 100 ms, Unlimited is no limit. Columns that
	// Hold know no gaps.
	MaxGap time.Duration
	// Gaps says what comes of rows in gaps, and of those with a number that no sample had told yet: "drop" (default), or
	// "nan", which is what these numbers are then.
	Gaps string

	// Image says which frame a row has: "nearest" (default), the earlier one of two, or "asof", the latest that was there.
	Image string
	// MaxImageSkew is how far a frame is from its row at most; 0 (default) is half the camera's median period, and all of
	// it with "asof", Unlimited is no limit.
	MaxImageSkew time.Duration
	// MissingImage says what comes of rows without such a frame: "drop" (default), "hold", which takes the latest that was
	// there, or "black".
	MissingImage string

	// Causal has rows know nothing that was not known at their time: all columns Hold, and Image is "asof".
	Causal bool

	// Action says what actions are: "command", what was told last; "next-state", the state of the next row, and of the
	// last row its own; "copy", the state of the same row. "auto" (default) is "command" as far as there are any, else
	// "next-state".
	Action string

	// Stamps says which times streams have: "header" (default), those that messages tell, or "receive", when they were
	// recorded. That is the business of who reads them.
	Stamps string

	// ContinuousJoints has joints Unwrap.
	ContinuousJoints bool
	// HoldColumns and LinearColumns are columns that are not what Auto has them be, each as "status" or as
	// "arm_0/gripper/status".
	HoldColumns   []string
	LinearColumns []string

	// Optional are streams, by their names or topics, that no row is dropped for: where they have none, numbers are NaN
	// and frames missing.
	Optional []string
	// Partial accepts takes without cameras or without numbers.
	Partial bool
}

// withDefaults returns o with the defaults filled in.
func (o Options) withDefaults() Options {
	for _, f := range o.fields() {
		if *f.value == "" {
			*f.value = f.choices[0]
		}
	}
	if o.Timeline == "" {
		o.Timeline = TimelineCamera
	}
	if o.Causal {
		o.Image = ImageAsOf
	}
	return o
}

// field is an option with a fixed set of values.
type field struct {
	name    string
	value   *string
	choices []string // the default first
}

func (o *Options) fields() []field {
	return []field{
		{"ends", &o.Ends, []string{EndsDrop, EndsClamp}},
		{"gaps", &o.Gaps, []string{GapsDrop, GapsNaN}},
		{"image", &o.Image, []string{ImageNearest, ImageAsOf}},
		{"missing_image", &o.MissingImage, []string{MissingDrop, MissingHold, MissingBlack}},
		{"action", &o.Action, []string{ActionAuto, ActionCommand, ActionNextState, ActionCopy}},
		{"stamps", &o.Stamps, []string{StampsHeader, StampsReceive}},
	}
}

// Check returns an error that names the first option with an invalid value.
func (o Options) Check() error {
	o = o.withDefaults()
	for _, f := range o.fields() {
		if !slices.Contains(f.choices, *f.value) {
			return fmt.Errorf("%s %q: it is one of %s", f.name, *f.value, strings.Join(f.choices, ", "))
		}
	}
	if o.UnionWindow < 0 {
		return fmt.Errorf("union_window %v: it is 0 or more", o.UnionWindow)
	}
	for _, name := range o.HoldColumns {
		if slices.Contains(o.LinearColumns, name) {
			return fmt.Errorf("column %q is among both hold_columns and linear_columns", name)
		}
	}
	_, _, err := o.timeline()
	return err
}

// timeline splits Timeline into its kind and its argument.
func (o *Options) timeline() (kind, of string, err error) {
	kind, of, named := strings.Cut(o.Timeline, ":")
	switch kind {
	case TimelineCamera:
		if named && of == "" {
			err = errors.New("the name of the camera is missing")
		}
	case TimelineUnion:
		if named {
			err = errors.New("union is of all cameras")
		}
	case TimelineTopic:
		if of == "" {
			err = errors.New("the name of the stream is missing")
		}
	case TimelineFixed:
		_, err = parseRate(of)
	default:
		err = errors.New("it is one of camera, camera:NAME, union, fixed:RATE, topic:NAME")
	}
	if err != nil {
		err = fmt.Errorf("timeline %q: %w", o.Timeline, err)
	}
	return kind, of, err
}

// Rate returns the rows a second of a fixed timeline, else 0.
func (o Options) Rate() float64 {
	if kind, of, err := o.timeline(); err == nil && kind == TimelineFixed {
		rate, _ := parseRate(of)
		return rate
	}
	return 0
}

func parseRate(text string) (float64, error) {
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil || !(rate >= 0.001 && rate <= 1e6) {
		return 0, fmt.Errorf("a rate is a number from 0.001 to 1000000, as in fixed:30, not %q", text)
	}
	return rate, nil
}

// Attributes returns every choice as text, by its name: what a file of rows keeps to say how it was made, below
// "alignment/".
func (o Options) Attributes() map[string]string {
	o = o.withDefaults()
	skew := "period/2"
	if o.Image == ImageAsOf {
		skew = "period"
	}
	attributes := map[string]string{
		"timeline":          o.Timeline,
		"union_window":      limit(o.UnionWindow, "1ms"),
		"max_extrapolation": limit(o.MaxExtrapolation, "period"),
		"max_gap":           limit(o.MaxGap, "5*period,100ms"),
		"max_image_skew":    limit(o.MaxImageSkew, skew),
		"causal":            strconv.FormatBool(o.Causal),
		"continuous_joints": strconv.FormatBool(o.ContinuousJoints),
		"hold_columns":      strings.Join(o.HoldColumns, ","),
		"linear_columns":    strings.Join(o.LinearColumns, ","),
		"optional":          strings.Join(o.Optional, ","),
		"partial":           strconv.FormatBool(o.Partial),
	}
	for _, f := range o.fields() {
		attributes[f.name] = *f.value
	}
	return attributes
}

// limit returns d as text; otherwise stands for 0.
func limit(d time.Duration, otherwise string) string {
	switch {
	case d == 0:
		return otherwise
	case d < 0:
		return "unlimited"
	}
	return d.String()
}
