package codec

import (
	"errors"
	"math"
	"strings"
)

// All is the result of Query.Last that selects every message of a channel.
const All = math.MaxInt

// ReadLast serves a Query with Last for a reader without an index: it reads the whole time range of q twice, by calling
// read with queries without Last.
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
	// An error that ends the first reading also ends the second.
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

// last omits the first messages of channels.
type last struct {
	Iterator
	skip map[*Channel]int // number of messages still to omit
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

// LatchedDepth returns the number of last messages that the publishers of a channel keep for late subscribers, for use
// as Query.Last. It is 0 if no publisher offered transient local durability, All if such a publisher keeps all,
// or else the sum of their depths. An unknown depth counts as 1. LatchedDepth is also All for static transforms: many
// publishers with equal QoS keep one message each, and their recordings may lack the QoS.
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
