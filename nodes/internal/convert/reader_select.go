package convert

import "tapedeck/codec"

// selected reads what is selected of a recording, and has an observer hear of what is damaged.
type selected struct {
	codec.Reader
	window   codec.Query // of times
	wants    func(*codec.Channel) bool
	observer *observer
}

// Read implements codec.Reader. The observer begins to count anew.
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
	// Not every reader has told Info of all channels.
	var last *codec.Channel
	var wants bool
	return &changed{Iterator: it, change: func(m *codec.Message) bool {
		if m.Channel != last {
			last, wants = m.Channel, s.wants(m.Channel)
		}
		return wants
	}}, nil
}
