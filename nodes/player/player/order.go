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

// disorder is how far the time by which messages are ordered may lie from that of receipt, in ns. One that lies
// farther is not believed: a clock was not set.
const disorder = 2_000_000_000

// ordered yields messages by another time than that of receipt, which becomes their LogTime.
type ordered struct {
	it          codec.Iterator
	time        func(*codec.Message) int64
	start, end  int64 // ns, of that time
	first, last int64 // of the recording: what was before or after is played then

	waiting codec.Heap[*orderedMessage]
	read    int64 // time of receipt up to which it was read
	err     error
	spare   []*orderedMessage
	out     *orderedMessage // valid until the next call
	count   uint64
}

type orderedMessage struct {
	codec.Message
	time   int64
	number uint64
}

func (o *ordered) Next() (*codec.Message, error) {
	if o.out != nil {
		o.spare = append(o.spare, o.out)
		o.out = nil
	}
	for o.err == nil && (len(o.waiting) == 0 || o.waiting[0].time > o.read-disorder) {
		o.take()
	}
	if len(o.waiting) == 0 {
		return nil, o.err
	}
	o.out = o.waiting.Pop()
	return &o.out.Message, nil
}

// take reads a message.
func (o *ordered) take() {
	m, err := o.it.Next()
	if err != nil {
		o.err = err
		return
	}
	o.read = m.LogTime
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

func (o *ordered) Close() error { return o.it.Close() }

func (m *orderedMessage) Before(o *orderedMessage) bool {
	return m.time < o.time || m.time == o.time && m.number < o.number
}

// sendTime returns when a message was sent, as far as that was recorded.
func sendTime(m *codec.Message) int64 {
	if m.PublishTime != 0 {
		return m.PublishTime
	}
	return m.LogTime
}

// headerTime returns the stamp in the header of a message with those stamps, or when it was received.
func headerTime(stamps *cdr.Stamps, m *codec.Message) int64 {
	if stamps != nil {
		if t, ok, err := stamps.First(m.Data); ok && err == nil && t != 0 {
			return t
		}
	}
	return m.LogTime
}

// stampsOfAll returns those of each channel.
func stampsOfAll(channels []*codec.Channel) map[*codec.Channel]*cdr.Stamps {
	library := msgs.Library()
	all := map[*codec.Channel]*cdr.Stamps{}
	for _, c := range channels {
		all[c] = c.Stamps(library)
	}
	return all
}
