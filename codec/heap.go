package codec

// Ordered is an item that knows whether it comes before another one.
type Ordered[T any] interface{ Before(T) bool }

// Heap is a priority queue, for merging and sorting messages: a binary heap. Its first item, which comes before all
// others, is at index 0. The zero Heap is empty.
type Heap[T Ordered[T]] []T

// Push adds an item.
func (h *Heap[T]) Push(item T) {
	*h = append(*h, item)
	s := *h
	for i := len(s) - 1; i > 0 && s[i].Before(s[(i-1)/2]); i = (i - 1) / 2 {
		s[i], s[(i-1)/2] = s[(i-1)/2], s[i]
	}
}

// Pop removes the first item and returns it.
func (h *Heap[T]) Pop() T {
	s := *h
	first, last := s[0], len(s)-1
	s[0] = s[last]
	var none T
	s[last] = none // so that the heap does not keep it alive
	*h = s[:last]
	h.Fix()
	return first
}

// Fix restores the order after the first item has changed.
func (h Heap[T]) Fix() {
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].Before(h[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
