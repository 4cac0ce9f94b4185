// Package joined reads the files of a recording as one.
package joined

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"tapedeck/codec"
)

// Reader implements codec.Reader for several files that are one recording. It calls Info of the files once, when one of
// its methods first needs it. It opens an iterator of a file when the file's time comes. A file that cannot be read is
// closed and becomes an event; if no file can be read, the errors are returned.
//
// Read and Info omit the messages of latched topics that a file repeats from the previous file. A Query with Last
// returns them, because it searches for messages near the requested time.
type Reader struct {
	Format string        // of Info
	Path   string        // of Info
	Events []codec.Event // of Info; all but codec.EventLabel make the recording incomplete
	Files  []File
	// Amend, unless nil, adds information to info that the files lack.
	Amend func(info *codec.Info) error

	readers []*fileReader // by start time
	topics  []codec.TopicInfo
	info    *codec.Info
	err     error
}

var _ codec.Reader = (*Reader)(nil)

// File is a file of a recording.
type File struct {
	Path   string
	Size   int64 // bytes on the disk
	Reader codec.Reader
}

// fileReader reads a file whose Info is known.
type fileReader struct {
	codec.Reader
	info     *codec.Info
	rank     int                               // index in Reader.readers
	channels map[*codec.Channel]*codec.Channel // channels of the file to channels of the recording
	holds    map[*codec.Channel]bool           // channels of the recording with messages in this file
	repeats  *repeats                          // of the previous file; nil: none
}

// Event adds an event that has no time.
func (r *Reader) Event(kind, text string) {
	r.Events = append(r.Events, codec.Event{Kind: kind, Text: text})
}

// load calls Info of the files, at the first call.
func (r *Reader) load() error {
	if r.info != nil || r.err != nil {
		return r.err
	}
	info := &codec.Info{
		Format: r.Format, Path: r.Path, Events: r.Events, Metadata: map[string]string{},
		Complete:  !slices.ContainsFunc(r.Events, func(e codec.Event) bool { return e.Kind != codec.EventLabel }),
		StartTime: math.MaxInt64, EndTime: math.MinInt64,
	}
	r.err = r.join(info)
	if r.err != nil {
		return r.err
	}
	r.info = info
	if r.Amend != nil {
		r.err = r.Amend(info)
	}
	return r.err
}

// join adds the Info of all files to info.
func (r *Reader) join(info *codec.Info) error {
	var unreadable []error
	for _, f := range r.Files {
		fileInfo, err := f.Reader.Info()
		if err != nil {
			info.Events = append(info.Events, codec.Event{Kind: codec.EventMissing, Text: err.Error()})
			info.Complete = false
			unreadable = append(unreadable, err, f.Reader.Close())
			continue
		}
		fr := &fileReader{
			Reader: f.Reader, info: fileInfo,
			channels: map[*codec.Channel]*codec.Channel{}, holds: map[*codec.Channel]bool{},
		}
		r.readers = append(r.readers, fr)
		r.describe(f, fr, info)
	}
	if len(r.readers) == 0 {
		return errors.Join(unreadable...)
	}
	if info.MessageCount == 0 {
		info.StartTime, info.EndTime = 0, 0
	}
	info.Topics, info.Extra = r.topics, r.readers[0].info.Extra
	slices.SortStableFunc(info.Events, func(a, b codec.Event) int { return cmp.Compare(a.Time, b.Time) })
	slices.SortStableFunc(r.readers, func(a, b *fileReader) int {
		return cmp.Compare(a.info.StartTime, b.info.StartTime)
	})
	for i, fr := range r.readers {
		fr.rank = i
		if i > 0 && fr.info.Continue != nil {
			info.Extra = fr.info.Continue(r.readers[i-1].info, info.Extra)
		}
	}
	r.countRepeats(info)
	return nil
}

// describe adds the Info of a file to info.
func (r *Reader) describe(f File, fr *fileReader, info *codec.Info) {
	info.Files = append(info.Files, codec.FileInfo{
		Path: f.Path, Size: f.Size, MessageCount: fr.info.MessageCount, StartTime: fr.info.StartTime,
		EndTime: fr.info.EndTime,
	})
	info.Size += f.Size
	info.MessageCount += fr.info.MessageCount
	if fr.info.MessageCount > 0 {
		info.StartTime, info.EndTime = min(info.StartTime, fr.info.StartTime), max(info.EndTime, fr.info.EndTime)
	}
	info.Complete = info.Complete && fr.info.Complete
	info.Indexed = info.Indexed || fr.info.Indexed
	info.Unsigned = info.Unsigned || fr.info.Unsigned
	for _, event := range fr.info.Events {
		if event.Kind == codec.EventDamage || event.Kind == codec.EventUnfinished {
			event.Text = filepath.Base(f.Path) + ": " + event.Text
		}
		info.Events = append(info.Events, event)
	}
	for _, t := range fr.info.Topics {
		r.addTopic(fr, t)
		if t.MessageCount > 0 {
			fr.holds[fr.channels[t.Channel]] = true
		}
	}
	maps.Copy(info.Metadata, fr.info.Metadata)
	info.Attachments = append(info.Attachments, fr.info.Attachments...)
	info.Records = codec.JoinRecords(info.Records, fr.info.Records)
}

