package recordings

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tapedeck/bridge"
	"tapedeck/bridge/translate/px4"
	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/codec/training/episode"
)

// Part is one of the recordings that a Recording reads.
type Part struct {
	Path     string
	Source   codec.Reader    // as it is in the files
	Episodes *episode.Reader // Source, if it is a recording of episodes; else nil
	Original *codec.Info     // of Source
	Reader   codec.Reader    // translated and moved
	Info     *codec.Info     // of Reader

	Left     []error  // *bridge.Untranslated for each channel that stays as it is for lack of a translation
	Standard bool     // it has standard messages because Options.NeedStandard wants them
	Shift    int64    // ns by which it is moved
	Still    []string // topics whose stamps cannot be found

	translated []*bridge.Translated
	stamped    *stamped // nil: stamps stay as they are
}

// SurveyError is the error of reading a recording before its messages are read, as some must be to know their topics.
type SurveyError struct{ Err error }

func (e *SurveyError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *SurveyError) Unwrap() error { return e.Err }

// open opens a recording.
func (o *Options) open(path string) (*Part, error) {
	open := o.OpenFile
	if open == nil {
		open = func(path string) (codec.Reader, error) { return series.OpenSource(o.Files, o.Formats, path) }
	}
	source, err := open(path)
	if err != nil {
		return nil, err
	}
	p := &Part{Path: path, Source: source}
	p.Episodes, _ = source.(*episode.Reader)
	p.Reader = &bounded{source, o.Context, o.Intact, o.Verify, o.Sound}
	if err := o.prepare(p); err != nil {
		return nil, errors.Join(err, p.Reader.Close())
	}
	return p, nil
}

// prepare adds to p.Reader what the options say.
func (o *Options) prepare(p *Part) (err error) {
	if o.Opened != nil {
		if err := o.Opened(p); err != nil {
			return err
		}
	}
	if err := Define(p.Reader, o.Definitions); err != nil {
		return err
	}
	p.Original, err = p.Reader.Info()
	if err != nil {
		return err
	}
	if !o.AsRecorded {
		if err := o.toROS2(p); err != nil {
			return err
		}
	}
	p.stamped, p.Still, err = o.Stamps.apply(p.Reader)
	if err != nil {
		return err
	}
	if p.stamped != nil {
		p.Reader = p.stamped
	}
	if HasFromROS2(o.Encoding) {
		if err := p.translate(FromROS2(p.Reader, o.Encoding)); err != nil {
			return err
		}
	}
	p.Info, err = p.Reader.Info()
	return err
}

// toROS2 translates the messages to ROS 2's.
func (o *Options) toROS2(p *Part) error {
	to := ToROS2{CARLA: o.CARLA, MAVLink: o.MAVLink, Raw: o.Raw}
	if err := p.translate(to.Translate(p.Reader)); errors.Is(err, context.Canceled) {
		return err
	} else if err != nil {
		return &SurveyError{err}
	}
	p.Standard = o.NeedStandard && !o.Standard && slices.ContainsFunc(p.Original.Topics, ofPX4)
	if !o.Standard && !p.Standard {
		return nil
	}
	r, err := px4.Standard(p.Reader)
	if err == nil {
		p.Reader = r
	}
	return err
}

// translate takes in a translation of p.Reader.
func (p *Part) translate(t *bridge.Translated, left []error, err error) error {
	if err != nil {
		return err
	}
	p.Reader, p.translated = t, append(p.translated, t)
	p.Left = append(p.Left, left...)
	return nil
}

// ofPX4 reports whether a topic has messages of PX4.
func ofPX4(t codec.TopicInfo) bool {
	return strings.HasPrefix(t.Channel.Type, "px4_msgs/") || strings.HasPrefix(t.Channel.Type, "ulog/")
}

// move moves the recording by Shift, and looks for outlying times.
func (p *Part) move(outlying bool) error {
	r, err := shift(p.Reader, p.Shift)
	if err == nil && outlying {
		r, err = WithOutlying(r)
	}
	if err != nil {
		return err
	}
	p.Reader = r
	p.Info, err = r.Info()
	return err
}

// Untranslated returns why the messages of a channel cannot be translated, nil if they are or need not be.
func (p *Part) Untranslated(c *codec.Channel) error {
	for _, err := range p.Left {
		var left *bridge.Untranslated
		if errors.As(err, &left) && left.Channel == c {
			return left.Err
		}
	}
	return nil
}

func (p *Part) losses() (all []codec.Loss) {
	if p.Episodes != nil {
		all = p.Episodes.Losses()
	}
	for _, t := range p.translated {
		all = append(all, t.Losses()...)
	}
	return all
}

// bounded is a recording whose reading ends with a context and, if intact, at damage, although translations above it
// report errors to Query.Damaged. verify and sound are as in codec.Query.
type bounded struct {
	codec.Reader
	context               context.Context
	intact, verify, sound bool
}

func (r *bounded) Read(q codec.Query) (codec.Iterator, error) {
	if r.context != nil {
		q.Context = r.context
	}
	if r.intact {
		q.Damaged = nil
	}
	q.Verify, q.Sound = q.Verify || r.intact || r.verify, q.Sound || r.sound
	it, err := r.Reader.Read(q)
	if err != nil || q.Context == nil {
		return it, err
	}
	return &ending{it, q.Context}, nil
}

// ending iterates until its context ends.
type ending struct {
	codec.Iterator
	context context.Context
}

func (it *ending) Next() (*codec.Message, error) {
	if err := it.context.Err(); err != nil {
		return nil, err
	}
	return it.Iterator.Next()
}
