package mavlink

const windowSeconds = 10

// window counts over the last ten whole seconds.
type window struct {
	first   int64 // second of the first count
	seconds [windowSeconds + 1]struct {
		second                int64
		received, lost, bytes int64
	}
}

// add counts at now, in ns.
func (w *window) add(now, received, lost, bytes int64) {
	second := now / 1e9
	if w.first == 0 || second < w.first {
		w.first = second
	}
	s := &w.seconds[uint64(second)%uint64(len(w.seconds))]
	if s.second != second {
		s.second, s.received, s.lost, s.bytes = second, 0, 0, 0
	}
	s.received += received
	s.lost += lost
	s.bytes += bytes
}

// sum returns what was counted in the whole seconds before now, and how many these are.
func (w *window) sum(now int64) (received, lost, bytes, seconds int64) {
	second := now / 1e9
	for _, s := range w.seconds {
		if age := second - s.second; 0 < age && age <= windowSeconds {
			received += s.received
			lost += s.lost
			bytes += s.bytes
		}
	}
	return received, max(0, lost), bytes, max(0, min(windowSeconds, second-w.first))
}
