package convert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/episode"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/human"
	"tapedeck/nodes/internal/timerange"
)

// input is a recording that is read.
type input struct {
	path   string
	source codec.Reader // as it is in the file
	reader codec.Reader // translated
	info   *codec.Info

	standard bool                     // it has standard messages of PX4's, because the output needs them
	original *codec.Info              // before translation
	left     map[*codec.Channel]error // why channels cannot be translated
	shift    int64                    // ns by which align moved it
	stamped  *stamped                 // applies options about stamps; nil without any
	still    []string                 // topics whose stamps cannot be found
}

// newInput reads source with its messages translated to the encodings of t, as far as possible. It owns source.
func newInput(path string, source codec.Reader, p *plan, t *target) (*input, error) {
	in := &input{path: path, left: map[*codec.Channel]error{}, source: source, reader: source}
	if err := in.prepare(p, t); err != nil {
		return nil, errors.Join(err, source.Close())
	}
	return in, nil
}

func (in *input) prepare(p *plan, t *target) (err error) {
	if err := p.Define(in.reader); err != nil {
		return err
	}
	if in.original, err = in.reader.Info(); err != nil {
		return err
	}
	var left []error
	if t.to != "" {
		o := formats.ReadOptions{FlightOptions: p.FlightOptions}
		if t.format.Standard && !o.Standard && slices.ContainsFunc(in.original.Topics, ofPX4) {
			o.Standard, in.standard = true, true
		}
		if in.reader, left, err = o.ROS2(in.reader, t.kept()...); errors.Is(err, context.Canceled) {
			return err
		} else if err != nil { // some logs are read whole to know their topics
			return p.damaged(err)
		}
		in.note(left)
	}
	if in.stamped, in.still, err = p.stamp(in.reader); err != nil {
		return err
	}
	if in.stamped != nil {
		in.reader = in.stamped
	}
	if formats.HasFromROS2(t.to) {
		if in.reader, left, err = formats.FromROS2(in.reader, t.to); err != nil {
			return err
		}
		in.note(left)
	}
	in.info, err = in.reader.Info()
	return err
}

// ofPX4 reports whether a topic has messages of PX4.
func ofPX4(t codec.TopicInfo) bool {
	return strings.HasPrefix(t.Channel.Type, "px4_msgs/") || strings.HasPrefix(t.Channel.Type, "ulog/")
}

func (in *input) note(left []error) {
	for _, err := range left {
		var untranslated *bridge.Untranslated
		if errors.As(err, &untranslated) && in.left[untranslated.Channel] == nil {
			in.left[untranslated.Channel] = untranslated.Err
		}
	}
}

// missing returns files that the recording lacks and that would have selected messages.
func (in *input) missing(p *plan) []*episode.MissingError {
	r, ok := takes(in.source)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(r.Missing(), func(m *episode.MissingError) bool {
		return m.Channel != nil && !p.selection.Wants(m.Channel)
	})
}

var _ codec.Reader = inputs(nil)

// inputs are several recordings that are read as one.
type inputs []*input

// Info is not supported.
func (ins inputs) Info() (*codec.Info, error) { return nil, errors.ErrUnsupported }

func (ins inputs) infos() []*codec.Info {
	var infos []*codec.Info
	for _, in := range ins {
		infos = append(infos, in.info)
	}
	return infos
}

func (ins inputs) originals() []*codec.Info {
	var infos []*codec.Info
	for _, in := range ins {
		infos = append(infos, in.original)
	}
	return infos
}

func (ins inputs) sources() []codec.Reader {
	var sources []codec.Reader
	for _, in := range ins {
		sources = append(sources, in.source)
	}
	return sources
}

// window returns the times of the first and the last message; both are 0 without messages.
func (ins inputs) window() (start, end int64) {
	some := false
	for _, in := range ins {
		if in.original.MessageCount == 0 {
			continue
		}
		if !some || in.info.StartTime < start {
			start = in.info.StartTime
		}
		if !some || in.info.EndTime > end {
			end = in.info.EndTime
		}
		some = true
	}
	return start, end
}

