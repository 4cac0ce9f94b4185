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

// latchedDepth returns how many of the last messages of an output channel a file begins with.
func (p *plan) latchedDepth(c *codec.Channel) int {
	depth := codec.LatchedDepth(c)
	if number, ok := pattern.NumberOf(p.repeats, c.Topic); ok {
		depth = cmp.Or(number, depth, 1)
	}
	return depth
}

// state holds the last messages of latched topics: what a new subscriber would receive.
type state struct {
	depth    func(*codec.Channel) int
	channels []*codec.Channel // in the order of their first messages
	kept     map[*codec.Channel]*[]codec.Message
}

func newState(p *plan) *state {
	return &state{depth: p.latchedDepth, kept: map[*codec.Channel]*[]codec.Message{}}
}

// add keeps a copy of m if its channel is latched. Where all messages of a channel are kept, as of static transforms,
// one with the payload of an earlier one replaces it: a recording of several files repeats them.
func (s *state) add(m *codec.Message) {
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
func (s *state) messages() (all []codec.Message) {
	for _, c := range s.channels {
		all = append(all, *s.kept[c]...)
	}
	slices.SortStableFunc(all, func(a, b codec.Message) int { return cmp.Compare(a.LogTime, b.LogTime) })
	return all
}

// readState reads what a recording of the selected time begins with: the last messages of latched topics before it.
func (s *source) readState(ctx context.Context) error {
	state := newState(s.plan)
	known := &s.known
	damaged := func(err error) {
		var failed *bridge.TranslationError
		if errors.As(err, &failed) {
			known.add("latched messages from before the start that cannot be translated: "+failed.Err.Error(),
				failed.Channel.Topic, 1)
		}
	}
	it, err := s.Recording.Read(codec.Query{End: s.start, Topics: s.Selects, Damaged: damaged,
		Last: func(c *codec.Channel) int { return s.plan.latchedDepth(s.Channel(c)) }})
	for err == nil && ctx.Err() == nil {
		var m *codec.Message
		m, err = it.Next()
		if err == nil && s.Selects(m.Channel) {
			moved := *m
			moved.Channel = s.Channel(m.Channel)
			if offset := int64(s.plan.Offset); moved.PublishTime != 0 {
				moved.PublishTime = codec.Later(moved.PublishTime, offset)
			}
			state.add(&moved)
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
		known.add("latched messages from before the start, behind damage: "+err.Error(), "", 0)
	}
	s.state = state.messages()
	if !s.plan.Latched {
		for _, m := range s.state {
			known.add(leftLatched, m.Channel.Topic, 1)
		}
		s.state = nil
	}
	return nil
}

// leftLatched is the loss that --latched=false causes.
const leftLatched = "latched messages that each file would begin with, because of --latched=false"

// beginning yields the messages of a state, with the log time of the first message of an iterator, and then that
// iterator.
type beginning struct {
	codec.Iterator
	state []codec.Message
	first *codec.Message // unless it was yielded
}

func (b *beginning) Next() (*codec.Message, error) {
	if len(b.state) > 0 {
		if b.first == nil {
			first, err := b.Iterator.Next()
			if err != nil {
				return nil, err
			}
			b.first = first
		}
		m := &b.state[0]
		b.state = b.state[1:]
		m.LogTime = b.first.LogTime
		return m, nil
	}
	if first := b.first; first != nil {
		b.first = nil
		return first, nil
	}
	return b.Iterator.Next()
}
