package main

import (
	"container/heap"

	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// The values of message_order.
const (
	byReceipt = "received"
	bySending = "sent"
	byHeader  = "header"
)

// disorder is how far the time by which messages are ordered may lie from that of receipt, in ns. One that lies farther is not
// believed: a clock was not set.
const disorder = 2_000_000_000

// ordered yields messages by another time than that of receipt, which becomes their LogTime.
type ordered struct {
	it         codec.Iterator
	time       func(*codec.Message) int64
	start, end int64 // ns, of that time

	waiting messageHeap
	read    int64 // time of receipt up to which it was read
	err     error
	spare   []*orderedMessage
	out     *orderedMessage // valid until the next call
	count   uint64
}

type orderedMessage struct {
	codec.Message
	number uint64
}

// order returns the messages from start to before end, by the time that the function returns. read reads a part of the recording.
func order(time func(*codec.Message) int64, start, end int64, read func(start, end int64) (codec.Iterator, error)) (codec.Iterator, error) {
	it, err := read(start-disorder, end+disorder)
	return &ordered{it: it, time: time, start: start, end: end}, err
}

func (o *ordered) Next() (*codec.Message, error) {
	if o.out != nil {
		o.spare = append(o.spare, o.out)
		o.out = nil
	}
	for o.err == nil && (len(o.waiting) == 0 || o.waiting[0].LogTime > o.read-disorder) {
		o.take()
	}
	if len(o.waiting) == 0 {
		return nil, o.err
	}
	o.out = heap.Pop(&o.waiting).(*orderedMessage)
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
	if t < o.start || t >= o.end {
		return
	}
	kept := new(orderedMessage)
	if n := len(o.spare); n > 0 {
		kept, o.spare = o.spare[n-1], o.spare[:n-1]
	}
	data := append(kept.Data[:0], m.Data...)
	kept.Message, kept.number = *m, o.count
	kept.LogTime, kept.Data = t, data
	o.count++
	heap.Push(&o.waiting, kept)
}

func (o *ordered) Close() error { return o.it.Close() }

// messageHeap has the earliest message at its root, and of those of equal time the first.
type messageHeap []*orderedMessage

func (h messageHeap) Len() int      { return len(h) }
func (h messageHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h messageHeap) Less(i, j int) bool {
	return h[i].LogTime < h[j].LogTime || h[i].LogTime == h[j].LogTime && h[i].number < h[j].number
}
func (h *messageHeap) Push(m any) { *h = append(*h, m.(*orderedMessage)) }
func (h *messageHeap) Pop() any {
	last := len(*h) - 1
	m := (*h)[last]
	*h = (*h)[:last]
	return m
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

// stampsOf returns the stamps in the messages of a channel; nil if there are none, or its definition is neither in the recording nor
// at hand.
func stampsOf(c *codec.Channel, library *rosidl.Library) *cdr.Stamps {
	if c.Schema.Encoding == codec.SchemaROS2Msg {
		if own, err := rosidl.ParseConcatenated(c.Type, string(c.Schema.Data)); err == nil {
			library = own
		}
	}
	schema, err := cdr.NewSchema(library, c.Type)
	if err != nil {
		return nil
	}
	return schema.Stamps()
}

// stampsOfAll returns those of each channel.
func stampsOfAll(channels []*codec.Channel) map[*codec.Channel]*cdr.Stamps {
	library := msgs.Library()
	all := map[*codec.Channel]*cdr.Stamps{}
	for _, c := range channels {
		all[c] = stampsOf(c, library)
	}
	return all
}
