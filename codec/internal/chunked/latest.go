package chunked

import (
	"iter"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/internal/tail"
)

// Latest implements codec.LatestReader. It goes back from the last segment until every channel has the messages that
// keep asks for, by the message indexes if l is a Finder. The iterator closes l. Sort was called before.
func (c *Contents) Latest(l Loader, q codec.Query, keep func(*codec.Channel) int) codec.Iterator {
	it := c.prepare(l, q)
	it.keep = keep
	for id := range c.Channels {
		it.wants(id)
	}
	var found []*Segment
	for _, s := range c.fromEnd() {
		if it.selects(s) && it.lacks(s) {
			it.find(s)
			found = append(found, s)
		}
	}
	// Later finds may have superseded all messages of some segments.
	it.pending = slices.DeleteFunc(found, func(s *Segment) bool { return !it.lacks(s) })
	slices.SortStableFunc(it.pending, byStart)
	it.pick()
	return it
}

// keepOf returns how many messages of a channel are kept.
func (it *iterator) keepOf(id int) int {
	n := it.keep(it.Channels[id])
	if n == codec.All {
		return n
	}
	return int(min(uint64(max(n, 0)), it.count(id)))
}

// lacks reports whether s may still hold messages that Latest must return.
func (it *iterator) lacks(s *Segment) bool {
	lacking := func(w want) bool { return w.channel != nil && !w.tail.Full(s.End) }
	if s.Channels == nil {
		return slices.ContainsFunc(it.wanted, lacking)
	}
	return slices.ContainsFunc(s.Channels, func(id int) bool { return it.wants(id) && lacking(it.wanted[id]) })
}

// find adds the messages of s to the tails of their channels. Damage is reported when s is opened.
func (it *iterator) find(s *Segment) {
	found := func(id int, t, off int64) {
		if it.q.Covers(t) && it.wants(id) {
			it.wanted[id].tail.Add(tail.Key{Time: t, Place: s.Offset, Offset: off})
		}
	}
	if f, ok := it.loader.(Finder); ok && f.Find(s, found) {
		return
	}
	if it.file != nil {
		it.file.Prefetch(s.Offset, s.Size)
	}
	records, _ := it.loader.Load(s, it.spare.take())
	for off, m := range Messages(it.loader, records) {
		found(m.Channel, m.Time, int64(off))
	}
	it.spare.put(records)
}

// Messages yields where messages are in records that l loaded, and what they are.
func Messages(l Loader, records []byte) iter.Seq2[int, *Message] {
	return func(yield func(int, *Message) bool) {
		var m Message
		for off := 0; off < len(records); {
			next := l.Cut(records, off, &m)
			if m.Channel != None && !yield(off, &m) || next < 0 {
				return
			}
			off = next
		}
	}
}
