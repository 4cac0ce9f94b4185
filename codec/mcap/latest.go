package mcap

import (
	"encoding/binary"
	"slices"

	"github.com/foxglove/mcap/go/mcap"

	"tapedeck/codec"
	"tapedeck/codec/internal/tail"
)

// maxIndex bounds the message indexes that are read at once: those of a chunk.
const maxIndex = 64 << 20

// Latest implements codec.LatestReader. It goes back from the last segment until every channel has what is kept of it, by the
// message indexes where there are any.
func (r *Reader) Latest(q codec.Query, keep func(*codec.Channel) int) (codec.Iterator, error) {
	if err := r.index(); err != nil {
		return nil, err
	}
	it := prepare(r, q)
	it.keep = keep
	for id, c := range r.channels {
		if c != nil {
			_, _ = it.wants(uint16(id))
		}
	}
	var found []*segment
	for _, s := range r.byEnd {
		if it.selects(s) && it.lacks(s) {
			it.find(s)
			found = append(found, s)
		}
	}
	// What some of them have was not among the last in the end.
	it.pending = slices.DeleteFunc(found, func(s *segment) bool { return !it.lacks(s) })
	slices.SortStableFunc(it.pending, byStart)
	it.pick()
	return it, nil
}

// keepOf returns how many messages of a channel are kept.
func (it *iterator) keepOf(id uint16) int {
	n := it.keep(it.r.channels[id])
	if n == codec.All {
		return n
	}
	var count uint64
	if int(id) < len(it.r.counts) {
		count = it.r.counts[id]
	}
	return int(min(uint64(max(n, 0)), count))
}

// lacks says whether there can be messages in s that are among the last of their channel, by those that are known of.
func (it *iterator) lacks(s *segment) bool {
	lacking := func(w want) bool { return w.channel != nil && !w.tail.Full(s.end) }
	if s.channels == nil {
		return slices.ContainsFunc(it.wanted, lacking)
	}
	return slices.ContainsFunc(s.channels, func(id uint16) bool { return it.r.known(id) && lacking(it.wanted[id]) })
}

// find adds the messages of s to the tails of their channels. Damage is told of when s is opened.
func (it *iterator) find(s *segment) {
	if it.findByIndex(s) {
		return
	}
	records, _ := it.loader.load(s, it.free)
	for off := 0; off < len(records); {
		op, content, next := cutRecord(records, off)
		if op == mcap.OpMessage {
			it.add(s, messageChannel(content), messageTime(content), int64(off))
		}
		off = next
	}
	it.free = records[:0]
}

// findByIndex does so by the message indexes behind a chunk. It is false when these cannot be read.
func (it *iterator) findByIndex(s *segment) bool {
	if s.index <= 0 || s.index > maxIndex {
		return false
	}
	b := make([]byte, s.index)
	if _, err := it.loader.file.ReadAt(b, s.offset+s.size); err != nil {
		return false
	}
	const fields, entry = 2 + 4, 8 + 8
	for pass := range 2 { // the first one only looks whether all is well
		for off := 0; off < len(b); {
			op, content, next := cutRecord(b, off)
			if next < 0 || op != mcap.OpMessageIndex || len(content) < fields {
				return false
			}
			id, entries := messageChannel(content), content[fields:]
			if uint64(binary.LittleEndian.Uint32(content[2:])) != uint64(len(entries)) || len(entries)%entry != 0 {
				return false
			}
			for ; pass == 1 && len(entries) > 0; entries = entries[entry:] {
				it.add(s, id, int64(binary.LittleEndian.Uint64(entries)), int64(binary.LittleEndian.Uint64(entries[8:])))
			}
			off = next
		}
	}
	return true
}

// add adds a message to the tail of its channel.
func (it *iterator) add(s *segment, id uint16, t, off int64) {
	if int(id) >= len(it.wanted) || it.wanted[id].channel == nil || !it.q.Covers(t) {
		return
	}
	it.wanted[id].tail.Add(tail.Key{Time: t, Place: s.offset, Offset: off})
}
