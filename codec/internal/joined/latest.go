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
	keep  map[*codec.Channel]int // wanted channels, and the number of their last messages
	tails map[*codec.Channel]*chunked.Tail
}

// latest serves a Query with Last. It searches the files that have messages of the channels, from the last file back.
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
	readers := r.readersIn(q)
	backwards := slices.Clone(readers)
	slices.SortStableFunc(backwards, func(a, b *fileReader) int { return cmp.Compare(b.info.EndTime, a.info.EndTime) })
	for _, fr := range backwards {
		if l.lacks(fr) {
			if err := l.locate(fr); err != nil {
				return nil, err
			}
		}
	}
	readers = slices.DeleteFunc(readers, func(fr *fileReader) bool { return !l.lacks(fr) })
	return merge(readers, func(fr *fileReader) (codec.Iterator, error) { return l.of(fr, fr.query(l.query)) }), nil
}

// lacks reports whether fr may hold messages that latest must return and has not found.
func (l *latest) lacks(fr *fileReader) bool {
	for c, t := range l.tails {
		if fr.holds[c] && !t.Full(fr.info.EndTime) {
			return true
		}
	}
	return false
}

// locate adds the messages of fr to the tails of their channels. It reports no damage: reading does later.
func (l *latest) locate(fr *fileReader) error {
	wanted := fr.query(l.query)
	q := wanted.Unreported()
	q.Topics = func(c *codec.Channel) bool { return wanted.Wants(c) && !l.tails[fr.channels[c]].All() }
	it, err := l.of(fr, q)
	if err != nil {
		return err
	}
	for m, err := range codec.Each(it.Iterator) {
		if err != nil {
			return err
		}
		l.tails[fr.channels[m.Channel]].Add(it.key(m))
	}
	return nil
}

// of returns the messages of fr that are among the last of the recording.
func (l *latest) of(fr *fileReader, q codec.Query) (*latestOfFile, error) {
	q.Last = func(c *codec.Channel) int { return l.keep[fr.channels[c]] }
	it, err := fr.Read(q)
	return &latestOfFile{it, l, fr, map[*codec.Channel]int64{}}, err
}

// latestOfFile omits messages of a file if other files have later ones.
type latestOfFile struct {
	codec.Iterator
	latest *latest
	reader *fileReader
	counts map[*codec.Channel]int64 // messages read so far
}

func (it *latestOfFile) Next() (*codec.Message, error) {
	for {
		m, err := it.Iterator.Next()
		if err != nil || it.latest.tails[it.reader.channels[m.Channel]].Has(it.key(m)) {
			return m, err
		}
	}
}

// key returns the key of m, the message that was read last.
func (it *latestOfFile) key(m *codec.Message) chunked.Key {
	c := it.reader.channels[m.Channel]
	it.counts[c]++
	return chunked.Key{Time: m.LogTime, Place: int64(it.reader.rank), Offset: it.counts[c]}
}
