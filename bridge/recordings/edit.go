package recordings

import (
	"fmt"
	"maps"
	"slices"

	"tapedeck/codec"
)

// Edits select and change the messages of a Recording. The zero value changes nothing.
type Edits struct {
	// Select reports whether the messages of a channel are read; nil: all are. It is also called for channels that Info
	// does not list because only reading finds them.
	Select func(*codec.Channel) bool
	// Rename returns the new name of a topic; nil: topics keep their names. With Rename, equal channels of several
	// recordings become one channel. Channels of one recording are not joined.
	Rename func(topic string) string
	// Filter, unless nil, is called when a reading begins. The returned function reports whether a message of the
	// reading is kept. It is called with the selected messages in their order, before other edits change them.
	Filter func() func(*codec.Message) bool

	Start, End int64 // time range of selected messages, as in codec.Query, before Sent and Offset apply
	Sent       bool  // LogTime becomes PublishTime if PublishTime is known
	Offset     int64 // ns that are added to the times of messages
}

// Edited is a Recording with Edits.
type Edited struct {
	*Recording
	edits    Edits
	info     codec.Info
	channels map[*codec.Channel]*codec.Channel // edited channels by channels of the parts; nil: channels are not edited
}

var _ codec.Reader = (*Edited)(nil)

// Edit returns the recording with edits. Closing the result closes r.
func (r *Recording) Edit(edits Edits) *Edited {
	whole, _ := r.Info() // has no error
	e := &Edited{Recording: r, edits: edits, info: *whole}
	e.info.Topics, e.info.MessageCount = nil, 0
	e.info.StartTime = codec.Later(whole.StartTime, edits.Offset)
	e.info.EndTime = codec.Later(whole.EndTime, edits.Offset)
	if edits.Rename != nil {
		e.channels = map[*codec.Channel]*codec.Channel{}
	}
	joined := map[channelKey]int{} // indices of e.info.Topics
	for _, p := range r.Parts {
		seen := map[channelKey]int{}
		for _, t := range p.Info.Topics {
			if !e.Selects(t.Channel) {
				continue
			}
			e.info.MessageCount += t.MessageCount
			if e.channels == nil {
				e.info.Topics = append(e.info.Topics, t)
				continue
			}
			key := e.key(t.Channel, seen)
			i, known := joined[key]
			if !known {
				i = len(e.info.Topics)
				joined[key] = i
				e.info.Topics = append(e.info.Topics, codec.TopicInfo{Channel: e.renamed(t.Channel)})
			}
			to := &e.info.Topics[i]
			to.MessageCount += t.MessageCount
			e.channels[t.Channel] = to.Channel
			if known {
				join(to.Channel, t.Channel)
			}
		}
	}
	return e
}

// channelKey identifies an edited channel.
type channelKey struct {
	topic, typeName, encoding, schemaEncoding, schema, metadata string
	// nth is the number among otherwise equal channels of a recording.
	nth int
}

// key returns the key of a channel. seen counts the channels of the recording by their keys.
func (e *Edited) key(c *codec.Channel, seen map[channelKey]int) channelKey {
	metadata := maps.Clone(c.Metadata)
	delete(metadata, codec.UnreadQoS)
	delete(metadata, "md5sum") // the schema determines it
	key := channelKey{e.edits.Rename(c.Topic), c.Type, c.Encoding, c.Schema.Encoding, string(c.Schema.Data),
		fmt.Sprint(metadata), 0}
	seen[key]++
	key.nth = seen[key]
	return key
}

// renamed returns a copy of a channel with its new name.
func (e *Edited) renamed(c *codec.Channel) *codec.Channel {
	to := *c
	to.Topic, to.QoS, to.Metadata = e.edits.Rename(c.Topic), slices.Clone(c.QoS), maps.Clone(c.Metadata)
	delete(to.Metadata, codec.UnreadQoS) // it concerns one recording only
	return &to
}

// join adds to a channel the type hash and QoS of an equal channel of another recording.
func join(to, from *codec.Channel) {
	if to.TypeHash == "" {
		to.TypeHash = from.TypeHash
	}
	to.QoS = codec.JoinQoS(to.QoS, from.QoS)
}

// Selects reports whether the messages of a channel of a part are read.
func (e *Edited) Selects(c *codec.Channel) bool { return e.edits.Select == nil || e.edits.Select(c) }

// Channel returns the edited channel for a channel of a part. A channel that Info does not list gets its own edited
// channel.
func (e *Edited) Channel(c *codec.Channel) *codec.Channel {
	if e.channels == nil {
		return c
	}
	to := e.channels[c]
	if to == nil {
		to = e.renamed(c)
		e.channels[c] = to
	}
	return to
}

// Info implements codec.Reader. It has the selected topics, and counts all their messages, including messages that the
// time range and Filter leave out.
func (e *Edited) Info() (*codec.Info, error) { return &e.info, nil }

// Read implements codec.Reader. The times of q include Offset, but not the change of Sent.
func (e *Edited) Read(q codec.Query) (codec.Iterator, error) {
	onlySelects := e.channels == nil && e.edits.Filter == nil && !e.edits.Sent
	if q.Last != nil && !onlySelects {
		return codec.ReadLast(q, e.Read)
	}
	requested := q
	q.Topics = func(c *codec.Channel) bool { return e.Selects(c) && requested.Wants(e.Channel(c)) }
	q.Start, q.End = e.timeRange(q)
	var keeps func(*codec.Message) bool
	if e.edits.Filter != nil {
		keeps = e.edits.Filter()
	}
	it, err := e.Recording.Read(q)
	if err != nil || onlySelects && e.edits.Offset == 0 {
		return it, err
	}
	return &editing{Iterator: it, edited: e, keeps: keeps}, nil
}

// timeRange returns the time range that both q and the edits select, without Offset.
func (e *Edited) timeRange(q codec.Query) (start, end int64) {
	start, end = e.edits.Start, e.edits.End
	if q.Start != 0 {
		start = max(start, codec.Later(q.Start, -e.edits.Offset))
	}
	if q.End != 0 {
		if until := codec.Later(q.End, -e.edits.Offset); until != 0 && (end == 0 || until < end) {
			end = until
		}
	}
	return start, end
}

// editing is the iterator of an Edited that changes messages.
type editing struct {
	codec.Iterator
	edited   *Edited
	keeps    func(*codec.Message) bool // nil: all messages are kept
	from, to *codec.Channel            // channel of the last message, and its edited channel; to is nil if not selected
	message  codec.Message
}

func (it *editing) Next() (*codec.Message, error) {
	edits := &it.edited.edits
	for {
		m, err := it.Iterator.Next()
		if err != nil {
			return nil, err
		}
		if m.Channel != it.from { // a reader may find a channel that no Info lists, without calling q.Topics for it
			it.from, it.to = m.Channel, nil
			if it.edited.Selects(m.Channel) {
				it.to = it.edited.Channel(m.Channel)
			}
		}
		if it.to == nil || it.keeps != nil && !it.keeps(m) {
			continue
		}
		it.message = *m
		it.message.Channel = it.to
		if edits.Sent && m.PublishTime != 0 {
			it.message.LogTime = m.PublishTime
		}
		if edits.Offset != 0 {
			it.message.LogTime = codec.Later(it.message.LogTime, edits.Offset)
			if m.PublishTime != 0 {
				it.message.PublishTime = codec.Later(m.PublishTime, edits.Offset)
			}
		}
		return &it.message, nil
	}
}
