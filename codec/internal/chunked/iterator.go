package chunked

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/store"
)

// openBytes is the maximum number of bytes of records that an iterator holds, for segments that overlap in time.
const openBytes = 256 << 20

// Limits for fetching segments of a file in a store ahead.
const (
	aheadSegments = 64
	aheadBytes    = 32 << 20
)

// iterator merges the segments of a file by time. A segment is open from the time of its first message on. Open
// segments are held in memory up to a limit. Beyond the limit, the segments that are needed last are released, and
// loaded again in time.
type iterator struct {
	*Contents
	q        codec.Query
	wanted   []want // by channel
	loader   Loader
	unpacker *Unpacker

	pending []*Segment // segments to be opened, by start; some may not be wanted
	next    *Segment   // the first wanted segment of pending; nil if there is none
	before  int64      // segments at or behind this offset are not read
	ahead   int64      // number of bytes to fetch ahead

	open      codec.Heap[*openSegment] // by time of the current message
	heldBytes int                      // bytes of records in open
	limit     int                      // maximum of heldBytes, unless a single segment has more
	spare     *spare                   // memory to load segments into

	used  bool // the message at the root of open was returned
	begun bool // a message was returned
	msg   codec.Message
	err   error
	end   error // error after the last message
}

// want tells which messages of a channel are wanted.
type want struct {
	asked   bool           // the query was asked
	channel *codec.Channel // nil: no messages are wanted
	tail    *Tail          // the wanted messages; nil: all
}

// openSegment is a segment that is being read.
type openSegment struct {
	*Segment
	records []byte        // nil if the segment is not loaded
	buffer  *codec.Buffer // buffer of records
	order   []int         // offsets of messages in records, by time; nil if records are in order
	next    int           // index in order, or offset in records if order is nil
	head    int           // offset of the current message in records
	current Message       // current.Data is nil if the records must be loaded again
}

func (s *openSegment) Before(o *openSegment) bool {
	return s.current.Time < o.current.Time || s.current.Time == o.current.Time && s.Offset < o.Offset
}

// Read returns the messages that q selects, in time order. The iterator closes l. Sort must be called before Read.
func (c *Contents) Read(l Loader, q codec.Query) codec.Iterator {
	it := c.prepare(l, q)
	if q.Last != nil {
		it.findLast()
		return it
	}
	unwanted := make([]bool, len(c.Channels))
	for id := range unwanted {
		unwanted[id] = c.Known(id) && !it.wants(id)
	}
	if slices.Contains(unwanted, true) {
		l.Skip(unwanted)
	}
	it.pick()
	return it
}

// prepare returns an iterator that has not picked a segment yet.
func (c *Contents) prepare(l Loader, q codec.Query) *iterator {
	it := &iterator{Contents: c, q: q, loader: l, limit: openBytes, end: io.EOF, before: math.MaxInt64,
		spare: new(spare), unpacker: NewUnpacker(c.Path, q, false)}
	for _, d := range c.Damage {
		if err := q.Damage(d.Err); err != nil {
			it.before, it.end = d.Offset, err
			break
		}
	}
	it.pending = c.from(q.From())
	return it
}

// pick finds the next segment to be opened.
func (it *iterator) pick() {
	it.next = nil
	for len(it.pending) > 0 && it.next == nil {
		s := it.pending[0]
		it.pending = it.pending[1:]
		if it.q.End != 0 && s.Start >= it.q.End {
			it.pending = nil
		} else if it.selects(s) {
			it.next = s
		}
	}
	it.prefetch()
}

// prefetch starts to fetch the next segments.
func (it *iterator) prefetch() {
	if it.next == nil || it.Remote == nil {
		return
	}
	store.Prefetch(it.Remote, it.next.Offset, it.next.Size)
	ahead := it.next.Size
	switch {
	case it.q.Last != nil: // all segments are needed
		it.ahead = aheadBytes
	case it.begun: // before the first message is returned, only that message is needed soon
		it.ahead = min(2*it.ahead+ahead, aheadBytes)
	}
	for _, s := range it.pending[:min(aheadSegments, len(it.pending))] {
		if ahead >= it.ahead {
			break
		}
		if it.selects(s) {
			store.Prefetch(it.Remote, s.Offset, s.Size)
			ahead += s.Size
		}
	}
}

