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

// Options are the choices in aligning. The zero value has the defaults. Tags are those of parameters, whose help says
// what the choices are; files have them by these names, as Attributes returns them.
type Options struct {
	// Timeline sets the times of rows; "" is camera. With "fixed:RATE" they begin once all streams have begun. Programs
	// replace "auto".
	Timeline    string        `param:"timeline" group:"Alignment" value:"TIMELINE"`
	UnionWindow time.Duration `param:"union_window" group:"Alignment" min:"0"`
	// The last command holds for ever, whatever Ends is.
	Ends             string        `param:"ends" group:"Alignment" options:"drop|clamp"`
	MaxExtrapolation time.Duration `param:"max_extrapolation" group:"Alignment"`
	// MaxGap is also the greatest age of a sample if Causal. Columns that Hold have no gaps.
	MaxGap time.Duration `param:"max_gap" group:"Alignment"`
	// Gaps is also about rows before a column has its first value.
	Gaps string `param:"gaps" group:"Alignment" options:"drop|nan"`
	// Of two equally near frames "nearest" is the earlier one.
	Image            string        `param:"image" group:"Alignment" options:"nearest|asof"`
	MaxImageSkew     time.Duration `param:"max_image_skew" group:"Alignment"`
	MissingImage     string        `param:"missing_image" group:"Alignment" options:"drop|hold|black"`
	Causal           bool          `param:"causal" group:"Alignment"`
	Action           string        `param:"action" group:"Alignment" options:"auto|command|next-state|copy"`
	ContinuousJoints bool          `param:"continuous_joints" group:"Alignment"`
	// A column of a rotation stands for all of it.
	HoldColumns   []string `param:"hold_columns" group:"Alignment" value:"COLUMN"`
	LinearColumns []string `param:"linear_columns" group:"Alignment" value:"COLUMN"`
	Optional      []string `param:"optional" group:"Alignment" value:"STREAM"`
	Partial       bool     `param:"partial" group:"Alignment"`

	// Stamps is the source of the streams' times, for the reader of a recording: "header" (default), the stamps in
	// messages, or "receive", when they were recorded.
	Stamps string
	// KeepRows keeps the rows of episodes that were read from rows as they are. Of the other options only Gaps applies
	// to them.
	KeepRows bool
}

// DefaultOptions are the defaults of Options.
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
			err = errors.New("union takes no name")
		}
	case TimelineTopic:
		if of == "" {
			err = errors.New("the name of the stream is missing")
		}
	case TimelineFixed:
		_, err = parseRate(of)
	default:
		err = errors.New("want camera, camera:NAME, union, fixed:RATE or topic:NAME")
	}
	if err != nil {
		err = fmt.Errorf("timeline %q: %w", o.Timeline, err)
	}
	return kind, of, err
}

// Rate returns the rows per second of a fixed timeline, else 0.
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
		return 0, fmt.Errorf("invalid rate %q: want 0.001 to 1000000, as in fixed:30", text)
	}
	return rate, nil
}

// Attributes returns every choice as text by its name. Files of rows keep it below "alignment/".
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

// limit returns d as text, otherwise if it is 0.
func limit(d time.Duration, otherwise string) string {
	switch {
	case d == 0:
		return otherwise
	case d < 0:
		return "unlimited"
	}
	return d.String()
}
