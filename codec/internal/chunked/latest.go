package chunked

import (
	"iter"
	"slices"

	"tapedeck/codec/store"
)

// findLast prepares the iteration over the messages that Query.Last selects. It goes back from the last segment until
// every channel has them. It uses message indexes, if there are any.
func (it *iterator) findLast() {
	for id := range it.Channels {
		it.wants(id)
	}
	var found []*Segment
	for _, s := range it.fromEnd() {
		if it.selects(s) && it.lacks(s) {
			it.find(s)
			found = append(found, s)
		}
	}
	// Later finds may have superseded all messages of some segments.
	it.pending = slices.DeleteFunc(found, func(s *Segment) bool { return !it.lacks(s) })
	slices.SortStableFunc(it.pending, byStart)
	it.pick()
}

// lacks reports whether s may hold messages that belong to the tail of their channel.
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
			it.wanted[id].tail.Add(Key{Time: t, Place: s.Offset, Offset: off})
		}
	}
	if it.loader.Find(s, found) {
		return
	}
	store.Prefetch(it.Remote, s.Offset, s.Size)
	records, _ := it.loader.Load(s, it.spare.take())
	for off, m := range Messages(it.loader, records) {
		found(m.Channel, m.Time, int64(off))
	}
	it.spare.put(records)
}

// Messages yields the offsets and the messages in records that l loaded.
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
