package codec

import (
	"math"
	"strings"
)

// All asks Latest for every message of a channel.
const All = math.MaxInt

// LatestReader is a Reader that finds the last messages before a time by its index, without going through what precedes
// them.
type LatestReader interface {
	Reader
	// Latest does what the function Latest says.
	Latest(q Query, keep func(*Channel) int) (Iterator, error)
}

// Latest returns, of each channel that q selects, the last messages in the window of q, as many as keep says: none, a
// number, or All. They come as they would among the others from Read: in time order, those of equal time in the order
// of the file, which also says which of them are the last. keep is asked once a channel. Who published a message is not
// known: for several publishers of one channel keep has to allow for all of them, as LatchedDepth does.
//
// With the time of a seek as q.End, this is the state in which the recording is by then. A LatestReader is asked for
// it; with any other Reader the whole window is read, twice. Damage is met only where something is read.
func Latest(r Reader, q Query, keep func(*Channel) int) (Iterator, error) {
	if l, ok := r.(LatestReader); ok {
		return l.Latest(q, keep)
	}
	it := &latest{keep: map[*Channel]int{}}
	selected := q
	q.Topics = func(c *Channel) bool {
		n, asked := it.keep[c]
		if !asked {
			if selected.Wants(c) {
				n = keep(c)
			}
			it.keep[c] = n
		}
		return n > 0
	}
	first, err := r.Read(q)
	if err != nil {
		return nil, err
	}
	counts := map[*Channel]int{}
	// Where an error ends the first reading it ends the second one.
	for m, err := first.Next(); err == nil; m, err = first.Next() {
		counts[m.Channel]++
	}
	if err := first.Close(); err != nil {
		return nil, err
	}
	it.skip = counts
	for c, n := range counts {
		it.skip[c] = n - min(n, it.keep[c])
	}
	if q.Damaged != nil {
		q.Damaged = func(error) {} // it was told of
	}
	it.Iterator, err = r.Read(q)
	return it, err
}

// latest leaves out the messages that come first on their channels.
type latest struct {
	Iterator
	keep map[*Channel]int
	skip map[*Channel]int // how many are to be left out
}

func (it *latest) Next() (*Message, error) {
	for {
		m, err := it.Iterator.Next()
		if err != nil || it.skip[m.Channel] == 0 {
			return m, err
		}
		it.skip[m.Channel]--
	}
}

// LatchedDepth returns how many of the last messages of a channel its publishers kept for subscribers that came late,
// for use with Latest: 0 unless one offered transient local durability, All if one of these kept all, or else the sum
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
