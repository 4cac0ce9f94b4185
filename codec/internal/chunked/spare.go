package chunked

import (
	"cmp"
	"slices"
	"sync"
)

// maxSpare is the maximum size of the unused memory that an iterator holds, in bytes. A single slice may be larger.
const maxSpare = 32 << 20

// spare holds memory to load segments into. Any goroutine may release retained memory, which calls put.
type spare struct {
	mu   sync.Mutex
	free [][]byte // sorted by capacity
	size int      // bytes in free
}

// take removes and returns the largest slice, or nil if there is none.
func (s *spare) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.free) - 1
	if last < 0 {
		return nil
	}
	b := s.free[last]
	s.free = slices.Delete(s.free, last, last+1)
	s.size -= cap(b)
	return b[:0]
}

// put adds unused memory. It frees the smallest slices if there is too much memory.
func (s *spare) put(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, _ := slices.BinarySearchFunc(s.free, b, func(a, b []byte) int { return cmp.Compare(cap(a), cap(b)) })
	s.free = slices.Insert(s.free, i, b)
	s.size += cap(b)
	for s.size > maxSpare && len(s.free) > 1 {
		s.size -= cap(s.free[0])
		s.free = slices.Delete(s.free, 0, 1)
	}
}
