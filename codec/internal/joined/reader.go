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

// Reader implements codec.Reader for several files that are one recording. It calls Info
// of the files once, when one of its methods first needs that, and reads from each only what a Query selects, when its
// time comes. A file that cannot be read is closed and becomes an event; if none can, the errors are returned.
//
// Read and Info leave out the messages of latched topics that a file repeats of the file before it. A Query with Last
// gets them: it looks for them, near the time that is asked for.
type Reader struct {
	Format string // for Info, as the next two
	Path   string
	Events []codec.Event // that make the recording incomplete, except codec.EventLabel
	Files  []File
	// Amend, unless nil, adds to info what the files do not say.
	Amend func(info *codec.Info) error

	parts  []*part // those that begin first come first
	topics []codec.TopicInfo
	info   *codec.Info
	err    error
}

var _ codec.Reader = (*Reader)(nil)

// File is a file of a recording.
type File struct {
	Path   string
	Size   int64 // bytes on the disk
	Reader codec.Reader
}

// part is a file whose Info is known.
type part struct {
	codec.Reader
	info     *codec.Info
	rank     int                               // among the parts
	channels map[*codec.Channel]*codec.Channel // those of the file to those of the recording
	holds    map[*codec.Channel]bool           // those of the recording that have messages in it
	repeats  *repeats                          // of the file before; nil: none
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

// join adds to info what the files hold.
func (r *Reader) join(info *codec.Info) error {
	var unreadable []error
	for _, f := range r.Files {
		held, err := f.Reader.Info()
		if err != nil {
			info.Events = append(info.Events, codec.Event{Kind: codec.EventMissing, Text: err.Error()})
			info.Complete = false
			unreadable = append(unreadable, err, f.Reader.Close())
			continue
		}
		p := &part{
			Reader: f.Reader, info: held,
			channels: map[*codec.Channel]*codec.Channel{}, holds: map[*codec.Channel]bool{},
		}
		r.parts = append(r.parts, p)
		r.describe(f, p, info)
	}
	if len(r.parts) == 0 {
		return errors.Join(unreadable...)
	}
	if info.MessageCount == 0 {
		info.StartTime, info.EndTime = 0, 0
	}
	info.Topics, info.Extra = r.topics, r.parts[0].info.Extra
	slices.SortStableFunc(info.Events, func(a, b codec.Event) int { return cmp.Compare(a.Time, b.Time) })
	slices.SortStableFunc(r.parts, func(a, b *part) int { return cmp.Compare(a.info.StartTime, b.info.StartTime) })
	for i, p := range r.parts {
		p.rank = i
		if i > 0 && p.info.Continue != nil {
			info.Extra = p.info.Continue(r.parts[i-1].info, info.Extra)
		}
	}
	r.countRepeats(info)
	return nil
}

// describe adds to info what a file holds.
func (r *Reader) describe(f File, p *part, info *codec.Info) {
	info.Files = append(info.Files, codec.FileInfo{
		Path: f.Path, Size: f.Size, MessageCount: p.info.MessageCount, StartTime: p.info.StartTime,
		EndTime: p.info.EndTime,
	})
	info.Size += f.Size
	info.MessageCount += p.info.MessageCount
	if p.info.MessageCount > 0 {
		info.StartTime, info.EndTime = min(info.StartTime, p.info.StartTime), max(info.EndTime, p.info.EndTime)
	}
	info.Complete = info.Complete && p.info.Complete
	info.Indexed = info.Indexed || p.info.Indexed
	info.Unsigned = info.Unsigned || p.info.Unsigned
	for _, event := range p.info.Events {
		if event.Kind == codec.EventDamage || event.Kind == codec.EventUnfinished {
			event.Text = filepath.Base(f.Path) + ": " + event.Text
		}
		info.Events = append(info.Events, event)
	}
	for _, t := range p.info.Topics {
		r.addTopic(p, t)
		if t.MessageCount > 0 {
			p.holds[p.channels[t.Channel]] = true
		}
	}
	maps.Copy(info.Metadata, p.info.Metadata)
	info.Attachments = append(info.Attachments, p.info.Attachments...)
	info.Records = codec.JoinRecords(info.Records, p.info.Records)
}

// addTopic adds a topic of a file. Channels that agree but for the QoS become one.
func (r *Reader) addTopic(p *part, t codec.TopicInfo) {
	c := t.Channel
	for i := range r.topics {
		o := r.topics[i].Channel
		if o.Topic == c.Topic && o.Type == c.Type && o.Encoding == c.Encoding && o.TypeHash == c.TypeHash &&
			o.Schema.Encoding == c.Schema.Encoding && string(o.Schema.Data) == string(c.Schema.Data) &&
			maps.Equal(o.Metadata, c.Metadata) {
			o.QoS = codec.JoinQoS(o.QoS, c.QoS)
			r.topics[i].MessageCount += t.MessageCount
			p.channels[c] = o
			return
		}
	}
	channel := *c
	channel.QoS = slices.Clone(c.QoS)
	p.channels[c] = &channel
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
		return want || !known && asked.Wants(c) // one that was found behind damage
	}
	return merge(r.partsIn(q), func(p *part) (codec.Iterator, error) {
		it, err := p.Read(p.query(q))
		if err != nil {
			return nil, err
		}
		return p.leaveOut(it), nil
	}), nil
}

// partsIn returns the files that may have messages in the time range of q.
func (r *Reader) partsIn(q codec.Query) []*part {
	var parts []*part
	for _, p := range r.parts {
		if p.info.EndTime >= q.From() && (q.End == 0 || p.info.StartTime < q.End) {
			parts = append(parts, p)
		}
	}
	return parts
}

// query returns q, which selects channels of the recording, for the channels of the file.
func (p *part) query(q codec.Query) codec.Query {
	asked := q
	q.Topics = func(c *codec.Channel) bool { return asked.Wants(cmp.Or(p.channels[c], c)) }
	return q
}

// merge merges files by time. Each is opened when the time of its first message comes.
func merge(parts []*part, open func(*part) (codec.Iterator, error)) codec.Iterator {
	inputs := make([]codec.MergeInput, len(parts))
	for i, p := range parts {
		inputs[i] = codec.MergeInput{Start: p.info.StartTime, Open: func() (codec.Iterator, error) {
			it, err := open(p)
			return &partIterator{Iterator: it, part: p}, err
		}}
	}
	return codec.MergeInputs(inputs)
}

// partIterator replaces the channels of a file by those of the recording.
type partIterator struct {
	codec.Iterator
	part     *part
	from, to *codec.Channel // of the last message: the file's and the recording's
	msg      codec.Message
}

func (it *partIterator) Next() (*codec.Message, error) {
	m, err := it.Iterator.Next()
	if err != nil {
		return nil, err
	}
	if m.Channel != it.from {
		it.from, it.to = m.Channel, cmp.Or(it.part.channels[m.Channel], m.Channel)
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
