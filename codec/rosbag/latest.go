package rosbag

import (
	"cmp"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/internal/tail"
)

// Latest implements codec.LatestReader. It goes back from the last segment through those that hold the channels until every
// channel has what is kept of it.
func (r *Reader) Latest(q codec.Query, keep func(*codec.Channel) int) (codec.Iterator, error) {
	if err := r.index(); err != nil {
		return nil, err
	}
	tails := map[*codec.Channel]*tail.Tail{}
	selected := q
	q.Topics = func(c *codec.Channel) bool {
		n := 0
		if selected.Wants(c) {
			n = keep(c)
		}
		tails[c] = tail.New(n)
		return n > 0
	}
	it := newIterator(r, q)
	it.tails = tails
	slices.SortStableFunc(it.pending, func(a, b *source) int { return cmp.Compare(b.end, a.end) })
	var found []*source
	for _, s := range it.pending {
		if it.lacks(s) {
			it.find(s)
			found = append(found, s)
		}
	}
	// What some of them have was not among the last in the end.
	it.pending = slices.DeleteFunc(found, func(s *source) bool { return !it.lacks(s) })
	slices.SortStableFunc(it.pending, byStart)
	return it, nil
}

// lacks says whether there can be messages in s that are among the last of their channel, by those that are known of.
func (it *iterator) lacks(s *source) bool {
	return slices.ContainsFunc(s.conns, func(conn uint32) bool { return it.wants(conn) && !it.tails[it.wanted[conn]].Full(s.end) })
}

// find adds the messages of s to the tails of their channels. Damage is told of when s is opened.
func (it *iterator) find(s *source) {
	records, _ := it.loader.load(s.segment, it.free)
	for off, h := range messages(records) {
		if conn := it.r.connection(&h); it.q.Covers(h.time) && it.wants(conn) {
			it.tails[it.wanted[conn]].Add(tail.Key{Time: h.time, Place: s.offset, Offset: int64(off)})
		}
	}
	it.free = records[:0]
}
