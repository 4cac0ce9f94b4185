package player

import (
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
)

// The values of message_order.
const (
	byReceipt = "received"
	bySending = "sent"
	byHeader  = "header"
)

// disorder is the largest difference in ns between a message's time of order and its time of receipt. A message with a
// larger difference is ordered by receipt, because a clock was not set.
const disorder = 2_000_000_000

// orderedIterator yields messages in the order of another time than receipt. That time becomes their LogTime.
type orderedIterator struct {
	it          codec.Iterator
	time        func(*codec.Message) int64
	start, end  int64 // the selected range of that time, ns
	first, last int64 // recorded range of LogTime, ns; times outside are moved to its ends

	waiting codec.Heap[*orderedMessage]
	readTo  int64 // time of receipt up to which messages were read
	err     error
	spare   []*orderedMessage
	current *orderedMessage // returned by the last call of Next
	count   uint64
}

type orderedMessage struct {
	codec.Message
	time   int64
	number uint64
}

func (o *orderedIterator) Next() (*codec.Message, error) {
	if o.current != nil {
		o.spare = append(o.spare, o.current)
		o.current = nil
	}
	for o.err == nil && (len(o.waiting) == 0 || o.waiting[0].time > o.readTo-disorder) {
		o.take()
	}
	if len(o.waiting) == 0 {
		return nil, o.err
	}
	o.current = o.waiting.Pop()
	return &o.current.Message, nil
}

// take reads a message into waiting.
func (o *orderedIterator) take() {
	m, err := o.it.Next()
	if err != nil {
		o.err = err
		return
	}
	o.readTo = m.LogTime
	t := o.time(m)
	if t < m.LogTime-disorder || t > m.LogTime+disorder {
		t = m.LogTime
	}
	if t < o.start && o.start > o.first || t >= o.end && o.end <= o.last {
		return
	}
	kept := new(orderedMessage)
	if n := len(o.spare); n > 0 {
		kept, o.spare = o.spare[n-1], o.spare[:n-1]
	}
	data := append(kept.Data[:0], m.Data...)
	kept.Message, kept.time, kept.number = *m, t, o.count
	kept.LogTime, kept.Data, kept.Buffer = min(max(t, o.first), o.last), data, nil
	o.count++
	o.waiting.Push(kept)
}

func (o *orderedIterator) Close() error { return o.it.Close() }

func (m *orderedMessage) Before(o *orderedMessage) bool {
	return m.time < o.time || m.time == o.time && m.number < o.number
}

// sendTime returns when a message was sent, or received if the recording lacks that.
func sendTime(m *codec.Message) int64 {
	if m.PublishTime != 0 {
		return m.PublishTime
	}
	return m.LogTime
}

// headerTime returns the stamp in the header of a message, or the time of receipt if there is none.
func headerTime(stamps *cdr.Stamps, m *codec.Message) int64 {
	if stamps != nil {
		if t, ok, err := stamps.First(m.Data); ok && err == nil && t != 0 {
			return t
		}
	}
	return m.LogTime
}

// stampsOf returns the stamps of each channel's messages.
func stampsOf(channels []*codec.Channel) map[*codec.Channel]*cdr.Stamps {
	library := msgs.Library()
	all := map[*codec.Channel]*cdr.Stamps{}
	for _, c := range channels {
		all[c] = c.Stamps(library)
	}
	return all
}
