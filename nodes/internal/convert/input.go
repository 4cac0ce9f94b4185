package convert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"tapedeck/bridge/recordings"
	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/codec/training/episode"
	"tapedeck/nodes/internal/formats"
)

// open opens recordings with their messages translated to the encodings of t, as far as possible.
func (j *Job) open(ctx context.Context, paths []string, p *plan, t *target) (*recordings.Recording, error) {
	read := formats.ReadOptions{FlightOptions: p.FlightOptions, DefinitionOptions: p.DefinitionOptions}
	o := read.Options(j.Formats, j.Files)
	o.Context, o.OpenFile = ctx, j.Open
	o.Opened = func(in *recordings.Part) error {
		if in.Episodes == nil {
			return nil
		}
		in.Episodes.Choose(p.episodes.Select)
		return j.videos(in.Path, in.Episodes, p, t)
	}
	o.AsRecorded, o.Encoding, o.NeedStandard = t.to == "", t.to, t.format.Standard
	o.Raw = func(c *codec.Channel) bool { return t.takes(c.Encoding) }
	o.Align = p.AlignStarts && t.format.Episodes == nil
	o.Stamps = recordings.Stamps{Order: p.Order == "header", Restamp: p.Restamp, Add: int64(p.Offset),
		Topics: p.selection.Wants}
	o.Intact, o.Verify, o.Sound = p.Strict, j.Damaged != nil, j.Sound
	r, err := recordings.Open(paths, o)
	if errors.As(err, new(*recordings.SurveyError)) {
		err = p.damaged(err)
	}
	return r, err
}

// missing returns files that the recording lacks and that would have selected messages.
func missing(in *recordings.Part, p *plan) []*episode.MissingError {
	if in.Episodes == nil {
		return nil
	}
	return slices.DeleteFunc(in.Episodes.Missing(), func(m *episode.MissingError) bool {
		return m.Channel != nil && !p.selection.Wants(m.Channel)
	})
}

// metadata returns the metadata of all recordings, and records of other programs if t has no records. The messages are
// shifted by offset.
func metadata(ins *recordings.Recording, t *target, offset int64) map[string]string {
	all := map[string]string{}
	for _, in := range ins.Parts {
		values := in.Original.Metadata
		if !t.format.Keeps.Attachments {
			values = in.Original.AllMetadata()
		}
		codec.AddMetadata(all, "", movedEpisodes(values, in.Shift+offset))
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
		e.Start, e.End = codec.Later(e.Start, ns), codec.Later(e.End, ns)
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
func attach(ctx context.Context, ins *recordings.Recording, o *codec.CreateOptions, offset int64, damaged func(error)) {
	for _, in := range ins.Parts {
		o.Records = codec.JoinRecords(o.Records, in.Original.Records)
		for _, a := range in.Original.Attachments {
			if a.LogTime != 0 {
				a.LogTime = codec.Later(codec.Later(a.LogTime, in.Shift), offset)
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
func leaveAttachments(in *recordings.Part, lost *losses) {
	var names []string
	for _, a := range in.Original.Attachments {
		names = append(names, human.Printable(a.Name))
	}
	if len(names) > 0 {
		lost.add(fmt.Sprintf("%s of %s: %s", human.Count(len(names), "attachment"), in.Path, human.List(names)), "", 0)
	}
}
