package codec

import (
	"errors"
	"math"
	"strings"
)

// All is what Query.Last returns to ask for every message of a channel.
const All = math.MaxInt

// ReadLast serves a Query with Last for a reader without an index: it reads the whole window of q twice by read, whose
// queries have no Last.
func ReadLast(q Query, read func(Query) (Iterator, error)) (Iterator, error) {
	wanted := map[*Channel]int{}
	selected := q
	q.Last = nil
	q.Topics = func(c *Channel) bool {
		n, asked := wanted[c]
		if !asked {
			n = selected.Depth(c)
			wanted[c] = n
		}
		return n > 0
	}
	first, err := read(q)
	if err != nil {
		return nil, err
	}
	counts := map[*Channel]int{}
	// Where an error ends the first reading it ends the second one.
	for m, err := first.Next(); err == nil && q.Err() == nil; m, err = first.Next() {
		counts[m.Channel]++
	}
	if err := errors.Join(q.Err(), first.Close()); err != nil {
		return nil, err
	}
	it := &last{skip: map[*Channel]int{}}
	for c, n := range counts {
		it.skip[c] = n - min(n, wanted[c])
	}
	it.Iterator, err = read(q.Unreported())
	return it, err
}

// last leaves out the messages that come first on their channels.
type last struct {
	Iterator
	skip map[*Channel]int // how many are to be left out
}

func (it *last) Next() (*Message, error) {
	for {
		m, err := it.Iterator.Next()
		if err != nil || it.skip[m.Channel] == 0 {
			return m, err
		}
		it.skip[m.Channel]--
	}
}

// LatchedDepth returns how many of the last messages of a channel its publishers kept for subscribers that came late,
// for use as Query.Last: 0 unless one offered transient local durability, All if one of these kept all, or else the sum
// of their depths. Of a publisher that did not tell its depth it is taken to be 1. All is the answer for static
// transforms, too, of which many publishers with the same QoS keep one message each, and in whose recordings there may
// be no QoS.
func LatchedDepth(c *Channel) int {
	if strings.HasSuffix(c.Topic, "/tf_static") {
		return All
	}
	depth := 0
	for _, q := range c.QoS {
		switch {
		case q.Durability != TransientLocal:
		case q.History == KeepAll:
			return All
		default:
			depth += max(q.Depth, 1)
		}
	}
	return depth
}
