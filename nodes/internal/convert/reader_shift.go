package convert

import (
	"math"

	"tapedeck/codec"
)

// shifted moves messages in time.
type shifted struct {
	codec.Reader
	sent      bool  // LogTime becomes when a message was sent
	offset    int64 // ns, added to all times
	noPublish bool  // the output has no place for PublishTime
	observer  *observer
}

func newShifted(r codec.Reader, p *plan, t *target, o *observer) codec.Reader {
	s := &shifted{r, p.Order == "sent", int64(p.Offset), !t.format.Keeps.PublishTime, o}
	if !s.sent && s.offset == 0 && !s.noPublish {
		return r
	}
	return s
}

// Read implements codec.Reader. The times of the query are those at which messages were received.
func (s *shifted) Read(q codec.Query) (codec.Iterator, error) {
	if q.Start != 0 {
		q.Start = later(q.Start, -s.offset)
	}
	if q.End != 0 {
		q.End = later(q.End, -s.offset)
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
		m.LogTime = later(m.LogTime, s.offset)
		if m.PublishTime != 0 {
			m.PublishTime = later(m.PublishTime, s.offset)
		}
	}
	return true
}

// later adds to a time, as far as there are times.
func later(t, ns int64) int64 {
	switch sum := t + ns; {
	case ns > 0 && sum < t:
		return math.MaxInt64
	case ns < 0 && sum > t:
		return math.MinInt64
	default:
		return sum
	}
}
