// Package recordings opens recordings of any format as one recording of ROS 2 messages: it finds the format and the
// files of each recording, translates foreign messages, moves recordings and stamps in time, and merges the recordings.
// All commands and nodes read recordings with this package.
package recordings

import (
	"context"
	"errors"
	"iter"

	"tapedeck/bridge/translate/carla"
	"tapedeck/bridge/translate/mavros"
	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
)

// Options configure Open. Formats is required. The zero values of the other fields mean: all messages, at their
// recorded times, translated to ROS 2.
type Options struct {
	Formats codec.Formats   // formats that may be found
	Files   *store.Files    // reads URLs; nil: only local files are read
	Context context.Context // its end stops opening and reading; may be nil

	// OpenFile opens the recording at a path; nil: series.OpenRecording is used.
	OpenFile func(path string) (codec.Reader, error)
	// Opened, unless nil, is called with each part before any of its messages is read.
	Opened func(*Part) error
	// SkipUnwritten leaves out files that are empty because their writer ended too early, unless there are no others.
	SkipUnwritten bool

	// Definitions are folders with definitions that recordings may lack.
	Definitions []string
	// AsRecorded reads all messages without translation.
	AsRecorded bool
	// Encoding is the encoding of translated messages; "": cdr, as in ROS 2.
	Encoding string
	// Raw reports whether messages of a channel are not translated; nil: all are translated.
	Raw func(*codec.Channel) bool
	// CARLA and MAVLink configure the translation of messages of CARLA and of MAVLink.
	CARLA   carla.ReadOptions
	MAVLink mavros.ReadOptions
	// Standard adds standard messages to the messages of PX4. NeedStandard also adds them, and sets Part.Standard.
	Standard, NeedStandard bool

	// Align moves recordings so that all begin with the earliest one.
	Align bool
	// Shift has ns by which recordings are moved, by path. It is added to the shift of Align.
	Shift map[string]int64
	// Stamps configures changes of the stamps in messages.
	Stamps Stamps

	// Outlying applies WithOutlying to each part.
	Outlying bool

	// Intact ends the reading at damage. Verify and Sound are as in codec.Query.
	Intact, Verify, Sound bool
}

var _ codec.Reader = (*Recording)(nil)

// Recording is one or several recordings that are read as one.
type Recording struct {
	Parts     []*Part
	Unwritten []string // paths of files that SkipUnwritten left out
}

// Open opens the recordings at paths. A path may be a URL, the first file of a recording, or a folder. If several paths
// are files of one recording, Open opens the recording once. The error names the recording.
func Open(paths []string, o Options) (_ *Recording, err error) {
	r := &Recording{}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	if len(paths) > 1 {
		paths = series.Firsts(o.Files, o.Formats, paths)
	}
	for i, path := range paths {
		p, err := o.open(path)
		switch {
		case o.SkipUnwritten && errors.Is(err, codec.ErrUnwritten) && (r.Parts != nil || i < len(paths)-1):
			r.Unwritten = append(r.Unwritten, path)
		case err != nil:
			return nil, err
		default:
			r.Parts = append(r.Parts, p)
		}
	}
	if o.Align {
		for i, by := range alignShifts(r.Originals()) {
			r.Parts[i].Shift = by
			r.Parts[i].stampsFollow(o.Stamps, by)
		}
	}
	for _, p := range r.Parts {
		p.Shift += o.Shift[p.Path]
		if err := p.move(o.Outlying); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Messages yields all messages in time order. A message is valid until the next one. An error ends the iteration.
func (r *Recording) Messages() iter.Seq2[*codec.Message, error] {
	return codec.Messages(r, codec.Query{})
}

// Infos returns Part.Info of each part.
func (r *Recording) Infos() (all []*codec.Info) {
	for _, p := range r.Parts {
		all = append(all, p.Info)
	}
	return all
}

// Originals returns Part.Original of each part.
func (r *Recording) Originals() (all []*codec.Info) {
	for _, p := range r.Parts {
		all = append(all, p.Original)
	}
	return all
}

// FileReaders returns Part.Files of each part.
func (r *Recording) FileReaders() (all []codec.Reader) {
	for _, p := range r.Parts {
		all = append(all, p.Files)
	}
	return all
}

// Window returns the times of the first and of the last message. Both are 0 if there are no messages.
func (r *Recording) Window() (start, end int64) {
	some := false
	for _, p := range r.Parts {
		if p.Original.MessageCount == 0 {
			continue
		}
		if !some {
			start, end, some = p.Info.StartTime, p.Info.EndTime, true
		}
		start, end = min(start, p.Info.StartTime), max(end, p.Info.EndTime)
	}
	return start, end
}

// Info implements codec.Reader. For several parts, it joins their descriptions.
func (r *Recording) Info() (*codec.Info, error) {
	if len(r.Parts) == 1 {
		return r.Parts[0].Info, nil
	}
	all := &codec.Info{Complete: true, Metadata: map[string]string{}}
	all.StartTime, all.EndTime = r.Window()
	for _, p := range r.Parts {
		all.Files = append(all.Files, p.Info.Files...)
		all.Size += p.Info.Size
		all.MessageCount += p.Info.MessageCount
		all.Topics = append(all.Topics, p.Info.Topics...)
		all.Events = append(all.Events, p.Info.Events...)
		all.Notes = append(all.Notes, p.Info.Notes...)
		all.Attachments = append(all.Attachments, p.Info.Attachments...)
		all.Records = codec.JoinRecords(all.Records, p.Info.Records)
		all.Complete = all.Complete && p.Info.Complete
		codec.AddMetadata(all.Metadata, "", p.Info.Metadata)
	}
	return all, nil
}

// Read implements codec.Reader. It merges the messages of all parts by time.
func (r *Recording) Read(q codec.Query) (codec.Iterator, error) {
	var its []codec.Iterator
	for _, p := range r.Parts {
		it, err := p.Reader.Read(q)
		if err != nil {
			return nil, errors.Join(err, codec.Merge(its...).Close())
		}
		its = append(its, it)
	}
	if len(its) == 1 {
		return its[0], nil
	}
	return codec.Merge(its...), nil
}

// Losses returns the losses of translating the messages that were read so far. It must not be called while a message is
// read.
func (r *Recording) Losses() (all []codec.Loss) {
	for _, p := range r.Parts {
		all = append(all, p.losses()...)
	}
	return all
}

// Close implements codec.Reader.
func (r *Recording) Close() error {
	var errs []error
	for _, p := range r.Parts {
		errs = append(errs, p.Reader.Close())
	}
	r.Parts = nil
	return errors.Join(errs...)
}
