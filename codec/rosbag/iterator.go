package rosbag

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/internal/tail"
)

// openBytes is how many bytes of records an iterator holds of segments that overlap.
const openBytes = 256 << 20

// iterator merges the segments of a bag by time. A segment is open from the time of its first message on.
type iterator struct {
	r       *Reader
	q       codec.Query
	loader  *loader
	pending []*source                     // not yet open, by start
	open    []*source                     // a heap, the earliest message at the root
	used    bool                          // the message at the root was handed out
	held    int                           // bytes that open holds
	limit   int                           // of held, unless one source alone has more
	free    []byte                        // a buffer to load the next segment into
	wanted  map[uint32]*codec.Channel     // nil for those that are not wanted
	unknown map[uint32]bool               // connections that were reported
	tails   map[*codec.Channel]*tail.Tail // unless nil, what is wanted of each
	msg     codec.Message
	err     error
	last    error // what ends the iteration
}

// source is a segment that is read.
type source struct {
	*segment
	records []byte         // nil when they are not loaded
	order   []int          // where messages are in records, by time; nil when that is how they follow each other
	next    int            // in order, or in records
	head    int            // where the current message is in records
	time    int64          // of the current message
	channel *codec.Channel // likewise
	data    []byte         // likewise; nil when it is to be loaded again
}

func (s *source) before(o *source) bool {
	return s.time < o.time || s.time == o.time && s.offset < o.offset
}

func newIterator(r *Reader, q codec.Query) *iterator {
	it := &iterator{r: r, q: q, loader: r.loader(), limit: openBytes, last: io.EOF, wanted: map[uint32]*codec.Channel{}, unknown: map[uint32]bool{}}
	end := int64(math.MaxInt64)
	for _, d := range r.damage {
		if q.Damaged == nil {
			end, it.last = d.offset, d.err
			break
		}
		q.Damaged(d.err)
	}
	for i := range r.segments {
		s := &r.segments[i]
		if s.offset < end && s.end >= q.Start && (q.End == 0 || s.start < q.End) && slices.ContainsFunc(s.conns, it.wants) {
			it.pending = append(it.pending, &source{segment: s})
		}
	}
	slices.SortStableFunc(it.pending, byStart)
	return it
}

func byStart(a, b *source) int { return cmp.Compare(a.start, b.start) }

// wants says whether the messages of a connection are wanted.
func (it *iterator) wants(conn uint32) bool {
	channel, asked := it.wanted[conn]
	if !asked {
		if channel = it.r.channels[conn]; channel != nil && !it.q.Wants(channel) {
			channel = nil
		}
		it.wanted[conn] = channel
	}
	return channel != nil
}

// keeps says whether a message is among the last ones, when only those are wanted.
func (it *iterator) keeps(conn uint32, k tail.Key) bool {
	return it.tails == nil || it.tails[it.wanted[conn]].Has(k)
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
	for len(it.pending) > 0 && (len(it.open) == 0 || it.pending[0].start <= it.open[0].time) {
		s := it.pending[0]
		it.pending = it.pending[1:]
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
		h, data, next := cutRecord(s.records, s.head)
		if next < 0 || !h.isMessage() {
			return it.changed(s)
		}
		s.data = data
	}
	it.used = true
	it.msg = codec.Message{Channel: s.channel, LogTime: s.time, Data: s.data}
	return nil
}

func (it *iterator) changed(s *source) error {
	return fmt.Errorf("read %s: %v: it changed while it was read", it.r.path, s)
}

// start opens s.
func (it *iterator) start(s *source) error {
	errs := it.load(s)
	if !it.r.indexed {
		errs = nil // they are in Reader.damage
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
	s.records, s.data = nil, nil
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
		h, data, next := cutRecord(s.records, off)
		if next < 0 || h.op == opMessage && !h.isMessage() {
			return false, it.changed(s) // it was loaded again
		}
		if s.order != nil {
			next = s.next + 1
		}
		s.next = next
		if h.op != opMessage || !it.q.Covers(h.time) {
			continue
		}
		conn := it.r.connection(&h)
		if it.wants(conn) && it.keeps(conn, tail.Key{Time: h.time, Place: s.offset, Offset: int64(off)}) {
			s.head, s.time, s.channel, s.data = off, h.time, it.wanted[conn], data
			return true, nil
		}
		if it.r.indexed && it.r.channels[conn] == nil && !it.unknown[conn] {
			it.unknown[conn] = true
			if err := it.report(unknownConnection(conn)); err != nil {
				return false, err
			}
		}
	}
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
	*it = iterator{err: io.EOF}
	return nil
}

// orderByTime returns where the messages are in records, by time.
func orderByTime(records []byte) []int {
	type place struct {
		time int64
		off  int
	}
	var places []place
	for off, h := range messages(records) {
		places = append(places, place{h.time, off})
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.time, b.time) })
	order := make([]int, len(places))
	for i, p := range places {
		order[i] = p.off
	}
	return order
}