// selects reports whether s can hold wanted messages.
func (it *iterator) selects(s *Segment) bool {
	return s.Offset < it.before && s.End >= it.q.From() && (it.q.End == 0 || s.Start < it.q.End) &&
		(s.Channels == nil || slices.ContainsFunc(s.Channels, it.wants))
}

func (it *iterator) Next() (*codec.Message, error) {
	if it.err == nil {
		it.err = it.step()
	}
	if it.err != nil {
		return nil, it.err
	}
	return &it.msg, nil
}

// step advances to the next message whose payload matches its channel, or can be decompressed.
func (it *iterator) step() error {
	for {
		if err := it.move(); err != nil {
			return err
		}
		if it.stored || !Compressed(&it.msg) {
			return nil
		}
		if ok, err := it.unpacker.Unpack(&it.msg); ok || err != nil {
			return err
		}
	}
}

// move advances to the next message.
func (it *iterator) move() error {
	if it.used {
		if err := it.advanceRoot(); err != nil {
			return err
		}
	}
	for it.next != nil && (len(it.open) == 0 || it.next.Start <= it.open[0].current.Time) {
		s := &openSegment{Segment: it.next}
		it.pick()
		if err := it.start(s); err != nil {
			return err
		}
	}
	if len(it.open) == 0 {
		return it.end
	}
	s := it.open[0]
	if s.records == nil {
		it.load(s)
		m := Message{Channel: None}
		if s.head < len(s.records) {
			it.loader.Cut(s.records, s.head, &m)
		}
		if m.Channel != s.current.Channel || m.Time != s.current.Time {
			return it.changed(s)
		}
		s.current = m
	}
	it.used, it.begun = true, true
	m := &s.current
	// Copy field by field: a whole message would be read back from the stack, which waits for all earlier stores.
	it.msg.Channel, it.msg.LogTime, it.msg.PublishTime = it.wanted[m.Channel].channel, m.Time, m.Publish
	it.msg.Data, it.msg.Buffer = m.Data, s.buffer
	if !it.Heads {
		return nil
	}
	var err error
	it.msg.Data, err = it.loader.Payload(m.Data)
	it.msg.Buffer = nil
	return err
}

// changed returns the error for a segment with other records than before.
func (it *iterator) changed(s *openSegment) error {
	return fmt.Errorf("read %s: %v: the file changed while it was read", it.Path, s)
}

// start opens s.
func (it *iterator) start(s *openSegment) error {
	errs := it.load(s)
	suspect := s.suspect(errs)
	if s.Reported {
		errs = nil
	}
	for i, err := range errs {
		if stop := (*StopError)(nil); errors.As(err, &stop) {
			return stop.Err
		}
		err = fmt.Errorf("read %s: %w", it.Path, err)
		if i == 0 {
			err = it.affected(it.loader, s.Segment, s.records, err, suspect, func(id int, t int64) bool {
				return it.wants(id) && it.q.Covers(t)
			})
		}
		if err := it.q.Damage(err); err != nil {
			return err
		}
	}
	if suspect && it.q.Sound {
		it.release(s)
		return nil
	}
	if s.Unsorted {
		s.order = it.orderByTime(s.records)
	}
	ok, err := it.advance(s)
	if err != nil {
		return err
	}
	if !ok {
		it.release(s)
		return nil
	}
	it.open.Push(s)
	if s.current.Time < s.Start {
		return it.damage(fmt.Errorf("%v: a message is earlier than the index says", s))
	}
	return nil
}

