// Package tail finds out which messages are the last ones of a channel.
package tail

import (
	"cmp"
	"math"
)

// Key is the place of a message in the order in which a reader yields them.
type Key struct {
	Time   int64 // LogTime, ns since the Unix epoch
	Place  int64 // of messages of equal time: where in the file, or in which file
	Offset int64 // likewise, within the place
}

// Before says whether a message with the key k comes before one with the key o.
func (k Key) Before(o Key) bool {
	return cmp.Or(cmp.Compare(k.Time, o.Time), cmp.Compare(k.Place, o.Place), cmp.Compare(k.Offset, o.Offset)) < 0
}

// Tail is the end of a channel: the last keep of the messages that were added, in any order.
type Tail struct {
	keep int
	keys []Key // a heap, the first message at the root
}

// New returns the tail of keep messages; math.MaxInt are all of them.
func New(keep int) *Tail { return &Tail{keep: keep} }

// All says whether every message is of the tail. None need be added then.
func (t *Tail) All() bool { return t.keep == math.MaxInt }

// Full says whether no message until end, in ns, is of the tail.
func (t *Tail) Full(end int64) bool {
	return t.keep <= 0 || len(t.keys) == t.keep && t.keys[0].Time > end
}

// Add adds a message.
func (t *Tail) Add(k Key) {
	switch {
	case t.All() || t.keep <= 0:
	case len(t.keys) < t.keep:
		t.keys = append(t.keys, k)
		for i := len(t.keys) - 1; i > 0 && t.keys[i].Before(t.keys[(i-1)/2]); i = (i - 1) / 2 {
			t.keys[i], t.keys[(i-1)/2] = t.keys[(i-1)/2], t.keys[i]
		}
	case t.keys[0].Before(k):
		t.keys[0] = k
		t.sift()
	}
}

func (t *Tail) sift() {
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t.keys); child++ {
			if t.keys[child].Before(t.keys[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		t.keys[i], t.keys[least] = t.keys[least], t.keys[i]
		i = least
	}
}

// Has says whether an added message is of the tail.
func (t *Tail) Has(k Key) bool {
	return t.All() || len(t.keys) > 0 && !k.Before(t.keys[0])
}
