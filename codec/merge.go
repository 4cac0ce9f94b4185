package codec

import (
	"cmp"
	"errors"
	"io"
	"math"
	"slices"
)

// Merge merges several iterators in the order of LogTime. Messages with equal times come in the order of their
// iterators. Closing the result closes all iterators.
func Merge(its ...Iterator) Iterator {
	m := &merge{}
	for i, it := range its {
		m.pending = append(m.pending, &mergeInput{MergeInput: MergeInput{Start: math.MinInt64}, it: it, order: i})
	}
	return m
}

// MergeInput is an iterator that MergeInputs opens when it needs its first message.
type MergeInput struct {
	Start int64 // lower bound of LogTime in ns
	Open  func() (Iterator, error)
}

// MergeInputs is like Merge, but opens each iterator when its time comes, and closes it after its last message.
func MergeInputs(inputs []MergeInput) Iterator {
	m := &merge{}
	for i, in := range inputs {
		m.pending = append(m.pending, &mergeInput{MergeInput: in, order: i})
	}
	slices.SortStableFunc(m.pending, func(a, b *mergeInput) int { return cmp.Compare(a.Start, b.Start) })
	return m
}

type mergeInput struct {
	MergeInput
	it    Iterator // nil before it is opened
	order int      // index of the input
	msg   *Message // the next message
}

func (in *mergeInput) Before(o *mergeInput) bool {
	return in.msg.LogTime < o.msg.LogTime || in.msg.LogTime == o.msg.LogTime && in.order < o.order
}

type merge struct {
	pending []*mergeInput     // by start
	open    Heap[*mergeInput] // inputs that have a message
	used    bool              // the message of the first open input was returned
	err     error
}

func (m *merge) Next() (*Message, error) {
	if m.err == nil {
		m.err = m.advance()
	}
	if m.err != nil {
		return nil, m.err
	}
	return m.open[0].msg, nil
}

// advance advances to the next message.
func (m *merge) advance() error {
	if m.used {
		m.used = false
		in := m.open[0]
		msg, err := in.it.Next()
		switch {
		case err == nil:
			in.msg = msg
			m.open.Fix()
		case errors.Is(err, io.EOF):
			m.open.Pop()
			if err := in.it.Close(); err != nil {
				return err
			}
		default:
			return err
		}
	}
	for len(m.pending) > 0 && (len(m.open) == 0 || m.pending[0].Start <= m.open[0].msg.LogTime) {
		if err := m.start(); err != nil {
			return err
		}
	}
	if len(m.open) == 0 {
		return io.EOF
	}
	m.used = true
	return nil
}

// start opens the first pending input and reads its first message.
func (m *merge) start() (err error) {
	in := m.pending[0]
	if in.it == nil {
		in.it, err = in.Open()
		if err != nil {
			in.it = nil
			return err
		}
	}
	in.msg, err = in.it.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return err // the input stays pending, so Close closes it
	}
	m.pending = m.pending[1:]
	if err != nil {
		return in.it.Close()
	}
	m.open.Push(in)
	return nil
}

func (m *merge) Close() error {
	var errs []error
	for _, in := range slices.Concat(m.open, m.pending) {
		if in.it != nil {
			errs = append(errs, in.it.Close())
		}
	}
	m.open, m.pending, m.err = nil, nil, io.EOF
	return errors.Join(errs...)
}
