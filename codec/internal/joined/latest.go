package joined

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/internal/tail"
)

// latest is an iterator over the last messages of channels, over all files.
type latest struct {
	*iterator
	keep  map[*codec.Channel]int // how many; of those that are wanted
	tails map[*codec.Channel]*tail.Tail
}

// Latest does what codec.Latest says. It asks the files that have messages of the channels, from the last one back.
func (r *Reader) Latest(q codec.Query, keep func(*codec.Channel) int) (codec.Iterator, error) {
	l := &latest{r.newIterator(q), map[*codec.Channel]int{}, map[*codec.Channel]*tail.Tail{}}
	for _, t := range r.topics {
		if !l.q.Wants(t.Channel) {
			continue
		}
		n := keep(t.Channel)
		if n != codec.All {
			n = int(min(uint64(max(n, 0)), t.MessageCount))
		}
		if n > 0 {
			l.keep[t.Channel], l.tails[t.Channel] = n, tail.New(n)
		}
	}
	l.q.Topics = func(c *codec.Channel) bool { return l.keep[c] > 0 }
	l.read = l.of
	if err := l.goBack(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// goBack leaves the files that are needed.
func (l *latest) goBack() error {
	backwards := slices.Clone(l.pending)
	slices.SortStableFunc(backwards, func(a, b *part) int { return cmp.Compare(b.info.EndTime, a.info.EndTime) })
	for _, p := range backwards {
		if l.lacks(p) {
			if err := l.locate(p); err != nil {
				return err
			}
		}
	}
	l.pending = slices.DeleteFunc(l.pending, func(p *part) bool { return !l.lacks(p) })
	return nil
}

// lacks says whether there can be messages in p that are among the last of their channel, by those that are known of.
func (l *latest) lacks(p *part) bool {
	for c, t := range l.tails {
		if p.holds[c] && !t.Full(p.info.EndTime) {
			return true
		}
	}
	return false
}

// locate adds the messages of p to the tails of their channels. It does not tell of damage, which is met again.
func (l *latest) locate(p *part) error {
	q := l.queryOf(p)
	all := q.Topics
	q.Topics = func(c *codec.Channel) bool { return all(c) && !l.tails[p.channels[c]].All() }
	if q.Damaged != nil {
		q.Damaged = func(error) {}
	}
	it, err := l.of(p, q)
	if err != nil {
		return err
	}
	from := it.(*latestOfPart)
	for m, err := from.Iterator.Next(); ; m, err = from.Iterator.Next() {
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(err, from.Close())
		}
		l.tails[p.channels[m.Channel]].Add(from.key(m))
	}
}

// of returns the last messages of p alone that are among the last of all.
func (l *latest) of(p *part, q codec.Query) (codec.Iterator, error) {
	it, err := codec.Latest(p.Reader, q, func(c *codec.Channel) int { return l.keep[p.channels[c]] })
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
func (it *latestOfPart) key(m *codec.Message) tail.Key {
	c := it.part.channels[m.Channel]
	it.counts[c]++
	return tail.Key{Time: m.LogTime, Place: int64(it.part.rank), Offset: it.counts[c]}
}
