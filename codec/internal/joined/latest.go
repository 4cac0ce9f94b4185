package joined

import (
	"cmp"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
)

// latest is a query for the last messages of channels, over all files.
type latest struct {
	query codec.Query
	keep  map[*codec.Channel]int // how many; of those that are wanted
	tails map[*codec.Channel]*chunked.Tail
}

// latest serves a Query with Last. It asks the files that have messages of the channels, from the last one back.
func (r *Reader) latest(q codec.Query) (codec.Iterator, error) {
	l := &latest{q, map[*codec.Channel]int{}, map[*codec.Channel]*chunked.Tail{}}
	for _, t := range r.topics {
		n := q.Depth(t.Channel)
		if n != codec.All {
			n = int(min(uint64(n), t.MessageCount))
		}
		if n > 0 {
			l.keep[t.Channel], l.tails[t.Channel] = n, chunked.NewTail(n)
		}
	}
	l.query.Topics = func(c *codec.Channel) bool { return l.keep[c] > 0 }
	parts := r.partsIn(q)
	backwards := slices.Clone(parts)
	slices.SortStableFunc(backwards, func(a, b *part) int { return cmp.Compare(b.info.EndTime, a.info.EndTime) })
	for _, p := range backwards {
		if l.lacks(p) {
			if err := l.locate(p); err != nil {
				return nil, err
			}
		}
	}
	parts = slices.DeleteFunc(parts, func(p *part) bool { return !l.lacks(p) })
	return merge(parts, func(p *part) (codec.Iterator, error) { return l.of(p, p.query(l.query)) }), nil
}

// lacks reports whether p may still hold messages that are among the last of their channel.
func (l *latest) lacks(p *part) bool {
	for c, t := range l.tails {
		if p.holds[c] && !t.Full(p.info.EndTime) {
			return true
		}
	}
	return false
}

// locate adds the messages of p to the tails of their channels. It reports no damage: reading the messages will.
func (l *latest) locate(p *part) error {
	wanted := p.query(l.query)
	q := wanted.Unreported()
	q.Topics = func(c *codec.Channel) bool { return wanted.Wants(c) && !l.tails[p.channels[c]].All() }
	it, err := l.of(p, q)
	if err != nil {
		return err
	}
	for m, err := range codec.Each(it.Iterator) {
		if err != nil {
			return err
		}
		l.tails[p.channels[m.Channel]].Add(it.key(m))
	}
	return nil
}

// of returns the last messages of p alone that are among the last of all.
func (l *latest) of(p *part, q codec.Query) (*latestOfPart, error) {
	q.Last = func(c *codec.Channel) int { return l.keep[p.channels[c]] }
	it, err := p.Read(q)
	return &latestOfPart{it, l, p, map[*codec.Channel]int64{}}, err
}

// latestOfPart leaves out messages of a file for later ones in other files.
type latestOfPart struct {
	codec.Iterator
	latest *latest
	part   *part
	counts map[*codec.Channel]int64 // of what was read
}

func (it *latestOfPart) Next() (*codec.Message, error) {
	for {
		m, err := it.Iterator.Next()
		if err != nil || it.latest.tails[it.part.channels[m.Channel]].Has(it.key(m)) {
			return m, err
		}
	}
}

// key returns the key of the message that was read last.
func (it *latestOfPart) key(m *codec.Message) chunked.Key {
	c := it.part.channels[m.Channel]
	it.counts[c]++
	return chunked.Key{Time: m.LogTime, Place: int64(it.part.rank), Offset: it.counts[c]}
}
