package mcap

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/foxglove/mcap/go/mcap"

	"tapedeck/codec"
	"tapedeck/codec/internal/tail"
)

// openBytes is how many bytes of records an iterator holds of segments that overlap.
const openBytes = 256 << 20

// iterator merges the segments of a file by time. A segment is open from the time of its first message on.
type iterator struct {
	r       *Reader
	q       codec.Query
	loader  *loader
	pending []*segment               // to be opened, by start; those that are not wanted are among them
	next    *segment                 // of pending, the first one that is wanted; nil when there is none
	before  int64                    // segments at or behind this offset are not read
	open    []*source                // a heap, the earliest message at the root
	used    bool                     // the message at the root was handed out
	held    int                      // bytes that open holds
	limit   int                      // of held, unless one source alone has more
	free    []byte                   // a buffer to load the next segment into
	wanted  []want                   // by channel
	keep    func(*codec.Channel) int // unless nil, how many of the last messages of a channel are wanted
	msg     codec.Message
	err     error
	last    error // what ends the iteration
}

// want says whether the messages of a channel are wanted.
type want struct {
	asked   bool
	channel *codec.Channel // nil: no
	tail    *tail.Tail     // unless nil, what is wanted of them
}

// source is a segment that is read.
type source struct {
	*segment
	records []byte // nil when they are not loaded
	order   []int  // where messages are in records, by time; nil when that is how they follow each other
	next    int    // in order, or in records
	head    int    // where the current message is in records
	time    int64  // of the current message
}

func (s *source) before(o *source) bool {
	return s.time < o.time || s.time == o.time && s.offset < o.offset
}

func newIterator(r *Reader, q codec.Query) *iterator {
	it := prepare(r, q)
	it.pick()
	return it
}

// prepare returns an iterator that has not picked a segment yet.
func prepare(r *Reader, q codec.Query) *iterator {
	it := &iterator{r: r, q: q, loader: r.loader(), limit: openBytes, last: io.EOF, before: math.MaxInt64}
	for _, d := range r.damage {
		if q.Damaged == nil {
			it.before, it.last = d.offset, d.err
			break
		}
		q.Damaged(d.err)
	}
	it.pending = r.byStart[r.firstUntil(q.Start):]
	return it
}

// pick finds the next segment to be opened.
func (it *iterator) pick() {
	it.next = nil
	for len(it.pending) > 0 && it.next == nil {
		s := it.pending[0]
		it.pending = it.pending[1:]
		if it.q.End != 0 && s.start >= it.q.End {
			it.pending = nil
		} else if it.selects(s) {
			it.next = s
		}
	}
}

// selects says whether s can hold messages that are wanted.
func (it *iterator) selects(s *segment) bool {
	return s.offset < it.before && s.end >= it.q.Start && (it.q.End == 0 || s.start < it.q.End) && it.wantsAny(s.channels)
}

// Next implements codec.Iterator.
func (it *iterator) Next() (*codec.Message, error) {
	if it.err == nil {
		it.err = it.step()
	}
	if it.err != nil {
		return nil, it.err
	}
	return &it.msg, nil
}

// step moves on to the next message.
func (it *iterator) step() error {
	if it.used {
		if err := it.advanceRoot(); err != nil {
			return err
		}
	}
	for it.next != nil && (len(it.open) == 0 || it.next.start <= it.open[0].time) {
		s := &source{segment: it.next}
		it.pick()
		if err := it.start(s); err != nil {
			return err
		}
	}
	if len(it.open) == 0 {
		return it.last
	}
	s := it.open[0]
	if s.records == nil {
		it.load(s)
		if s.head >= len(s.records) {
			return it.changed(s)
		}
	}
	_, content, _ := cutRecord(s.records, s.head)
	if len(content) < messageHead {
		return it.changed(s)
	}
	it.used = true
	it.msg = codec.Message{
		Channel:     it.wanted[messageChannel(content)].channel,
		LogTime:     s.time,
		PublishTime: int64(binary.LittleEndian.Uint64(content[14:])),
		Data:        content[messageHead:],
	}
	return nil
}

func (it *iterator) changed(s *source) error {
	return fmt.Errorf("read %s: %v: it changed while it was read", it.r.path, s)
}

// start opens s.
func (it *iterator) start(s *source) error {
	errs := it.load(s)
	if s.told {
		errs = nil
	}
	for _, err := range errs {
		if err := it.report(err); err != nil {
			return err
		}
	}
	if s.unsorted {
		s.order = orderByTime(s.records)
	}
	ok, err := it.advance(s)
	if err != nil {
		return err
	}
	if !ok {
		it.release(s)
		return nil
	}
	it.open = append(it.open, s)
	for i := len(it.open) - 1; i > 0 && it.open[i].before(it.open[(i-1)/2]); i = (i - 1) / 2 {
		it.open[i], it.open[(i-1)/2] = it.open[(i-1)/2], it.open[i]
	}
	if s.time < s.start {
		return it.report(fmt.Errorf("%v: a message is earlier than the index says", s))
	}
	return nil
}

