package powerdisk

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Model says what a disk may do with writes that no flush has made durable before the power cut.
type Model struct {
	Name string

	// Unit is the size in bytes of the pieces of such writes. Each piece is kept or lost. If Unit is 0, all writes
	// before the power cut are kept, in their order.
	Unit int64

	// FUA says that the disk has FUA: a commit of a file system makes itself durable, and no earlier write.
	FUA bool

	// Lying is the number of requests after which a write is durable, on a disk that ignores flushes. 0 is an honest
	// disk.
	Lying int
}

// Models are the models of honest disks.
var Models = []Model{
	{Name: "order"},
	{Name: "pieces", Unit: 4096},
	{Name: "sectors", Unit: 512},
	{Name: "fua", Unit: 4096, FUA: true},
}

// Lying is the model of a disk that ignores flushes and loses the last 200 requests.
var Lying = Model{Name: "lying", Unit: 4096, Lying: 200}

// Cut is a power cut.
type Cut struct {
	Number   int   // of the random choices
	Position int64 // all requests that started later are lost
	Time     time.Time
}

// Cut returns the power cut with this number after the position begin. It depends on the seed and the number alone.
// Half of the cuts are at random requests, the others at random times.
func (l *Log) Cut(begin int64, seed uint64, number int) Cut {
	random := rand.New(rand.NewPCG(seed, uint64(number)))
	c := Cut{Number: number, Position: begin + 1 + random.Int64N(l.Position-begin)}
	first, last := l.before(begin), l.before(l.Position)
	if random.IntN(2) == 0 {
		c.Time = first.Add(time.Duration(random.Int64N(int64(last.Sub(first)) + 1)))
		c.Position = l.at(c.Time)
		return c
	}
	c.Time = l.before(c.Position)
	open, next := l.around(c.Position)
	if !open && !next.IsZero() {
		c.Time = next // the disk holds as much until then
	}
	return c
}

// before returns the time of the last start or end before a position.
func (l *Log) before(position int64) (last time.Time) {
	for _, q := range l.Requests {
		if q.Start < position && q.Began.After(last) {
			last = q.Began
		}
		if q.End > 0 && q.End < position && q.Ended.After(last) {
			last = q.Ended
		}
	}
	return last
}

// at returns the position of the first start or end after a time.
func (l *Log) at(t time.Time) int64 {
	position := l.Position + 1
	for _, q := range l.Requests {
		if q.Began.After(t) {
			position = min(position, q.Start)
		}
		if q.End > 0 && q.Ended.After(t) {
			position = min(position, q.End)
		}
	}
	return position
}

// around reports whether the disk was working at a position, and returns when the next request started.
func (l *Log) around(position int64) (open bool, next time.Time) {
	for _, q := range l.Requests {
		if q.Start >= position {
			return open, q.Began
		}
		open = open || q.End >= position
	}
	return open, next
}

// Piece is a part of a write that was not durable.
type Piece struct {
	Request  int // index in Log.Requests
	From, To int64
}

// Crashes makes the states of a disk after power cuts. The cuts must be in the order of their positions.
type Crashes struct {
	log     *Log
	model   Model
	seed    uint64
	durable []int64
	applied []bool // by request: content has it
	content []byte // what is durable at the last cut
}

// Crashes returns the states of the disk after power cuts. The memory is free after Close.
func (l *Log) Crashes(m Model, seed uint64) (*Crashes, error) {
	content, err := allocate(l.Size)
	return &Crashes{log: l, model: m, seed: seed, durable: l.durable(m), applied: make([]bool, len(l.Requests)),
		content: content}, err
}

// Close frees the memory.
func (c *Crashes) Close() error { return free(c.content) }

// Open returns the pieces that a power cut may keep or lose, in the order of the writes.
func (c *Crashes) Open(cut Cut) (pieces []Piece) {
	for i, q := range c.log.Requests {
		if q.Start >= cut.Position {
			break
		}
		if q.Flush || q.Failed || c.durable[i] < cut.Position {
			continue
		}
		unit := c.model.Unit
		if unit == 0 {
			unit = q.Size
		}
		for from := int64(0); from < q.Size; from += unit {
			pieces = append(pieces, Piece{i, from, min(from+unit, q.Size)})
		}
	}
	return pieces
}

// Kept returns the pieces that the power cut keeps. It depends on the seed and the number of the cut.
func (c *Crashes) Kept(cut Cut) (kept []Piece) {
	open := c.Open(cut)
	if c.model.Unit == 0 {
		return open
	}
	random := rand.New(rand.NewPCG(^c.seed, uint64(cut.Number)))
	share := []float64{0, 0.1, 0.5, 0.9, 1}[random.IntN(5)]
	for _, piece := range open {
		if random.Float64() < share {
			kept = append(kept, piece)
		}
	}
	return kept
}

// state returns the disk after a power cut that has kept the pieces.
func (c *Crashes) state(cut Cut, kept []Piece) *state {
	for i, q := range c.log.Requests {
		if q.Start >= cut.Position {
			break
		}
		if !c.applied[i] && !q.Flush && c.durable[i] < cut.Position {
			put(c.content, q, 0, q.Size)
			c.applied[i] = true
		}
	}
	s := &state{base: c.content, pages: map[int64][]byte{}}
	for _, piece := range kept {
		q := c.log.Requests[piece.Request]
		data := make([]byte, piece.To-piece.From)
		if q.Data != nil {
			data = q.Data[piece.From:piece.To]
		}
		s.write(data, q.Offset+piece.From)
	}
	return s
}

// state is a disk in memory. Its writes go to pages of its own, and never to base. Its methods may be called from
// several goroutines.
type state struct {
	base  []byte
	mu    sync.Mutex
	pages map[int64][]byte // by number
}

const pageSize = 4096

func (s *state) size() int64 { return int64(len(s.base)) }

// spans calls f for each page that holds bytes of data at an offset of the disk. at is an offset in the page.
func spans(data []byte, offset int64, f func(page, at int64, part []byte)) {
	for len(data) > 0 {
		page, at := offset/pageSize, offset%pageSize
		n := min(pageSize-at, int64(len(data)))
		f(page, at, data[:n])
		data, offset = data[n:], offset+n
	}
}

func (s *state) read(data []byte, offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	spans(data, offset, func(page, at int64, part []byte) {
		if own := s.pages[page]; own != nil {
			copy(part, own[at:])
		} else {
			copy(part, s.base[page*pageSize+at:])
		}
	})
}

func (s *state) write(data []byte, offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	spans(data, offset, func(page, at int64, part []byte) {
		own := s.pages[page]
		if own == nil {
			own = make([]byte, pageSize)
			copy(own, s.base[page*pageSize:])
			s.pages[page] = own
		}
		copy(own[at:], part)
	})
}

func (s *state) do(q *Request) error {
	switch {
	case q.Flush:
	case q.Data == nil:
		s.write(make([]byte, q.Size), q.Offset)
	default:
		s.write(q.Data, q.Offset)
	}
	return nil
}
