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
	Files    codec.Reader    // reads the messages of the files unchanged
	Episodes *episode.Reader // Files, if it reads episodes; else nil
	Original *codec.Info     // Info of Files
	Reader   codec.Reader    // reads the messages translated and moved
	Info     *codec.Info     // Info of Reader

	Untranslatable []error  // a *bridge.Untranslated for each channel without a translation
	Standard       bool     // the part has standard messages because Options.NeedStandard wants them
	Shift          int64    // ns by which the part is moved
	Still          []string // topics whose stamps do not change because they cannot be found

	translated []*bridge.Translated
	stamped    *stamped // nil: stamps are not changed
}

// SurveyError is the error of the survey of a recording: some formats must be read to know their topics.
type SurveyError struct{ Err error }

func (e *SurveyError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *SurveyError) Unwrap() error { return e.Err }

// open opens a part.
func (o *Options) open(path string) (*Part, error) {
	open := o.OpenFile
	if open == nil {
		open = func(path string) (codec.Reader, error) { return series.OpenRecording(o.Files, o.Formats, path) }
	}
	files, err := open(path)
	if err != nil {
		return nil, err
	}
	p := &Part{Path: path, Files: files}
	p.Episodes, _ = files.(*episode.Reader)
	p.Reader = &bounded{files, o.Context, o.Intact, o.Verify, o.Sound}
	if err := o.prepare(p); err != nil {
		return nil, errors.Join(err, p.Reader.Close())
	}
	return p, nil
}

// prepare applies the options to p.Reader.
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

// toROS2 translates the messages of a part to ROS 2.
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

// translate replaces p.Reader by its translation t. Its parameters are the results of bridge.Translate.
func (p *Part) translate(t *bridge.Translated, untranslated []error, err error) error {
	if err != nil {
		return err
	}
	p.Reader, p.translated = t, append(p.translated, t)
	p.Untranslatable = append(p.Untranslatable, untranslated...)
	return nil
}

// ofPX4 reports whether a topic has messages of PX4.
func ofPX4(t codec.TopicInfo) bool {
	return strings.HasPrefix(t.Channel.Type, "px4_msgs/") || strings.HasPrefix(t.Channel.Type, "ulog/")
}

// move moves the part by Shift. outlying adds the events of WithOutlying.
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

// Untranslated returns the reason why the messages of a channel cannot be translated. It returns nil if they are
// translated, or need no translation.
func (p *Part) Untranslated(c *codec.Channel) error {
	for _, err := range p.Untranslatable {
		var untranslated *bridge.Untranslated
		if errors.As(err, &untranslated) && untranslated.Channel == c {
			return untranslated.Err
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

// bounded is a reader whose iterators end with a context. If intact, they end at damage, even if the translations that
// read from bounded set Query.Damaged. verify and sound are as in codec.Query.
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