// addTopic adds a topic of a file. Channels that differ only in QoS become one.
func (r *Reader) addTopic(fr *fileReader, t codec.TopicInfo) {
	c := t.Channel
	for i := range r.topics {
		o := r.topics[i].Channel
		if o.Topic == c.Topic && o.Type == c.Type && o.Encoding == c.Encoding && o.TypeHash == c.TypeHash &&
			o.Schema.Encoding == c.Schema.Encoding && string(o.Schema.Data) == string(c.Schema.Data) &&
			maps.Equal(o.Metadata, c.Metadata) {
			o.QoS = codec.JoinQoS(o.QoS, c.QoS)
			r.topics[i].MessageCount += t.MessageCount
			fr.channels[c] = o
			return
		}
	}
	channel := *c
	channel.QoS = slices.Clone(c.QoS)
	fr.channels[c] = &channel
	r.topics = append(r.topics, codec.TopicInfo{Channel: &channel, MessageCount: t.MessageCount})
}

// Info implements codec.Reader.
func (r *Reader) Info() (*codec.Info, error) {
	if err := r.load(); err != nil {
		return nil, err
	}
	return r.info, nil
}

// Read implements codec.Reader.
func (r *Reader) Read(q codec.Query) (codec.Iterator, error) {
	if err := r.load(); err != nil {
		return nil, err
	}
	if q.Last != nil {
		return r.latest(q)
	}
	asked, wanted := q, map[*codec.Channel]bool{}
	for _, t := range r.topics {
		wanted[t.Channel] = q.Wants(t.Channel)
	}
	q.Topics = func(c *codec.Channel) bool {
		want, known := wanted[c]
		return want || !known && asked.Wants(c) // a channel that was found behind damage
	}
	return merge(r.readersIn(q), func(fr *fileReader) (codec.Iterator, error) {
		it, err := fr.Read(fr.query(q))
		if err != nil {
			return nil, err
		}
		return fr.withoutRepeats(it), nil
	}), nil
}

// readersIn returns the readers of files that may have messages in the time range of q.
func (r *Reader) readersIn(q codec.Query) []*fileReader {
	var readers []*fileReader
	for _, fr := range r.readers {
		if fr.info.EndTime >= q.From() && (q.End == 0 || fr.info.StartTime < q.End) {
			readers = append(readers, fr)
		}
	}
	return readers
}

// query translates q, which selects channels of the recording, to channels of the file.
func (fr *fileReader) query(q codec.Query) codec.Query {
	asked := q
	q.Topics = func(c *codec.Channel) bool { return asked.Wants(cmp.Or(fr.channels[c], c)) }
	return q
}

// merge merges files by time. It opens a file when the time of its first message comes.
func merge(readers []*fileReader, open func(*fileReader) (codec.Iterator, error)) codec.Iterator {
	inputs := make([]codec.MergeInput, len(readers))
	for i, fr := range readers {
		inputs[i] = codec.MergeInput{Start: fr.info.StartTime, Open: func() (codec.Iterator, error) {
			it, err := open(fr)
			return &fileIterator{Iterator: it, reader: fr}, err
		}}
	}
	return codec.MergeInputs(inputs)
}

// fileIterator replaces channels of a file by channels of the recording.
type fileIterator struct {
	codec.Iterator
	reader   *fileReader
	from, to *codec.Channel // channel of the last message, in the file and in the recording
	msg      codec.Message
}

func (it *fileIterator) Next() (*codec.Message, error) {
	m, err := it.Iterator.Next()
	if err != nil {
		return nil, err
	}
	if m.Channel != it.from {
		it.from, it.to = m.Channel, cmp.Or(it.reader.channels[m.Channel], m.Channel)
	}
	it.msg = *m
	it.msg.Channel = it.to
	return &it.msg, nil
}

// Close closes the files.
func (r *Reader) Close() error {
	var errs []error
	for _, f := range r.Files {
		errs = append(errs, f.Reader.Close())
	}
	return errors.Join(errs...)
}
