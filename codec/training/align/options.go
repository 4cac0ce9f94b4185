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

// Unlimited is the duration for no limit.
const Unlimited = time.Duration(-1)

// Options are the choices in aligning. The zero value has the defaults. The tags name parameters; the help of the
// parameters explains the choices.
type Options struct {
	// Timeline sets the times of rows; "" is camera. With "fixed:RATE", rows begin once all streams have begun.
	// Programs replace "auto" before they call Align.
	Timeline    string        `param:"timeline" group:"Alignment" value:"TIMELINE"`
	UnionWindow time.Duration `param:"union_window" group:"Alignment" min:"0"`
	// Ends is the treatment of rows before the first and after the last sample of a stream. The last command is always
	// held.
	Ends             string        `param:"ends" group:"Alignment" options:"drop|clamp"`
	MaxExtrapolation time.Duration `param:"max_extrapolation" group:"Alignment"`
	// MaxGap is the longest distance of two samples that is no gap. If Causal, it is also the greatest age of a sample.
	// Columns of kind Hold have no gaps.
	MaxGap time.Duration `param:"max_gap" group:"Alignment"`
	// Gaps is the treatment of rows in gaps and of rows before the first value of a column.
	Gaps string `param:"gaps" group:"Alignment" options:"drop|nan"`
	// Image is the choice of the frame for a row. "nearest" takes the earlier of two equally near frames.
	Image            string        `param:"image" group:"Alignment" options:"nearest|asof"`
	MaxImageSkew     time.Duration `param:"max_image_skew" group:"Alignment"`
	MissingImage     string        `param:"missing_image" group:"Alignment" options:"drop|hold|black"`
	Causal           bool          `param:"causal" group:"Alignment"`
	Action           string        `param:"action" group:"Alignment" options:"auto|command|next-state|copy"`
	ContinuousJoints bool          `param:"continuous_joints" group:"Alignment"`
	// HoldColumns and LinearColumns override Column.Interp. One column of a rotation stands for the whole rotation.
	HoldColumns   []string `param:"hold_columns" group:"Alignment" value:"COLUMN"`
	LinearColumns []string `param:"linear_columns" group:"Alignment" value:"COLUMN"`
	Optional      []string `param:"optional" group:"Alignment" value:"STREAM"`
	Partial       bool     `param:"partial" group:"Alignment"`

	// Stamps selects the times of samples that are read from messages: "header" (default) is the stamp in the message,
	// "receive" the time of reception.
	Stamps string
	// KeepRows keeps the rows of an episode that was read from rows. Only the option Gaps applies to such an episode.
	KeepRows bool
}

// DefaultOptions returns Options with all defaults filled in.
func DefaultOptions() Options { return Options{}.withDefaults() }

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
			return fmt.Errorf("%s %q: want one of %s", f.name, *f.value, strings.Join(f.choices, ", "))
		}
	}
	if o.UnionWindow < 0 {
		return fmt.Errorf("union_window %v: want 0 or more", o.UnionWindow)
	}
	for _, name := range o.HoldColumns {
		if slices.Contains(o.LinearColumns, name) {
			return fmt.Errorf("column %q is among both hold_columns and linear_columns", name)
		}
	}
	_, _, err := o.timeline()
	return err
}

// timeline splits Timeline into its kind and its argument: a name, a rate or "".
func (o *Options) timeline() (kind, argument string, err error) {
	kind, argument, colon := strings.Cut(o.Timeline, ":")
	switch kind {
	case TimelineCamera:
		if colon && argument == "" {
			err = errors.New("the name of the camera is missing")
		}
	case TimelineUnion:
		if colon {
			err = errors.New("union takes no name")
		}
	case TimelineTopic:
		if argument == "" {
			err = errors.New("the name of the stream is missing")
		}
	case TimelineFixed:
		_, err = parseRate(argument)
	default:
		err = errors.New("want camera, camera:NAME, union, fixed:RATE or topic:NAME")
	}
	if err != nil {
		err = fmt.Errorf("timeline %q: %w", o.Timeline, err)
	}
	return kind, argument, err
}

// Rate returns the rows per second of a fixed timeline, else 0.
func (o Options) Rate() float64 {
	if kind, argument, err := o.timeline(); err == nil && kind == TimelineFixed {
		rate, _ := parseRate(argument)
		return rate
	}
	return 0
}

func parseRate(text string) (float64, error) {
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil || !(rate >= 0.001 && rate <= 1e6) {
		return 0, fmt.Errorf("invalid rate %q: want 0.001 to 1000000, as in fixed:30", text)
	}
	return rate, nil
}

// Attributes returns all choices as texts, by the names of their parameters. Files of rows keep them below
// "alignment/".
func (o Options) Attributes() map[string]string {
	if o.KeepRows {
		return map[string]string{"timeline": "rows of the input"}
	}
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

// limit returns d as text: defaultText if d is 0.
func limit(d time.Duration, defaultText string) string {
	switch {
	case d == 0:
		return defaultText
	case d < 0:
		return "unlimited"
	}
	return d.String()
}
