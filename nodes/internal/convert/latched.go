package convert

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/internal/filter/pattern"
)

// latchedDepth returns the number of latest messages of an output channel with which each file begins.
func (s *settings) latchedDepth(c *codec.Channel) int {
	depth := codec.LatchedDepth(c)
	if number, ok := pattern.NumberOf(s.repeats, c.Topic); ok {
		depth = cmp.Or(number, depth, 1)
	}
	return depth
}

// latchedCache holds the latest messages of latched topics, which a new subscriber would receive.
type latchedCache struct {
	depth    func(*codec.Channel) int
	channels []*codec.Channel // in the order of their first messages
	kept     map[*codec.Channel]*[]codec.Message
}

func newLatchedCache(s *settings) *latchedCache {
	return &latchedCache{depth: s.latchedDepth, kept: map[*codec.Channel]*[]codec.Message{}}
}

// add keeps a copy of m if its channel is latched. If all messages of a channel are kept, as for static transforms, the
// copy replaces a message with an equal payload: each file of a split recording repeats latched messages.
func (s *latchedCache) add(m *codec.Message) {
	kept, known := s.kept[m.Channel]
	if !known {
		if s.depth(m.Channel) > 0 {
			kept = &[]codec.Message{}
			s.channels = append(s.channels, m.Channel)
		}
		s.kept[m.Channel] = kept
	}
	if kept == nil {
		return
	}
	switch depth := s.depth(m.Channel); {
	case depth == codec.All:
		*kept = slices.DeleteFunc(*kept, func(old codec.Message) bool { return bytes.Equal(old.Data, m.Data) })
	case len(*kept) >= depth:
		*kept = slices.Delete(*kept, 0, len(*kept)-depth+1)
	}
	*kept = append(*kept, m.Clone())
}

// messages returns all messages in time order.
func (s *latchedCache) messages() (messages []codec.Message) {
	for _, c := range s.channels {
		messages = append(messages, *s.kept[c]...)
	}
	slices.SortStableFunc(messages, func(a, b codec.Message) int { return cmp.Compare(a.LogTime, b.LogTime) })
	return messages
}

// readLatched reads the latest messages of latched topics before the selected time.
func (r *messageReader) readLatched(ctx context.Context) error {
	cache := newLatchedCache(r.settings)
	lost := &r.knownLosses
	damaged := func(err error) {
		var failed *bridge.TranslationError
		if errors.As(err, &failed) {
			lost.add("latched messages from before the start that cannot be translated: "+failed.Err.Error(),
				failed.Channel.Topic, 1)
		}
	}
	it, err := r.Recording.Read(codec.Query{End: r.start, Topics: r.Selects, Damaged: damaged,
		Last: func(c *codec.Channel) int { return r.settings.latchedDepth(r.Channel(c)) }})
	for err == nil && ctx.Err() == nil {
		var m *codec.Message
		m, err = it.Next()
		if err == nil && r.Selects(m.Channel) {
			moved := *m
			moved.Channel = r.Channel(m.Channel)
			if offset := int64(r.settings.Offset); moved.PublishTime != 0 {
				moved.PublishTime = codec.Later(moved.PublishTime, offset)
			}
			cache.add(&moved)
		}
	}
	if it != nil {
		if closing := it.Close(); closing != nil {
			return closing
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !errors.Is(err, io.EOF) {
		lost.add("latched messages from before the start, behind damage: "+err.Error(), "", 0)
	}
	r.latched = cache.messages()
	if !r.settings.Latched {
		for _, m := range r.latched {
			lost.add(skippedLatched, m.Channel.Topic, 1)
		}
		r.latched = nil
	}
	return nil
}

// skippedLatched is the loss that --latched=false causes.
const skippedLatched = "latched messages that each file would begin with, because of --latched=false"

// latchedFirst yields latched messages and then the messages of an Iterator. The latched messages get the log time of
// the Iterator's first message.
type latchedFirst struct {
	codec.Iterator
	latched []codec.Message
	first   *codec.Message // read from Iterator and not yielded yet
}

func (b *latchedFirst) Next() (*codec.Message, error) {
	if len(b.latched) > 0 {
		if b.first == nil {
			first, err := b.Iterator.Next()
			if err != nil {
				return nil, err
			}
			b.first = first
		}
		m := &b.latched[0]
		b.latched = b.latched[1:]
		m.LogTime = b.first.LogTime
		return m, nil
	}
	if first := b.first; first != nil {
		b.first = nil
		return first, nil
	}
	return b.Iterator.Next()
}