// load loads the records of s, and lets go of those that will be needed last if they become too many.
func (it *iterator) load(s *source) []error {
	records, errs := it.loader.load(s.segment, it.free)
	if records == nil {
		records = []byte{}
	}
	s.records, it.free = records, nil
	it.held += cap(records)
	for it.held > it.limit {
		var last *source
		for _, o := range it.open {
			if o != s && o.records != nil && (last == nil || last.before(o)) {
				last = o
			}
		}
		if last == nil {
			break
		}
		it.release(last)
	}
	return errs
}

func (it *iterator) release(s *source) {
	it.held -= cap(s.records)
	if cap(s.records) > cap(it.free) {
		it.free = s.records[:0]
	}
	s.records = nil
}

// advanceRoot moves the source at the root to its next message.
func (it *iterator) advanceRoot() error {
	it.used = false
	s := it.open[0]
	ok, err := it.advance(s)
	if err != nil {
		return err
	}
	if !ok {
		it.release(s)
		last := len(it.open) - 1
		it.open[0] = it.open[last]
		it.open = it.open[:last]
	}
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(it.open); child++ {
			if it.open[child].before(it.open[least]) {
				least = child
			}
		}
		if least == i {
			return nil
		}
		it.open[i], it.open[least] = it.open[least], it.open[i]
		i = least
	}
}

// advance moves s to its next message that is wanted, if there is one.
func (it *iterator) advance(s *source) (bool, error) {
	for {
		off := s.next
		if s.order != nil {
			if s.next == len(s.order) {
				return false, nil
			}
			off = s.order[s.next]
		}
		if off >= len(s.records) {
			return false, nil
		}
		op, content, next := cutRecord(s.records, off)
		if next < 0 || op == mcap.OpMessage && len(content) < messageHead {
			return false, it.changed(s) // it was loaded again
		}
		if s.order != nil {
			next = s.next + 1
		}
		s.next = next
		if op != mcap.OpMessage || !it.q.Covers(messageTime(content)) {
			continue
		}
		id, t := messageChannel(content), messageTime(content)
		wanted, err := it.wants(id)
		if err != nil {
			return false, err
		}
		if !wanted {
			continue
		}
		if only := it.wanted[id].tail; only == nil || only.Has(tail.Key{Time: t, Place: s.offset, Offset: int64(off)}) {
			s.head, s.time = off, t
			return true, nil
		}
	}
}

// wants says whether the messages of a channel are wanted. The error is damage that ends the iteration.
func (it *iterator) wants(id uint16) (bool, error) {
	if int(id) < len(it.wanted) && it.wanted[id].asked {
		return it.wanted[id].channel != nil, nil
	}
	if missing := int(id) + 1 - len(it.wanted); missing > 0 {
		it.wanted = append(it.wanted, make([]want, missing)...)
	}
	it.wanted[id].asked = true
	if !it.r.known(id) {
		return false, it.report(unknownChannel(id))
	}
	channel := it.r.channels[id]
	if !it.q.Wants(channel) {
		return false, nil
	}
	if it.keep != nil {
		n := it.keepOf(id)
		if n == 0 {
			return false, nil
		}
		it.wanted[id].tail = tail.New(n)
	}
	it.wanted[id].channel = channel
	return true, nil
}

// wantsAny says whether messages of one of the channels are wanted; nil is any channel.
func (it *iterator) wantsAny(channels []uint16) bool {
	if channels == nil {
		return true
	}
	return slices.ContainsFunc(channels, func(id uint16) bool {
		wanted, err := it.wants(id)
		return wanted || err != nil
	})
}

// report tells of damage, and returns it as the error that ends the iteration if nobody wants to be told.
func (it *iterator) report(err error) error {
	err = fmt.Errorf("read %s: %w", it.r.path, err)
	if it.q.Damaged == nil {
		return err
	}
	it.q.Damaged(err)
	return nil
}

// Close implements codec.Iterator.
func (it *iterator) Close() error {
	if it.loader != nil {
		it.loader.close()
	}
	*it = iterator{err: io.EOF}
	return nil
}

// orderByTime returns where the messages are in records, by time.
func orderByTime(records []byte) []int {
	var order []int
	for off := 0; off < len(records); {
		op, _, next := cutRecord(records, off)
		if op == mcap.OpMessage {
			order = append(order, off)
		}
		off = next
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(messageTime(records[a+recordHead:]), messageTime(records[b+recordHead:]))
	})
	return order
}
