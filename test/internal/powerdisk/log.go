package powerdisk

import (
	"bytes"
	"math"
	"slices"
	"sort"
	"sync"
	"time"
)

// Request is a write or a flush that reached a disk. A write without Data wrote zeros.
type Request struct {
	Flush  bool
	Offset int64
	Size   int64
	Data   []byte

	// Start and End are positions in the order of all starts and ends of requests. End is 0 while the disk is working.
	Start, End   int64
	Began, Ended time.Time
	Failed       bool // the disk answered with an error
}

// Log is the history of a disk that was empty at first.
type Log struct {
	Size     int64      // of the disk in bytes
	Requests []*Request // in the order of their starts
	Position int64      // of the last start or end
}

// recorder is a disk in memory that keeps its history. Its methods may be called from several goroutines.
type recorder struct {
	mu      sync.Mutex
	content []byte
	log     Log
	fault   func(*Request) error // nil: no request fails
}

func (r *recorder) size() int64 { return r.log.Size }

func (r *recorder) read(data []byte, offset int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	copy(data, r.content[offset:])
}

// do executes a request and adds it to the history. A request that fails changes nothing.
func (r *recorder) do(q *Request) error {
	if len(bytes.Trim(q.Data, "\x00")) == 0 {
		q.Data = nil
	}
	r.mu.Lock()
	r.log.Position++
	q.Start, q.Began = r.log.Position, time.Now()
	r.log.Requests = append(r.log.Requests, q)
	fault := r.fault
	r.mu.Unlock()
	var err error
	if fault != nil {
		err = fault(q)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.Position++
	q.End, q.Ended, q.Failed = r.log.Position, time.Now(), err != nil
	if err == nil {
		put(r.content, q, 0, q.Size)
	}
	return err
}

// put writes the bytes between from and to of a request into the content of a disk.
func put(content []byte, q *Request, from, to int64) {
	target := content[q.Offset+from : q.Offset+to]
	if q.Data == nil {
		clear(target)
	} else {
		copy(target, q.Data[from:to])
	}
}

// never is a position after all others.
const never = math.MaxInt64

// durable returns for each request the position after which its bytes survive a power cut. That is the end of the first
// flush that started after the end of the request.
func (l *Log) durable(m Model) []int64 {
	positions := make([]int64, len(l.Requests))
	for i := range positions {
		positions[i] = never
	}
	if m.Lying > 0 {
		for i := range max(0, len(l.Requests)-m.Lying) {
			positions[i] = l.Requests[i+m.Lying].Start
		}
		return positions
	}
	forced := map[int]int{}
	if m.FUA {
		forced = l.forced()
	}
	var starts, ends []int64 // of flushes; ends has the earliest end of a flush and of all later ones
	for i, q := range l.Requests {
		if only, is := forced[i]; is {
			positions[only] = q.End
		} else if q.Flush && q.End > 0 && !q.Failed {
			starts, ends = append(starts, q.Start), append(ends, q.End)
		}
	}
	for i := len(ends) - 2; i >= 0; i-- {
		ends[i] = min(ends[i], ends[i+1])
	}
	for i, q := range l.Requests {
		if q.Flush || q.End == 0 || q.Failed {
			continue
		}
		next := sort.Search(len(starts), func(k int) bool { return starts[k] > q.End })
		if next < len(starts) {
			positions[i] = min(positions[i], ends[next])
		}
	}
	return positions
}

// marks are the first bytes of blocks that file systems write with FUA: a commit of ext4's journal, and a record of the
// log of xfs. The superblock of btrfs has its mark at an offset of 64.
var marks = [][]byte{{0xc0, 0x3b, 0x39, 0x98, 0, 0, 0, 2}, {0xfe, 0xed, 0xba, 0xbe}}

// forced returns the writes that a file system made with FUA, by the flush that follows. A loop device has no FUA: the
// kernel sends a write and a flush instead. A disk with FUA would make durable that one write.
func (l *Log) forced() map[int]int {
	found := map[int]int{}
	writes, last := 0, 0 // since the last flush
	for i, q := range l.Requests {
		if q.Failed {
			continue
		}
		if !q.Flush {
			writes, last = writes+1, i
			continue
		}
		if writes == 1 {
			data := l.Requests[last].Data
			if slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.HasPrefix(data, mark) }) ||
				len(data) > 64 && bytes.HasPrefix(data[64:], []byte("_BHRfS_M")) {
				found[i] = last
			}
		}
		writes = 0
	}
	return found
}
