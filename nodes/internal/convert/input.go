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

// openInputs opens recordings. Their messages are translated to the encoding of t as far as possible.
func (j *Job) openInputs(ctx context.Context, paths []string, s *settings, t *target) (*recordings.Recording, error) {
	read := formats.ReadOptions{FlightOptions: s.FlightOptions, DefinitionOptions: s.DefinitionOptions}
	o := read.Options(j.Formats, j.Files)
	o.Context, o.OpenFile = ctx, j.Open
	o.Opened = func(in *recordings.Part) error {
		if in.Episodes == nil {
			return nil
		}
		in.Episodes.Choose(s.episodes.Select)
		return j.compressVideos(in.Path, in.Episodes, s, t)
	}
	o.AsRecorded, o.Encoding, o.NeedStandard = t.encoding == "", t.encoding, t.format.Standard
	o.Raw = func(c *codec.Channel) bool { return t.writesAsIs(c.Encoding) }
	o.Align = s.AlignStarts && t.format.Episodes == nil
	o.Stamps = recordings.Stamps{Order: s.Order == "header", Restamp: s.Restamp, Add: int64(s.Offset),
		Topics: s.selection.Wants}
	o.Intact, o.Verify, o.Sound = s.Strict, j.Damaged != nil, j.Sound
	recording, err := recordings.Open(paths, o)
	if errors.As(err, new(*recordings.SurveyError)) {
		err = s.damageError(err)
	}
	return recording, err
}

// missingFiles returns the missing files of a recording that would have selected messages.
func missingFiles(in *recordings.Part, s *settings) []*episode.MissingFileError {
	if in.Episodes == nil {
		return nil
	}
	return slices.DeleteFunc(in.Episodes.Missing(), func(m *episode.MissingFileError) bool {
		return m.Channel != nil && !s.selection.Wants(m.Channel)
	})
}

// metadata returns the metadata of all recordings, with the times of episodes shifted by offset (ns). If the format has
// no metadata records, their values are included.
func metadata(inputs *recordings.Recording, t *target, offset int64) map[string]string {
	all := map[string]string{}
	for _, in := range inputs.Parts {
		values := in.Original.Metadata
		if !t.format.Keeps.Attachments {
			values = in.Original.AllMetadata()
		}
		codec.AddMetadata(all, "", movedEpisodes(values, in.Shift+offset))
	}
	return all
}

// movedEpisodes returns metadata in which the times of episodes are shifted by ns.
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

// attach adds the attachments and metadata records of all recordings to o. Their times are shifted by offset (ns).
// Reading an attachment fails once ctx has ended, and calls damaged, if not nil, with damage.
func attach(ctx context.Context, inputs *recordings.Recording, o *codec.CreateOptions, offset int64,
	damaged func(error)) {
	for _, in := range inputs.Parts {
		o.Records = codec.JoinRecords(o.Records, in.Original.Records)
		for _, a := range in.Original.Attachments {
			if a.LogTime != 0 {
				a.LogTime = codec.Later(codec.Later(a.LogTime, in.Shift), offset)
			}
			open := a.Open
			a.Open = func(func(error)) io.Reader { return &attachmentReader{ctx, open(damaged)} }
			o.Attachments = append(o.Attachments, a)
		}
	}
}

// attachmentReader reads an attachment until ctx ends.
type attachmentReader struct {
	ctx context.Context
	io.Reader
}

func (a *attachmentReader) Read(b []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := a.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w; without --strict it is kept nevertheless", err)
	}
	return n, err
}

// loseAttachments adds the attachments of a recording to lost.
func loseAttachments(in *recordings.Part, lost *losses) {
	var names []string
	for _, a := range in.Original.Attachments {
		names = append(names, human.Printable(a.Name))
	}
	if len(names) > 0 {
		lost.add(fmt.Sprintf("%s of %s: %s", human.Count(len(names), "attachment"), in.Path, human.List(names)), "", 0)
	}
}
