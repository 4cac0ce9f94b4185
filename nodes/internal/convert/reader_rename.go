package convert

import "tapedeck/codec"

// renamed reads messages on the channels of the output.
type renamed struct {
	codec.Reader
	to     map[*codec.Channel]*codec.Channel // by channel of the inputs
	rename func(topic string) string
	info   codec.Info
}

// channel returns the channel of the output for one of an input. One that Info does not have becomes one of its own.
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
