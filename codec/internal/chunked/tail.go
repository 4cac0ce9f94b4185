package chunked

import (
	"cmp"
	"math"

	"tapedeck/codec"
)

// Key is the position of a message in the order in which a reader yields messages.
type Key struct {
	Time   int64 // LogTime, ns since the Unix epoch
	Place  int64 // orders messages of equal time: offset of the segment, or number of the file
	Offset int64 // orders messages of equal time and place
}

// Before reports whether k comes before o.
func (k Key) Before(o Key) bool {
	return cmp.Or(cmp.Compare(k.Time, o.Time), cmp.Compare(k.Place, o.Place), cmp.Compare(k.Offset, o.Offset)) < 0
}

// Tail is the end of a channel: the last keep of the messages that were added, in any order.
type Tail struct {
	keep int
	keys codec.Heap[Key]
}

// NewTail returns an empty Tail that keeps the given number of messages; math.MaxInt: all.
func NewTail(keep int) *Tail { return &Tail{keep: keep} }

// All reports whether every message belongs to the tail. Then Add has no effect.
func (t *Tail) All() bool { return t.keep == math.MaxInt }

// Full reports whether no message up to end, in ns, can belong to the tail.
func (t *Tail) Full(end int64) bool {
	return t.keep <= 0 || len(t.keys) == t.keep && t.keys[0].Time > end
}

// Add adds a message.
func (t *Tail) Add(k Key) {
	switch {
	case t.All() || t.keep <= 0:
	case len(t.keys) < t.keep:
		t.keys.Push(k)
	case t.keys[0].Before(k):
		t.keys[0] = k
		t.keys.Fix()
	}
}

// Has reports whether an added message belongs to the tail.
func (t *Tail) Has(k Key) bool {
	return t.All() || len(t.keys) > 0 && !k.Before(t.keys[0])
}
