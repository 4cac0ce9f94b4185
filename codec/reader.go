package codec

import (
	"context"
	"io"
	"math"
)

// Query selects messages of a recording. The zero Query selects all of them. Its functions and its Context may be nil.
// Readers call its methods, which handle nil; they only check Last themselves.
type Query struct {
	Start, End int64 // LogTime in ns: Start ≤ t < End; 0 means no bound

	// Topics, unless nil, reports whether the messages of a channel are wanted. It is called once for each channel.
	Topics func(*Channel) bool

	// Last, unless nil, returns the number of last messages of a channel in the time range that are wanted, or All. The
	// messages are in time order; messages of equal time keep the order of the file, which also decides which messages
	// are last. With the time of a seek as End, they are the state of the recording at that time. The publishers of a
	// channel are unknown: for several publishers Last must allow for all, as LatchedDepth does. Readers with an index
	// find the messages with it, others call ReadLast. Only damage in places that are read is reported.
	Last func(*Channel) int

	// Context, unless nil, ends the reading early with its error. Readers check it while they skip messages. Code that
	// sets it must check it between calls of Next.
	Context context.Context

	// Damaged, unless nil, is called for each damaged place with an error that names the file and the place. Reading
	// then continues after the place with everything readable. If it is nil, damage ends the reading with that error.
	// The error is a *DamageError where the messages of the place are known.
	Damaged func(error)

	// Mislabelled, unless nil, is called once for each topic whose payloads differ from what the recording says but can
	// be read nevertheless.
	Mislabelled func(error)

	// Verify makes a reader compare every checksum of the data that it reads, also if it could do without. Sound does
	// so, too, and omits messages whose checksum does not match.
	Verify, Sound bool
}

// Mislabel reports payloads of a topic that differ from what the recording says.
func (q *Query) Mislabel(err error) {
	if q.Mislabelled != nil {
		q.Mislabelled(err)
	}
}

// Damage calls Damaged with the error of a damaged place. If Damaged is nil, it returns the error, which ends reading.
func (q *Query) Damage(err error) error {
	if !q.Tolerates() {
		return err
	}
	q.Damaged(err)
	return nil
}

// Tolerates reports whether reading continues behind damage.
func (q *Query) Tolerates() bool { return q.Damaged != nil }

// Unreported returns q without reports of damage, for messages that are read more than once.
func (q *Query) Unreported() Query {
	other := *q
	if q.Tolerates() {
		other.Damaged = func(error) {}
	}
	return other
}

// Wants reports whether q selects the messages of c.
func (q *Query) Wants(c *Channel) bool { return q.Topics == nil || q.Topics(c) }

// Depth returns the number of last messages of c that are wanted: 0 if q does not want c.
func (q *Query) Depth(c *Channel) int {
	switch {
	case !q.Wants(c):
		return 0
	case q.Last == nil:
		return All
	}
	return max(q.Last(c), 0)
}

// Err returns the error of Context, or nil.
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

// Covers reports whether t, in ns, lies in the time range of q.
func (q *Query) Covers(t int64) bool { return t >= q.From() && (q.End == 0 || t < q.End) }

// Iterator yields messages in the order of LogTime; messages of equal time keep the order of the file.
type Iterator interface {
	// Next returns the next message, or io.EOF after the last one. After an error it returns that error again.
	// The message is valid until the next call of Next or Close; its Buffer may be retained beyond that.
	Next() (*Message, error)
	// Close ends the iteration and frees its memory.
	Close() error
}

// File is a file that a Reader reads from and closes.
type File interface {
	io.ReaderAt
	io.Closer
}

// Reader reads one recording. A recording whose writer was killed opens like any other: Info says that it is not
// complete, and reading ends without an error behind its last whole message. Several iterators may be in use at once;
// the methods are not for concurrent use.
type Reader interface {
	// Info describes the recording. It may scan an unindexed file once. Each call returns the same pointer; the Info
	// must not be changed.
	Info() (*Info, error)
	// Read returns the messages that q selects, in time order.
	Read(q Query) (Iterator, error)
	// Close closes the files. Iterators cannot be used after it.
	Close() error
}

// Later returns t + ns. On overflow it returns the last or the first possible time.
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
