package chunked

import "sync"

// mostSpare is how many bytes of memory that is not in use an iterator holds, beside one piece of any size.
const mostSpare = 32 << 20

// spare holds memory to load segments into. What was kept of them comes back in any goroutine.
type spare struct {
	mu   sync.Mutex
	free [][]byte
	size int // bytes of free
}

// take returns memory for a segment, the largest there is; nil without any.
func (s *spare) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	best := -1
	for i, b := range s.free {
		if best < 0 || cap(b) > cap(s.free[best]) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	last := len(s.free) - 1
	b := s.free[best]
	s.free[best], s.free[last] = s.free[last], nil
	s.free = s.free[:last]
	s.size -= cap(b)
	return b[:0]
}

// put takes memory back. It frees the smallest if there is too much of it.
func (s *spare) put(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, b)
	s.size += cap(b)
	for s.size > mostSpare && len(s.free) > 1 {
		least := 0
		for i, b := range s.free {
			if cap(b) < cap(s.free[least]) {
				least = i
			}
		}
		s.size -= cap(s.free[least])
		s.free = append(s.free[:least], s.free[least+1:]...)
	}
}
