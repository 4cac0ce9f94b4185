package codec

import (
	"errors"
	"io"
)

// Merge yields the messages of several iterators as one, in the order of LogTime; of messages with equal times those of
// the earlier iterator come first. Closing it closes them all.
func Merge(its ...Iterator) Iterator {
	m := &merge{all: its}
	for i, it := range its {
		m.heads = append(m.heads, mergeHead{it: it, order: i})
	}
	return m
}

type mergeHead struct {
	it    Iterator
	order int
	msg   *Message
}

// before says whether h comes first.
func (h *mergeHead) before(o *mergeHead) bool {
	return h.msg.LogTime < o.msg.LogTime || h.msg.LogTime == o.msg.LogTime && h.order < o.order
}

// merge is a binary heap of the iterators that have a message, the earliest at the root.
type merge struct {
	all     []Iterator
	heads   []mergeHead
	started bool
	err     error
}

func (m *merge) Next() (*Message, error) {
	if m.err != nil {
		return nil, m.err
	}
	if err := m.advance(); err != nil {
		m.err = err
		return nil, err
	}
	if len(m.heads) == 0 {
		m.err = io.EOF
		return nil, io.EOF
	}
	return m.heads[0].msg, nil
}

// advance moves the iterator whose message was handed out last, or at first all of them.
func (m *merge) advance() error {
	if !m.started {
		m.started = true
		live := m.heads[:0]
		for _, h := range m.heads {
			msg, err := h.it.Next()
			if errors.Is(err, io.EOF) {
				continue
			}
			if err != nil {
				return err
			}
			h.msg = msg
			live = append(live, h)
		}
		m.heads = live
		for i := len(live)/2 - 1; i >= 0; i-- {
			m.sift(i)
		}
		return nil
	}
	msg, err := m.heads[0].it.Next()
	switch {
	case err == nil:
		m.heads[0].msg = msg
	case errors.Is(err, io.EOF):
		last := len(m.heads) - 1
		m.heads[0] = m.heads[last]
		m.heads = m.heads[:last]
	default:
		return err
	}
	m.sift(0)
	return nil
}

func (m *merge) sift(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heads); child++ {
			if m.heads[child].before(&m.heads[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		m.heads[i], m.heads[least] = m.heads[least], m.heads[i]
		i = least
	}
}

func (m *merge) Close() error {
	var errs []error
	for _, it := range m.all {
		errs = append(errs, it.Close())
	}
	m.err = io.EOF
	return errors.Join(errs...)
}
