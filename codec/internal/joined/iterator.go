package joined

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"tapedeck/codec"
)

// iterator merges files by time. A file is open from the time of its first message on.
type iterator struct {
	q       codec.Query
	pending []*part // by start
	open    []*partIterator
	current *partIterator // whose message was handed out
	read    func(*part, codec.Query) (codec.Iterator, error)
	err     error
}

func (r *Reader) newIterator(q codec.Query) *iterator {
	it := &iterator{q: q, read: func(p *part, q codec.Query) (codec.Iterator, error) { return p.Read(q) }}
	if q.Topics != nil {
		// Each file has channels of its own for what is one of the recording.
		wanted := map[*codec.Channel]bool{}
		for _, t := range r.topics {
			wanted[t.Channel] = q.Topics(t.Channel)
		}
		it.q.Topics = func(c *codec.Channel) bool { return wanted[c] }
	}
	for _, p := range r.parts {
		if p.info.EndTime >= q.From() && (q.End == 0 || p.info.StartTime < q.End) {
			it.pending = append(it.pending, p)
		}
	}
	return it
}

// Next implements codec.Iterator.
func (it *iterator) Next() (*codec.Message, error) {
	if it.err == nil {
		it.err = it.step()
	}
	if it.err != nil {
		return nil, it.err
	}
	return &it.current.msg, nil
}

// step moves on to the next message.
func (it *iterator) step() error {
	if it.current != nil {
		if err := it.advance(it.current); err != nil {
			return err
		}
	}
	for len(it.pending) > 0 && (len(it.open) == 0 || it.pending[0].info.StartTime <= it.first().msg.LogTime) {
		p := it.pending[0]
		it.pending = it.pending[1:]
		from, err := it.read(p, it.queryOf(p))
		if err != nil {
			return err
		}
		it.open = append(it.open, &partIterator{Iterator: from, part: p})
		if err := it.advance(it.open[len(it.open)-1]); err != nil {
			return err
		}
	}
	if len(it.open) == 0 {
		return io.EOF
	}
	it.current = it.first()
	return nil
}

// first returns the open file with the earliest message; of several the one that begins first. There are few.
func (it *iterator) first() *partIterator {
	first := it.open[0]
	for _, p := range it.open[1:] {
		if p.msg.LogTime < first.msg.LogTime {
			first = p
		}
	}
	return first
}

// advance moves a file on to its next message, or closes it behind the last one.
func (it *iterator) advance(p *partIterator) error {
	err := p.next()
	if !errors.Is(err, io.EOF) {
		return err
	}
	it.current = nil
	it.open = slices.DeleteFunc(it.open, func(o *partIterator) bool { return o == p })
	return p.Close()
}

// queryOf returns the query for the channels of a file.
func (it *iterator) queryOf(p *part) codec.Query {
	q := it.q
	if q.Topics != nil {
		q.Topics = func(c *codec.Channel) bool { return it.q.Topics(cmp.Or(p.channels[c], c)) }
	}
	return q
}

// Close implements codec.Iterator.
func (it *iterator) Close() error {
	it.err = io.EOF
	var errs []error
	for _, p := range it.open {
		errs = append(errs, p.Close())
	}
	it.open, it.pending = nil, nil
	return errors.Join(errs...)
}

// partIterator makes messages of a file those of the recording.
type partIterator struct {
	codec.Iterator
	part *part
	from *codec.Channel // the channel of the last message, and that of the recording
	to   *codec.Channel
	msg  codec.Message
}

// next moves on to the next message.
func (it *partIterator) next() error {
	m, err := it.Next()
	if err != nil {
		return err
	}
	if m.Channel != it.from {
		it.from, it.to = m.Channel, cmp.Or(it.part.channels[m.Channel], m.Channel)
	}
	it.msg = *m
	it.msg.Channel = it.to
	return nil
}
