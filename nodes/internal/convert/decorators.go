package convert

import (
	"tapedeck/codec"
	"tapedeck/nodes/internal/throttle"
	"tapedeck/nodes/internal/timerange"
)

// changed iterates over the messages of a reader and changes them or leaves them out.
type changed struct {
	codec.Iterator
	change  func(*codec.Message) bool // changes a copy of a message; false leaves the message out
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

// Keep implements codec.Keeper: no change replaces a payload.
func (it *changed) Keep() *codec.Buffer { return codec.Keep(it.Iterator) }

// selected reads the selected messages of a recording, and reports damage to an observer.
type selected struct {
	codec.Reader
	window   codec.Query // of times
	wants    func(*codec.Channel) bool
	observer *observer
}

// Read implements codec.Reader. It resets the observer.
func (s *selected) Read(q codec.Query) (codec.Iterator, error) {
	s.observer.reset()
	wanted := q.Wants
	window := s.window
	if q.Start != 0 {
		window.Start = max(window.Start, q.Start)
	}
	if q.End != 0 && (window.End == 0 || q.End < window.End) {
		window.End = q.End
	}
	window.Topics = func(c *codec.Channel) bool { return s.wants(c) && wanted(c) }
	window.Damaged = s.observer.onDamage
	it, err := s.Reader.Read(window)
	if err != nil {
		return nil, err
	}
	// A reader may yield channels that its Info does not have.
	var last *codec.Channel
	var wants bool
	return &changed{Iterator: it, change: func(m *codec.Message) bool {
		if m.Channel != last {
			last, wants = m.Channel, s.wants(m.Channel)
		}
		return wants
	}}, nil
}

// renamed puts messages on the channels of the output.
type renamed struct {
	codec.Reader
	to     map[*codec.Channel]*codec.Channel // by channel of the inputs
	rename func(topic string) string
	info   codec.Info
}

// channel returns the output channel for an input channel. A channel that Info does not have gets one of its own.
func (r *renamed) channel(from *codec.Channel) *codec.Channel {
	to := r.to[from]
	if to == nil {
		to = clone(from)
		to.Topic = r.rename(from.Topic)
		r.to[from] = to
	}
	return to
}

func (r *renamed) Info() (*codec.Info, error) { return &r.info, nil }

func (r *renamed) Read(q codec.Query) (codec.Iterator, error) {
	if wants := q.Topics; wants != nil {
		q.Topics = func(c *codec.Channel) bool { return wants(r.channel(c)) }
	}
	it, err := r.Reader.Read(q)
	if err != nil {
		return nil, err
	}
	var from, to *codec.Channel
	return &changed{Iterator: it, change: func(m *codec.Message) bool {
		if m.Channel != from {
			from, to = m.Channel, r.channel(m.Channel)
		}
		m.Channel = to
		return true
	}}, nil
}

// throttled drops messages that exceed the rate limits of their topics.
type throttled struct {
	codec.Reader
	rules    []throttle.Rule
	rename   func(topic string) string // rules are about the names in the output
	observer *observer
}

func newThrottled(r codec.Reader, p *plan, o *observer) codec.Reader {
	if len(p.throttles) == 0 {
		return r
	}
	return &throttled{r, p.throttles, p.rename, o}
}

func (t *throttled) Read(q codec.Query) (codec.Iterator, error) {
	it, err := t.Reader.Read(q)
	if err != nil {
		return nil, err
	}
	throttles := map[*codec.Channel]*throttle.Throttle{} // nil for channels without a rule
	topics := map[string]*throttle.Throttle{}            // likewise, by name: the channels of a topic share one
	return &changed{Iterator: it, change: func(m *codec.Message) bool {
		limit, known := throttles[m.Channel]
		if !known {
			topic := t.rename(m.Channel.Topic)
			if limit, known = topics[topic]; !known {
				limit = throttle.Of(t.rules, topic)
			}
			topics[topic], throttles[m.Channel] = limit, limit
		}
		if limit == nil || limit.Passes(m.LogTime) {
			return true
		}
		t.observer.of(m.Channel).throttled++
		return false
	}}, nil
}

// shifted changes the times of messages.
type shifted struct {
	codec.Reader
	sent      bool  // LogTime becomes the time at which a message was sent
	offset    int64 // ns, added to all times
	noPublish bool  // the output cannot hold PublishTime
	observer  *observer
}

func newShifted(r codec.Reader, p *plan, t *target, o *observer) codec.Reader {
	s := &shifted{r, p.Order == "sent", int64(p.Offset), !t.format.Keeps.PublishTime, o}
	if !s.sent && s.offset == 0 && !s.noPublish {
		return r
	}
	return s
}

// Read implements codec.Reader. The query selects by the time at which messages were received.
func (s *shifted) Read(q codec.Query) (codec.Iterator, error) {
	if q.Start != 0 {
		q.Start = timerange.Later(q.Start, -s.offset)
	}
	if q.End != 0 {
		q.End = timerange.Later(q.End, -s.offset)
	}
	it, err := s.Reader.Read(q)
	if err != nil {
		return nil, err
	}
	return &changed{Iterator: it, change: s.shift}, nil
}

func (s *shifted) shift(m *codec.Message) bool {
	if s.sent && m.PublishTime != 0 {
		m.LogTime = m.PublishTime
	}
	if s.noPublish && m.PublishTime != 0 && m.PublishTime != m.LogTime {
		s.observer.of(m.Channel).published++
	}
	if s.offset != 0 {
		m.LogTime = timerange.Later(m.LogTime, s.offset)
		if m.PublishTime != 0 {
			m.PublishTime = timerange.Later(m.PublishTime, s.offset)
		}
	}
	return true
}