// load loads the records of s. If the limit is exceeded, it releases the records that are needed last.
func (it *iterator) load(s *openSegment) []error {
	records, errs := it.loader.Load(s.Segment, it.spare.take())
	if records == nil {
		records = []byte{}
	}
	s.records, s.buffer = records, codec.NewBuffer(records, it.spare.put)
	it.heldBytes += cap(records)
	for it.heldBytes > it.limit {
		var last *openSegment
		for _, o := range it.open {
			if o != s && o.records != nil && (last == nil || last.Before(o)) {
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

// release releases the records of s.
func (it *iterator) release(s *openSegment) {
	it.heldBytes -= cap(s.records)
	s.buffer.Release()
	s.records, s.buffer, s.current.Data = nil, nil, nil
}

// advanceRoot advances the segment at the root of open to its next message.
func (it *iterator) advanceRoot() error {
	it.used = false
	s := it.open[0]
	ok, err := it.advance(s)
	if err != nil {
		return err
	}
	if ok {
		it.open.Fix()
	} else {
		it.open.Pop()
		it.release(s)
	}
	return nil
}

// advance moves s to its next wanted message. It returns false if there is none.
func (it *iterator) advance(s *openSegment) (bool, error) {
	m := &s.current
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
		next := it.loader.Cut(s.records, off, m)
		if next < 0 {
			return false, it.changed(s) // the segment was loaded again
		}
		if s.order != nil {
			next = s.next + 1
		}
		s.next = next
		if m.Channel == None || !it.q.Covers(m.Time) {
			continue
		}
		if !it.wants(m.Channel) {
			if err := it.reportUnknown(m.Channel); err != nil {
				return false, err
			}
			continue
		}
		tail := it.wanted[m.Channel].tail
		if tail == nil || tail.Has(Key{Time: m.Time, Place: s.Offset, Offset: int64(off)}) {
			s.head = off
			return true, nil
		}
	}
}

// wants reports whether the messages of a channel are wanted.
func (it *iterator) wants(id int) bool {
	if id < len(it.wanted) && it.wanted[id].asked {
		return it.wanted[id].channel != nil
	}
	if !it.Known(id) {
		return false
	}
	w, channel := it.want(id), it.Channels[id]
	w.asked = true
	n := it.q.Depth(channel)
	if n != codec.All && it.Counts != nil {
		n = int(min(uint64(n), it.count(id)))
	}
	if n == 0 {
		return false
	}
	if it.q.Last != nil {
		w.tail = NewTail(n)
	}
	w.channel = channel
	return true
}

// reportUnknown reports, once per channel, messages of a channel that the file does not describe.
func (it *iterator) reportUnknown(id int) error {
	if it.Known(id) || it.Scanned || id < len(it.wanted) && it.wanted[id].asked {
		return nil
	}
	it.want(id).asked = true
	return it.damage(UnknownChannel(id))
}

func (it *iterator) want(id int) *want {
	if missing := id + 1 - len(it.wanted); missing > 0 {
		it.wanted = append(it.wanted, make([]want, missing)...)
	}
	return &it.wanted[id]
}

// UnknownChannel returns the error about messages of a channel that the file does not describe.
func UnknownChannel(id int) error {
	return fmt.Errorf("left out messages of channel %d, which the file does not describe", id)
}

// damage passes an error to Query.Damaged. Without Damaged it returns the error, which ends the iteration.
func (it *iterator) damage(err error) error {
	return it.q.Damage(fmt.Errorf("read %s: %w", it.Path, err))
}

func (it *iterator) Close() error {
	if it.loader == nil {
		return nil
	}
	it.loader.Close()
	it.unpacker.Close()
	*it = iterator{err: fmt.Errorf("read %s: %w", it.Path, fs.ErrClosed)}
	return nil
}

// orderByTime returns the offsets of the messages in records, by time.
func (it *iterator) orderByTime(records []byte) []int {
	type place struct {
		time int64
		off  int
	}
	var places []place
	for off, m := range Messages(it.loader, records) {
		places = append(places, place{m.Time, off})
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.time, b.time) })
	order := make([]int, len(places))
	for i, p := range places {
		order[i] = p.off
	}
	return order
}
