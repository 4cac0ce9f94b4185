package codec

import (
	"context"
	"io"
	"math"
)

// Query selects messages of a recording. The zero Query selects all of them. Its functions and its Context may be nil:
// readers call the methods, which know what that means, and only look whether there is a Last.
type Query struct {
	Start, End int64 // LogTime in ns: Start ≤ t unless Start is 0, and t < End unless End is 0: these mean no bound

	// Topics, unless nil, reports whether the messages of a channel are wanted. It is asked once a channel.
	Topics func(*Channel) bool

	// Last, unless nil, returns how many of the last messages of a channel in the window are wanted: none, a number, or
	// All. The messages come as they would among the others: in time order, those of equal time in the order of the
	// file, which also decides which of them are the last. With the time of a seek as End, this is the state in which
	// the recording is by then. The publishers of a channel are not known: for several of them Last has to allow for
	// all, as LatchedDepth does. Readers with an index find the messages by it, the others call ReadLast. Damage is met
	// only where something is read.
	Last func(*Channel) int

	// Context, unless nil, ends the reading early with its error. Reading messages that are not returned looks at it;
	// whoever sets it looks at it between the calls of Next.
	Context context.Context

	// Damaged, unless nil, is called for each damaged place with an error that names the file and the place. Reading
	// then continues after the place with everything readable. If it is nil, damage ends the reading with that error.
	// The error is a *DamageError where the messages of the place are known.
	Damaged func(error)

	// Mislabelled, unless nil, is called once for each topic whose payloads are not what the recording says, and that
	// are read nevertheless.
	Mislabelled func(error)

	// Verify has a reader compare every checksum of what it reads, also where it could do without. Sound does, too,
	// and leaves out the messages of places that do not match.
	Verify, Sound bool
}

// Mislabel reports payloads of a topic that are not what the recording says.
func (q *Query) Mislabel(err error) {
	if q.Mislabelled != nil {
		q.Mislabelled(err)
	}
}

// Damage calls Damaged with the error of a damaged place, or returns it if it is to end the reading.
func (q *Query) Damage(err error) error {
	if !q.Tolerates() {
		return err
	}
	q.Damaged(err)
	return nil
}

// Tolerates reports whether reading continues behind damage.
func (q *Query) Tolerates() bool { return q.Damaged != nil }

// Unreported returns q for one of several readings of the same messages, another one of which reports their damage.
func (q *Query) Unreported() Query {
	other := *q
	if q.Tolerates() {
		other.Damaged = func(error) {}
	}
	return other
}

// Wants reports whether q selects the messages of c.
func (q *Query) Wants(c *Channel) bool { return q.Topics == nil || q.Topics(c) }

// Depth returns how many of the last messages of c are wanted: 0 if Topics does not want c.
func (q *Query) Depth(c *Channel) int {
	switch {
	case !q.Wants(c):
		return 0
	case q.Last == nil:
		return All
	}
	return max(q.Last(c), 0)
}

// Err returns the error of Context, if there is one.
func (q *Query) Err() error {
	if q.Context == nil {
		return nil
	}
	return q.Context.Err()
}

// From returns the earliest LogTime that q selects.
func (q *Query) From() int64 {
	if q.Start == 0 {
		return math.MinInt64
	}
	return q.Start
}

// Covers reports whether t, in ns, lies in the window of q.
func (q *Query) Covers(t int64) bool { return t >= q.From() && (q.End == 0 || t < q.End) }

// Iterator yields messages in the order of LogTime; messages of equal time keep the order of the file.
type Iterator interface {
	// Next returns the next message, or io.EOF behind the last one. After an error it returns that error again.
	// The message is valid until the next call of Next or Close; its Buffer may be retained beyond that.
	Next() (*Message, error)
	// Close ends the iteration and frees what it holds.
	Close() error
}

// File is what a Reader reads from and closes in the end.
type File interface {
	io.ReaderAt
	io.Closer
}

// Reader reads one recording. A recording whose writer was killed opens like any other: Info says that it is not
// complete, and reading ends without an error behind its last whole message. Several iterators may be in use at once;
// the methods are not for concurrent use.
type Reader interface {
	// Info describes the recording. It may scan an unindexed file once. The result is the same on each call and must
	// not be changed.
	Info() (*Info, error)
	// Read returns the messages that q selects, in time order.
	Read(q Query) (Iterator, error)
	// Close closes the files. Iterators cannot be used after it.
	Close() error
}

// Later returns t + ns, at most the last time there is and at least the first one.
func Later(t, ns int64) int64 {
	switch sum := t + ns; {
	case ns > 0 && sum < t:
		return math.MaxInt64
	case ns < 0 && sum > t:
		return math.MinInt64
	default:
		return sum
	}
}