// align moves the recordings in time so that all begin with the earliest one, and their stamps if they are to follow.
func (ins inputs) align(restamp bool) (err error) {
	for i, by := range timerange.Aligned(ins.originals()) {
		in := ins[i]
		in.shift = by
		if in.stamped != nil && restamp {
			in.stamped.add += by
		}
		if in.reader, err = timerange.Shift(in.reader, by); err != nil {
			return err
		}
		if in.info, err = in.reader.Info(); err != nil {
			return err
		}
	}
	return nil
}

// metadata returns the metadata of all recordings, and records of other programs if t has no records. The messages are
// shifted by offset.
func (ins inputs) metadata(t *target, offset int64) map[string]string {
	all := map[string]string{}
	for _, in := range ins {
		values := in.original.Metadata
		if !t.format.Keeps.Attachments {
			values = in.original.AllMetadata()
		}
		codec.AddMetadata(all, "", movedEpisodes(values, in.shift+offset))
	}
	return all
}

// movedEpisodes returns metadata with the times of episodes, if it has any, shifted by ns.
func movedEpisodes(metadata map[string]string, ns int64) map[string]string {
	var d episode.Details
	if ns == 0 || json.Unmarshal([]byte(metadata[episode.MetadataKey]), &d) != nil || len(d.Episodes) == 0 {
		return metadata
	}
	for i := range d.Episodes {
		e := &d.Episodes[i]
		e.Start, e.End = timerange.Later(e.Start, ns), timerange.Later(e.End, ns)
	}
	text, err := json.Marshal(&d)
	if err != nil {
		return metadata
	}
	moved := maps.Clone(metadata)
	moved[episode.MetadataKey] = string(text)
	return moved
}

// attach adds the attachments and metadata records of all recordings to o, with their times shifted by offset. Reading
// them ends with ctx, and damage is reported to damaged if that is not nil.
func (ins inputs) attach(ctx context.Context, o *codec.CreateOptions, offset int64, damaged func(error)) {
	for _, in := range ins {
		o.Records = codec.JoinRecords(o.Records, in.original.Records)
		for _, a := range in.original.Attachments {
			if a.LogTime != 0 {
				a.LogTime = timerange.Later(timerange.Later(a.LogTime, in.shift), offset)
			}
			open := a.Open
			a.Open = func(func(error)) io.Reader { return &attached{ctx, open(damaged)} }
			o.Attachments = append(o.Attachments, a)
		}
	}
}

// attached reads an attachment until its context ends.
type attached struct {
	ctx context.Context
	io.Reader
}

func (a *attached) Read(b []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := a.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w; without --strict it is kept nevertheless", err)
	}
	return n, err
}

// leaveAttachments adds the attachments to what is lost.
func (in *input) leaveAttachments(lost *losses) {
	var names []string
	for _, a := range in.original.Attachments {
		names = append(names, human.Printable(a.Name))
	}
	if len(names) > 0 {
		lost.add(fmt.Sprintf("%s of %s: %s", human.Count(len(names), "attachment"), in.path, human.List(names)), "", 0)
	}
}

// Read returns the messages of all recordings in time order.
func (ins inputs) Read(q codec.Query) (codec.Iterator, error) {
	var its []codec.Iterator
	for _, in := range ins {
		it, err := in.reader.Read(q)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read %s: %w", in.path, err), codec.Merge(its...).Close())
		}
		its = append(its, it)
	}
	if len(its) == 1 {
		return its[0], nil
	}
	return codec.Merge(its...), nil
}

func (ins inputs) Close() error {
	var errs []error
	for _, in := range ins {
		errs = append(errs, in.reader.Close())
	}
	return errors.Join(errs...)
}
