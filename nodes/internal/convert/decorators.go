package convert

import (
	"tapedeck/codec"
	"tapedeck/nodes/internal/pattern"
)

// changed iterates over the messages of a reader and changes them or leaves them out.
type changed struct {
	codec.Iterator
	change  func(*codec.Message) bool // changes a copy of a message, but not its payload; false leaves the message out
	message codec.Message
}

func (it *changed) Next() (*codec.Message, error) {
	for {
		m, err := it.Iterator.Next()
		if err != nil {
			return nil, err
		}
		it.message = *m
		if it.change(&it.message) {
			return &it.message, nil
		}
	}
}

// channel returns the output channel for an input channel. A channel that Info does not have gets one of its own.
func (s *source) channel(from *codec.Channel) *codec.Channel {
	to := s.to[from]
	if to == nil {
		to = clone(from)
		to.Topic = s.plan.rename(from.Topic)
		s.to[from] = to
	}
	return to
}

// read reads the selected messages, as the output has them. The times of q are those at which messages were received.
// It resets the observer, which it tells of damage unless that is known.
func (s *source) read(q codec.Query) (codec.Iterator, error) {
	s.observer.reset()
	window, offset := s.window, int64(s.plan.Offset)
	if q.Start != 0 {
		window.Start = max(window.Start, codec.Later(q.Start, -offset))
	}
	if q.End != 0 {
		if end := codec.Later(q.End, -offset); end != 0 && (window.End == 0 || end < window.End) {
			window.End = end
		}
	}
	window.Topics = func(c *codec.Channel) bool { return s.wants(c) && q.Wants(s.channel(c)) }
	window.Damaged, window.Mislabelled = s.observer.onDamage, s.observer.labels
	if s.again {
		window.Damaged, window.Mislabelled = func(error) {}, func(error) {}
	}
	it, err := s.ins.Read(window)
	if err != nil {
		return nil, err
	}
	return &changed{Iterator: it, change: s.changes()}, nil
}

// changes returns what selects, throttles, shifts and renames the messages of one reading.
func (s *source) changes() func(m *codec.Message) bool {
	var from, to *codec.Channel
	var wanted bool // a reader may yield channels that its Info does not have
	var limit *pattern.Throttle
	throttles := map[string]*pattern.Throttle{} // nil for topics without a rule; all channels of a topic share one
	return func(m *codec.Message) bool {
		if m.Channel != from {
			from, wanted = m.Channel, s.wants(m.Channel)
			if wanted {
				to = s.channel(from)
				var known bool
				if limit, known = throttles[to.Topic]; !known {
					limit = pattern.ThrottleOf(s.plan.throttles, to.Topic)
					throttles[to.Topic] = limit
				}
			}
		}
		if !wanted {
			return false
		}
		if limit != nil && !limit.Passes(m.LogTime) {
			s.observer.of(from).throttled++
			return false
		}
		s.shift(m)
		m.Channel = to
		return true
	}
}

// shift changes the times of a message.
func (s *source) shift(m *codec.Message) {
	if s.plan.Order == "sent" && m.PublishTime != 0 {
		m.LogTime = m.PublishTime
	}
	if !s.target.format.Keeps.PublishTime && m.PublishTime != 0 && m.PublishTime != m.LogTime {
		s.observer.of(m.Channel).published++
	}
	if offset := int64(s.plan.Offset); offset != 0 {
		m.LogTime = codec.Later(m.LogTime, offset)
		if m.PublishTime != 0 {
			m.PublishTime = codec.Later(m.PublishTime, offset)
		}
	}
}
