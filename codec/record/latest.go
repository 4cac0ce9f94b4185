package record

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/internal/tail"
)

// cachedPiece remembers what reading a piece has shown.
type cachedPiece struct {
	parts    []piece // instead of a large piece
	channels []int   // that have messages in it; nil when that is not known
}

// extent is where a piece is in the file.
type extent struct{ start, end int64 }

func (p *piece) extent() extent { return extent{p.start, p.end} }

// overlaps reports whether p can hold messages in the window of q.
func (p *piece) overlaps(q codec.Query) bool {
	return p.max >= q.From() && (q.End == 0 || p.min < q.End)
}

// knowsPlaces reports whether l has the places of all messages of a channel.
func (l *layout) knowsPlaces(channel int) bool {
	return channel < len(l.counts) && uint64(len(l.places[channel])) == l.counts[channel]
}

// errPlaces says that the index has wrong places.
var errPlaces = errors.New("wrong places in the index")

// checkPlaces forgets places that are not among messages.
func (l *layout) checkPlaces() {
	for channel, places := range l.places {
		for _, p := range l.pieces {
			for len(places) > 0 && places[0] >= p.start && places[0] < p.end {
				places = places[1:]
			}
		}
		if len(places) > 0 {
			delete(l.places, channel)
		}
	}
}

// tails are the ends of channels that Query.Last asks for.
type tails struct {
	list   []*tail.Tail // by channel
	sparse bool         // the places of all their messages are known
}

// add adds a channel of which n messages are wanted. counts may know how many there are. It reports whether any of them
// are kept.
func (t *tails) add(n int, counts []uint64) bool {
	if i := len(t.list); n != codec.All && i < len(counts) {
		n = int(min(uint64(n), counts[i]))
	}
	t.list = append(t.list, tail.New(n))
	return n > 0
}

// readLast serves a Query with Last. It goes back from the last piece until every channel has the messages that Last
// asks for. Our own files index the positions of latched messages; in others it reads pieces, and remembers which
// channels each has.
func (r *reader) readLast(q codec.Query) (codec.Iterator, error) {
	it, err := r.read(q)
	if err != nil {
		return nil, err
	}
	it.tails = &tails{sparse: true}
	for i := range r.channels {
		if it.wants(i) && !it.layout.knowsPlaces(i) {
			it.tails.sparse = false
		}
	}
	if err := it.goBack(); errors.Is(err, errPlaces) {
		it.layout.places = nil
		return r.readLast(q)
	} else if err != nil {
		return nil, err
	}
	return it, nil
}

// goBack leaves the pieces that are needed.
func (it *iterator) goBack() error {
	rest := it.pieces
	it.pieces = nil
	byMax := func(a, b piece) int { return cmp.Compare(b.max, a.max) }
	slices.SortStableFunc(rest, byMax)
	for len(rest) > 0 {
		p := rest[0]
		rest = rest[1:]
		switch {
		case !it.lacks(&p):
		case p.splits() && !it.sparse():
			parts, err := it.parts(p)
			if err != nil {
				return err
			}
			rest = append(parts, rest...)
			slices.SortStableFunc(rest, byMax)
		default:
			if err := it.locate(&p); err != nil {
				return err
			}
			it.pieces = append(it.pieces, p)
		}
	}
	// Later finds may have superseded all messages of some pieces.
	it.pieces = slices.DeleteFunc(it.pieces, func(p piece) bool { return !it.lacks(&p) })
	it.sort(0)
	return nil
}

// sparse reports whether the places of all messages that can be wanted are known.
func (it *iterator) sparse() bool { return it.tails != nil && it.tails.sparse }

// skip returns where the first message is in p that can be wanted, at or behind pos; the end of p when there is none.
// The places of all of them are known.
func (it *iterator) skip(p *piece, pos int64) int64 {
	next := p.end
	for channel := range it.tails.list {
		places := it.layout.places[channel]
		if i, _ := slices.BinarySearch(places, pos); i < len(places) && it.wants(channel) {
			next = min(next, places[i])
		}
	}
	return next
}

// lacks reports whether p may still hold messages that are among the last of their channel.
func (it *iterator) lacks(p *piece) bool {
	known := it.pieceCache[p.extent()].channels
	for channel := range it.channels {
		if !it.wants(channel) || it.tails.list[channel].Full(p.max) || known != nil &&
			!slices.Contains(known, channel) {
			continue
		}
		if it.layout.knowsPlaces(channel) {
			places := it.layout.places[channel]
			if i, _ := slices.BinarySearch(places, p.start); i == len(places) || places[i] >= p.end {
				continue
			}
		}
		return true
	}
	return false
}

// locate adds the messages of p to the tails of their channels.
func (it *iterator) locate(p *piece) error {
	m := &it.found
	channels := []int{}
	sparse := it.sparse()
	for pos := p.start; pos < p.end; pos = m.end {
		if sparse {
			if pos = it.skip(p, pos); pos == p.end {
				break
			}
		}
		if err := it.read(p, pos); err != nil {
			if sparse && errors.Is(err, ErrDamaged) {
				return errPlaces
			}
			if errors.Is(err, io.EOF) {
				break
			}
			return err
		}
		channel := it.find(m.name)
		if _, there := slices.BinarySearch(it.layout.places[channel], pos); sparse && !there {
			return errPlaces
		}
		if !slices.Contains(channels, channel) {
			channels = append(channels, channel)
		}
		if it.wants(channel) && it.query.Covers(m.time) {
			it.tails.list[channel].Add(tail.Key{Time: m.time, Place: m.content})
		}
	}
	if !sparse {
		it.pieceCache[p.extent()] = cachedPiece{channels: channels}
	}
	return nil
}
